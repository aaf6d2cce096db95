"""PatchMatch stereo: the cost of a plane beside a slow twin, planes seen from the other view, filling, and maps of small scenes."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import image_pairs, in_threads

from stereo_framework import Pipeline, SearchRange, load_scene, step
from stereo_framework.core.pair import Pair
from stereo_framework.core.volume import SearchMask, Status
from stereo_framework.matcher import _patches, patch_match
from stereo_framework.matcher._patches import Costs, Side
from stereo_framework.matcher.patch_match import _bordered, _map_status_confidence, _pixels

BY = Costs(*map(np.float32, (0.1, 0.9, 10, 2, 1 / 10)))


def side_of(reference, match, valid, match_valid, sign, low=-9.0, high=9.0):
    shape = reference.shape[:2]
    limits = [np.full(shape, end, np.float32) for end in (low, high)]
    known = (
        np.zeros((*shape, 3), np.float32),
        np.full(shape, np.inf, np.float32),
        np.ones(shape, np.float32),
    )
    return Side(
        _pixels(reference, "luma"),
        valid,
        _bordered(_pixels(match, "luma"), match_valid),
        *limits,
        *known,
        sign,
    )


def four(image):
    """Colours and slopes of pixels, in float64."""
    colours = np.broadcast_to(image.reshape(*image.shape[:2], -1), (*image.shape[:2], 3)).astype(
        float
    )
    grey = np.pad(colours @ [0.299, 0.587, 0.114], ((0, 0), (1, 1)), mode="edge")
    return np.dstack([colours, (grey[:, 2:] - grey[:, :-2]) / 2])


def twin(reference, match, valid, match_valid, sign, y, x, plane, radius):
    own, other, (a, b, z) = four(reference), four(match), plane
    rows, columns = valid.shape
    total = 0.0
    for v in range(max(0, y - radius), min(rows, y + radius + 1)):
        for u in range(max(0, x - radius), min(columns, x + radius + 1)):
            if not valid[v, u]:
                continue
            weight = math.exp(-np.abs(own[v, u, :3] - own[y, x, :3]).sum() / 10)
            if weight < 0.001:
                continue
            # Beyond the image its outermost pixels go on.
            free = u - sign * (z + a * (u - x) + b * (v - y))
            place = min(max(free, 0), columns - 1)
            left = math.floor(place)
            near = [i for i in (left, left + 1) if abs(place - i) < 1]
            if not all(match_valid[v, i] for i in near):
                cost = 0.1 * 10 + 0.9 * 2
            else:
                met = sum((1 - abs(place - i)) * other[v, i] for i in near)
                difference = np.abs(met - own[v, u])
                cost = 0.1 * min(difference[:3].sum(), 10) + 0.9 * min(difference[3], 2)
                cost = cost if free == place else max(cost, (0.1 * 10 + 0.9 * 2) / 2)
            total += weight * cost
    return total


@given(
    pair=image_pairs(),
    seed=st.integers(0, 2**32 - 1),
    radius=st.sampled_from([2, 1, 0, 4]),
    sign=st.sampled_from([1, -1]),
)
def test_a_plane_costs_what_its_twin_says(pair, seed, radius, sign):
    rng = np.random.default_rng(seed)
    # Like enough that weights and differences are of all sizes.
    reference, match = (image // 8 for image in pair)
    shape = reference.shape[:2]
    valid, match_valid = (rng.random(shape) < 0.8 for _ in range(2))
    side = side_of(reference, match, valid, match_valid, sign)
    window = _patches.new_window(radius)
    for _ in range(4):
        y, x = (int(rng.integers(n)) for n in shape)
        # Exact in float32, so that both lie between the same pixels.
        plane = rng.integers(-8, 9, 3) / np.array([16, 16, 4])
        count = _patches.weigh(side, y, x, radius, BY.alike, window)
        plane, where = [np.float32(value) for value in plane], (window, count, BY)
        found = _patches.plane_cost(side, x, *plane, *where, np.float32(np.inf))
        expected = twin(reference, match, valid, match_valid, sign, y, x, plane, radius)
        # At most 81 terms up to 2.8.
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)
        # What is too dear is told so early.
        assert _patches.plane_cost(side, x, *plane, *where, np.float32(0.5 * found)) >= 0.5 * found


@given(
    sign=st.sampled_from([1, -1]),
    a=st.floats(-0.8, 0.8),
    b=st.floats(-1, 1),
    z=st.floats(-4, 4),
    offset=st.integers(-3, 3),
)
def test_a_plane_is_the_same_surface_from_both_views(sign, a, b, z, offset):
    # A pixel u of the other view with its plane, taken over by pixel x of this one, whose disparities lead back.
    u, x = 10, 10 + offset
    mine = _patches.seen_from(*map(np.float32, (a, b, z)), np.float32(sign), u, x)
    for column, row in ((u, 0), (u + 3, 2), (u - 2, -1)):
        theirs = z + a * (column - u) + b * row
        # The surface point, as this view sees it; -sign is the other view's.
        place = column + sign * theirs
        assert mine[2] + mine[0] * (place - x) + mine[1] * row == pytest.approx(theirs, abs=1e-3)


def test_holes_take_the_lower_plane():
    planes = np.zeros((1, 6, 3), np.float32)
    planes[0, 1], planes[0, 4] = (0.5, 0, 3), (0, 0, 4)
    kept = np.array([[False, True, False, False, True, False]])
    low, high = np.full((1, 6), 0, np.float32), np.full((1, 6), 3.75, np.float32)
    low[0, 0] = 3
    found = np.empty((1, 6), np.float32)
    _patches.fill(planes, kept, low, high, found, 0, 1)
    # 2.5 is below the first pixel's range, 4 above all others'.
    assert found.tolist() == [[3, 3, 3.5, 3.75, 3.75, 3.75]]
    _patches.fill(planes, np.zeros_like(kept), low, high, found, 0, 1)
    assert np.isnan(found).all()


@pytest.fixture(scope="module")
def slanted():
    """Two thirds of a row of pixels as wide as high, whose disparity grows by a quarter of a pixel a column and a tenth a row."""
    rng = np.random.default_rng(1)
    rows, columns = 24, 32
    # Grey levels near each other, as on one surface: weights are for that.
    texture = np.repeat(rng.integers(96, 105, (rows, 60, 3)), 2, axis=1).astype(float)
    smooth = (texture[:, :-2] + texture[:, 1:-1] + texture[:, 2:]) / 3
    y, x = np.mgrid[:rows, :columns]
    truth = 2 + 0.25 * (x - 8) * (x > 8) + 0.1 * y
    place = x + 20 - truth
    left, part = np.floor(place).astype(int), (place % 1)[..., None]
    reference = (1 - part) * smooth[y, left] + part * smooth[y, left + 1]
    return Pair(
        reference.astype(np.float32), smooth[:, 20:52].astype(np.float32), SearchRange(0, 12)
    ), truth.astype(np.float32)


@pytest.mark.compiled
def test_finds_a_slanted_surface(slanted):
    pair, truth = slanted
    # Windows well below the image's size: what only one view shows makes up most of larger ones.
    found = Pipeline([step(patch_match, size=15)])(pair)
    seen = np.arange(32) - truth >= 0
    error = np.abs(found.disparity - truth)[seen]
    # Planes, not levels: most of the surface is right to a tenth of a pixel, which the last refinements reach.
    assert np.median(error) < 0.1
    assert (error > 1).mean() < 0.01
    assert (found.status == Status.MATCHED)[:, 8:18].mean() > 0.9
    # Right ones fit better. What two pixels of the same window differ by is at most 2.8 in the mean.
    sure = found.confidence["matcher"]
    assert sure[seen][error < 0.1].mean() > sure[seen][error > 0.25].mean()
    assert sure.min() >= -2.8
    assert sure.max() <= 0


@pytest.mark.compiled
@pytest.mark.parametrize("sign", [1, -1])
def test_planes_spread_over_the_whole_image_at_once(sign):
    # The same pixels in both views: only the plane of disparity 0 fits, which one corner alone has. No refinement below a reach of 0.1.
    image = np.random.default_rng(0).integers(100, 110, (20, 37)).astype(np.uint8)
    everywhere = np.ones(image.shape, bool)
    for forwards, corner in ((1, (0, 0)), (-1, (19, 36))):
        side = side_of(image, image, everywhere, everywhere, sign)
        side.planes[..., 2] = 7 * sign
        side.planes[corner] = 0
        nobody = np.full(image.shape, -1, np.int32)
        for diagonal in range(4):
            seen = (
                side.planes.copy(),
                nobody,
                nobody,
                forwards,
                np.float32(0.1),
                0,
                0,
                1,
                BY,
                diagonal,
            )
            # Two rows and three columns of tiles.
            _patches.sweep(side, *seen, max(0, diagonal - 2), min(2, diagonal + 1))
        assert not side.planes.any()
        assert not side.costs.any()


@pytest.mark.compiled
def test_the_same_seed_gives_the_same_maps_on_any_number_of_threads(slanted):
    pair, _ = slanted
    maps = []
    for count, seed in ((1, 5), (3, 5), (1, 6)):
        with in_threads(count):
            maps.append(
                patch_match(
                    pair.reference, pair.match, pair.search, None, size=7, iterations=2, seed=seed
                )
            )
    for own, theirs in zip(maps[0], maps[1], strict=True):
        for one, other in zip(own, theirs, strict=True):
            np.testing.assert_array_equal(one, other)
    assert (maps[0].reference[0] != maps[2].reference[0]).any()


@pytest.mark.compiled
def test_masks_and_ranges_are_kept(slanted):
    pair, truth = slanted
    valid, match_valid = (np.ones(truth.shape, bool) for _ in range(2))
    valid[5:9, 10:14] = match_valid[12:, 4:6] = False
    low, high = truth - 1, truth + 1
    limited = dataclasses.replace(pair, mask=SearchMask(valid, match_valid, low, high))
    found = Pipeline([patch_match])(limited)
    assert np.isnan(found.disparity[~valid]).all()
    assert (found.status[~valid] == Status.INVALID).all()
    known = ~np.isnan(found.disparity)
    assert known[valid].mean() > 0.95
    assert (found.disparity >= low - 1e-5)[known].all()
    assert (found.disparity <= high + 1e-5)[known].all()
    # A range of a pixel to either side leaves no room for errors of more.
    views = patch_match(pair.reference, pair.match, pair.search, limited.mask, tolerance=None)
    back = limited.mask.exchanged(pair.search)
    other = views.match[0]
    assert np.isnan(other[~match_valid]).all()
    seen = ~np.isnan(other)
    assert (other >= back.low - 1e-5)[seen].all()
    assert (other <= back.high + 1e-5)[seen].all()


@pytest.mark.compiled
def test_either_view_may_be_the_reference():
    scene = load_scene("synthetic/slits")
    rows = slice(40, 64)
    pair = Pair(scene.reference[rows], scene.match[rows], scene.search)
    method = Pipeline([step(patch_match, size=9)])
    turned = Pair(pair.match[:, ::-1], pair.reference[:, ::-1], pair.search)
    # Mirrored and exchanged it is a pair of the same direction.
    views = patch_match(pair.reference, pair.match, pair.search, None, size=9)
    truth = scene.truth[rows]
    right = np.abs(views.reference[0] - truth) <= 1
    again = np.abs(method(turned.exchanged()).disparity[:, ::-1] - truth) <= 1
    assert right.mean() > 0.7
    assert again.mean() > 0.7


@pytest.mark.parametrize(
    ("difference", "tolerance", "status"),
    [
        (1, 1.0, Status.MATCHED),
        (-1, 1.0, Status.MATCHED),
        (1.0625, 1.0, Status.FILLED),
        (0.5, 0.5, Status.MATCHED),
        (0, 0.0, Status.MATCHED),
        (0.0625, 0.0, Status.FILLED),
    ],
)
def test_disparities_that_differ_by_the_tolerance_agree(difference, tolerance, status):
    image, valid = np.zeros((1, 8), np.uint8), np.ones((1, 8), bool)
    side = side_of(image, image, valid, valid, 1)
    own = np.full((1, 8), 2, np.float32)
    theirs = own.copy()
    # The last two pixels are confirmed, so that others can be filled.
    theirs[0, :4] += np.float32(difference)
    _, statuses, _ = _map_status_confidence(side, own, theirs, tolerance)
    assert statuses[0, 2:6].tolist() == [status] * 4
    assert statuses[0, 6:].tolist() == [Status.MATCHED] * 2
