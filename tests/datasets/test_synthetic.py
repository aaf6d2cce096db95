"""Synthetic scenes: geometry against a brute-force march along the rows, pictures against the truth."""

import numpy as np
import pytest
from scipy.ndimage import map_coordinates, maximum_filter, minimum_filter

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import SearchRange
from stereo_framework.datasets import Plane, Texture, load_scene, planes_scene, rectangle, slanted

ROWS, COLUMNS = 44, 64
MARCHED = range(0, ROWS, 2)
POSITIONS = (-0.5, 0, 0.25, 1, 1.5)  # reference frame 1, match frame 3
CLOUDS = Texture((40, 60, 80), (200, 190, 170), "clouds", 12, grain=8)
BLACK = Texture((0, 0, 0), (0, 0, 0), "flat", grain=0)
WHITE = Texture((0, 0, 0), (255, 255, 255), "flat", grain=0)
STAR = tuple(
    zip(
        (30.3, 34.1, 45.6, 36.2, 40.7, 30.1, 20.4, 24.2, 15.3, 26.4),
        (4.4, 15.2, 15.7, 22.9, 35.3, 27.6, 35.1, 22.8, 15.6, 15.3),
        strict=True,
    )
)
PLANES = (
    Plane(slanted(3.2, per_column=0.05, per_row=0.02), CLOUDS),
    Plane(
        slanted(9.3, (30, 20), per_column=-0.15),
        Texture((90, 20, 20), (220, 180, 90), "clouds", 9),
        STAR,
    ),
    Plane(
        slanted(6.1, (50, 30), per_row=0.11),
        Texture((0, 0, 0), (120, 200, 130), "flat", grain=0),
        rectangle(41.4, 18.3, 60.7, 40.2),
    ),
    Plane(
        slanted(13.4),
        Texture((20, 20, 60), (180, 180, 240), "stripes", 8, angle=30, bend=0.2),
        rectangle(8.2, -5, 11.9, 99),
    ),
)


def scene_of(planes=PLANES, **options):
    return planes_scene(
        planes, **{"rows": ROWS, "columns": COLUMNS, "positions": POSITIONS, "noise": 0, **options}
    )


def even_odd(corners, x, y):
    """Whether the point is inside, by counting edges to its left, one at a time."""
    count = 0
    for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True):
        if (y0 <= y) != (y1 <= y) and x0 + (y - y0) * (x1 - x0) / (y1 - y0) <= x:
            count += 1
    return count % 2 == 1


STEP = 1 / 16


@pytest.fixture(scope="module")
def march():
    """Points of every plane in steps along every second row: lists by row of (x, disparity, plane)."""
    points = {}
    for y in MARCHED:
        row = []
        for i, plane in enumerate(PLANES):
            a, b, c = plane.coefficients
            for x in np.arange(-40, COLUMNS + 40, STEP):
                if not plane.outline or even_odd(plane.outline, x, y):
                    row.append((x, a + b * x + c * y, i))
        points[y] = np.array(row)
    return points


def nearest(row, position, u, reach=STEP):
    """The largest disparity among the points that a camera sees within `reach` of column u."""
    return row[abs(row[:, 0] - position * row[:, 1] - u) <= reach, 1].max()


def edge_near(row, position, u):
    """Whether what is seen changes around column u, so that a march in steps cannot tell."""
    left, right = nearest(row, position, u - 3 * STEP), nearest(row, position, u + 3 * STEP)
    return abs(left - right) > 0.3


@pytest.mark.parametrize("frame", range(len(POSITIONS)))
def test_truth_equals_a_march_along_the_rows(march, frame):
    scene = scene_of()
    assert set(scene.truths) == {(i, j) for i in range(5) for j in range(5) if i != j}
    other = 1 if frame != 1 else 3
    gap = abs(POSITIONS[other] - POSITIONS[frame])
    truth = scene.truths[frame, other]()
    assert truth.dtype == np.float32
    left_out = 0
    for y in MARCHED:
        for u in range(COLUMNS):
            if edge_near(march[y], POSITIONS[frame], u):
                left_out += 1
            else:
                # a step of 1/16 px on slants of up to 0.15 px per px
                assert truth[y, u] == pytest.approx(
                    gap * nearest(march[y], POSITIONS[frame], u), abs=gap * 0.03
                )
    assert left_out < 0.12 * len(MARCHED) * COLUMNS


def test_occlusion_equals_a_march_along_the_rows(march):
    scene = scene_of()
    truth, occluded = scene.truth.astype(float), scene.mask("occluded")
    left_out = 0
    for y in MARCHED:
        for x in range(COLUMNS):
            u = x - truth[y, x]
            if u < 0 or u > COLUMNS - 1:
                assert occluded[y, x]
            elif edge_near(march[y], 1, u):
                left_out += 1
            else:
                assert occluded[y, x] == (nearest(march[y], 1, u) > truth[y, x] + 0.3)
    assert left_out < 0.12 * len(MARCHED) * COLUMNS
    assert 0.05 < occluded.mean() < 0.5


def away_from_edges(disparity):
    return maximum_filter(disparity, (5, 7)) - minimum_filter(disparity, (5, 7)) < 1.5


def sampled(image, rows, columns):
    return map_coordinates(image.astype(float), [rows, columns], order=3, mode="nearest")


@pytest.mark.parametrize("frame", [0, 2, 3, 4])
def test_pictures_agree_with_the_truth(frame):
    scene = scene_of()
    truth = scene.truths[1, frame]().astype(float)
    y, x = np.mgrid[:ROWS, :COLUMNS].astype(float)
    direction = 1 if POSITIONS[frame] > 0 else -1

    def difference(offset):
        u = x - direction * truth + offset
        back = scene.truths[frame, 1]()
        seen = abs(sampled(back, y, u) - truth) < 0.2
        valid = away_from_edges(truth) & seen & (u >= 1) & (u <= COLUMNS - 2)
        assert valid.mean() > 0.4
        image, reference = scene.image(frame), scene.reference
        return np.mean(
            [abs(sampled(image[..., k], y, u) - reference[..., k])[valid].mean() for k in range(3)]
        )

    exact = difference(0)
    assert exact < 1.2  # both images are rounded, and cubic interpolation has an error of its own
    assert difference(0.25) > 2 * exact
    assert difference(-0.25) > 2 * exact


def test_whole_disparity_moves_pixels_exactly():
    scene = scene_of([Plane(slanted(5), CLOUDS)])
    np.testing.assert_allclose(scene.match[:, :-5].astype(int), scene.reference[:, 5:], atol=1)
    assert (scene.match[:, :-5] == scene.reference[:, 5:]).mean() > 0.99
    np.testing.assert_array_equal(scene.truth, np.full((ROWS, COLUMNS), 5))
    np.testing.assert_array_equal(
        scene.mask("occluded"), np.broadcast_to(np.arange(COLUMNS) < 5, (ROWS, COLUMNS))
    )


def test_every_pair_has_its_truth():
    scene = scene_of()
    assert set(scene.truths) == {(i, j) for i in range(5) for j in range(5) if i != j}
    np.testing.assert_allclose(scene.truths[1, 4](), 1.5 * scene.truth, rtol=1e-6)
    np.testing.assert_allclose(scene.truths[1, 0](), 0.5 * scene.truth, rtol=1e-6)
    swapped = scene.pair(3, 1)
    assert (scene.direction, swapped.direction) == (1, -1)
    np.testing.assert_array_equal(swapped.truth, scene.match_truth)
    np.testing.assert_array_equal(swapped.match_truth, scene.truth)


@pytest.mark.parametrize("shift", [0, 0.2])
def test_edges_are_mixed(shift):
    card = Plane(slanted(4), WHITE, rectangle(20 + shift, 10 + shift, 40 - shift, 30 - shift))
    reference = scene_of([Plane(slanted(2), BLACK), card]).reference[..., 0]
    # pixel 20 spans 19.5..20.5, so that the card covers about half of it, and a quarter at the corner
    assert reference[20, [18, 19, 20, 21, 39, 40, 41]].tolist() == [0, 0, 128, 255, 255, 128, 0]
    assert reference[[10, 30], [20, 40]].tolist() == [64, 64]


def test_textureless_planes_are_known():
    scene = scene_of(noise=2.0)
    mask = scene.mask("textureless")
    y, x = np.mgrid[:ROWS, :COLUMNS]
    flat = (
        np.isclose(scene.truth, 6.1 + 0.11 * (y - 30), rtol=0, atol=1e-5)
        & (x > 41)
        & (x < 61)
        & (y > 18)
        & (y < 41)
    )
    np.testing.assert_array_equal(mask, flat)
    quiet = scene_of().reference[minimum_filter(mask, 3)]
    assert len(quiet) > 60
    np.testing.assert_array_equal(quiet, np.broadcast_to([120, 200, 130], quiet.shape))


def test_noise():
    planes = [Plane(slanted(4), Texture((0, 0, 0), (120, 120, 120), "flat", grain=0))]
    scene = scene_of(planes, noise=3.0, rows=100, columns=120)
    first, second = (scene.image(i).astype(float) - 120 for i in (1, 3))
    # rounding adds 1/12 to the variance
    assert first.std() == pytest.approx(np.sqrt(9 + 1 / 12), rel=0.02)
    assert abs(first.mean()) < 0.05
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.03
    assert abs(np.corrcoef(first[..., 0].ravel(), first[..., 1].ravel())[0, 1]) < 0.05


def test_seeds():
    a, b, c = scene_of(seed=7, noise=1), scene_of(seed=7, noise=1), scene_of(seed=8, noise=1)
    b.image(4)  # in another order
    for i in range(5):
        np.testing.assert_array_equal(a.image(i), b.image(i))
    assert (a.reference != c.reference).any(axis=2).mean() > 0.8
    np.testing.assert_array_equal(a.truth, c.truth)


def test_search_range():
    card = Plane(slanted(7.6), CLOUDS, rectangle(5, 5, 30, 30))
    assert str(scene_of([Plane(slanted(3.2), CLOUDS), card]).search) == "3..8 step 1"
    assert str(scene_of([Plane(slanted(3), CLOUDS)]).search) == "3..4 step 1"
    assert scene_of(search=SearchRange(0, 20)).search == SearchRange(0, 20)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"planes": [Plane(slanted(3), CLOUDS, STAR)]},
            "planes: every one has an outline; one without must fill the background",
        ),
        ({"planes": []}, "planes: every one has an outline"),
        (
            {"planes": [Plane(slanted(3, per_column=0.7), CLOUDS)]},
            r"planes\[0\]: a slant of 0.7 pixels .* edge-on from position 1.5$",
        ),
        (
            {"positions": (0, 0.5)},
            r"positions: \(0, 0.5\); expected distinct ones, 0 \(reference\) and 1 \(match\)",
        ),
        ({"positions": (0, 1, 1)}, "positions: .* expected distinct ones"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ParameterError, match=message):
        scene_of(**options)


@pytest.mark.parametrize("name", ["planes", "slanted", "occlusions", "stripes", "slits"])
def test_ready_made(name):
    scene = load_scene(f"synthetic/{name}")
    assert scene.name == f"synthetic/{name}"
    assert [f.position for f in scene.frames] == [-0.5, 0, 0.25, 0.5, 0.75, 1, 1.5]
    assert (scene.reference_index, scene.match_index, scene.direction) == (1, 5, 1)
    for image in (scene.reference, scene.match):
        assert (image.shape, image.dtype) == ((240, 320, 3), np.uint8)
        assert image.min() < 60
        assert image.max() > 200
    assert scene.search.minimum <= scene.truth.min() < scene.truth.max() <= scene.search.maximum
    assert scene.truth.max() > 0.6 * scene.search.maximum
    assert np.isfinite(scene.match_truth).all()
    assert scene.mask("occluded").dtype == scene.mask("textureless").dtype == bool


def test_what_is_seen_through_a_slit_is_occluded_from_the_other_camera():
    scene = load_scene("synthetic/slits")
    left, right = scene.truth, scene.match_truth
    assert set(np.unique(left)) == set(np.unique(right)) == {8, 22}
    assert (np.diff((left == 8).astype(int), axis=1) == 1).sum(axis=1).tolist() == [6] * 240
    # A point of the back plane at column x of the reference frame is at x - 8 in the match frame: no point is seen in both.
    assert (left == 8).sum(axis=1).min() == 3 + 5 + 7 + 9 + 11 + 13
    assert ((left[:, 8:] == 8) & (right[:, :-8] == 8)).sum() == 0
    np.testing.assert_array_equal(scene.mask("occluded")[:, 22:], left[:, 22:] == 8)
    # Through every slit the match frame sees some of it, too.
    assert (np.diff((right == 8).astype(int), axis=1) == 1).sum(axis=1).tolist() == [6] * 240


@pytest.mark.parametrize("pattern", ["clouds", "checks", "flat"])
def test_textures_fade(pattern):
    def row_by_row(fades):
        texture = Texture((40, 60, 80), (200, 190, 170), pattern, 12, grain=8, fades=fades)
        return scene_of([Plane(slanted(3), texture)]).reference.astype(float)

    plain, faded = row_by_row(None), row_by_row((10, 30))
    middle = np.array((200, 190, 170) if pattern == "flat" else (120, 125, 125))
    np.testing.assert_array_equal(faded[:11], plain[:11])
    np.testing.assert_array_equal(faded[30:], np.broadcast_to(middle, faded[30:].shape))
    # Both are rounded.
    np.testing.assert_allclose(faded[20] - middle, (plain[20] - middle) / 2, atol=0.8)


@pytest.mark.parametrize(
    ("disparities", "expected"),
    [
        ((2.75, 5.25), SearchRange(2, 6)),
        ((3, 5), SearchRange(3, 5)),
        ((-1.25, 2), SearchRange(-2, 2)),
        ((4, 4), SearchRange(4, 5)),
    ],
)
def test_the_search_range_holds_the_disparities_in_whole_pixels(disparities, expected):
    far, near = disparities
    planes = [Plane(slanted(far), CLOUDS), Plane(slanted(near), CLOUDS, rectangle(10, 10, 30, 30))]
    assert planes_scene(planes, rows=40, columns=60).search == expected
