import importlib
from types import SimpleNamespace

import naive_planes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import in_threads

from stereo_framework import Pipeline, SearchRange, load, load_scene, step
from stereo_framework.core.pair import Pair
from stereo_framework.core.view import DisparityMap, View, Volumes, kernel_array
from stereo_framework.core.volume import CostVolume, SearchMask, Status
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.matching_cost import absolute_difference, ad_census
from stereo_framework.optimization import plane_paths, semi_global
from stereo_framework.optimization._plane_candidates import (
    _DRAWN,
    _NUMBERS,
    _POINTS,
    choose,
    plane_costs,
    region_planes,
    write_candidates,
)
from stereo_framework.optimization._plane_passes import LANES, path_sums, spare_array
from stereo_framework.optimization._semi_global_penalties import by_edges
from stereo_framework.optimization.plane_paths import (
    _filled,
    _mean_of_near,
    _start,
    _whole_disparities,
)
from stereo_framework.refinement import left_right_check

module = importlib.import_module("stereo_framework.optimization.plane_paths")

F = np.float32
sizes = st.tuples(st.integers(1, 5), st.integers(1, 7))
seeds = st.integers(0, 2**32 - 1)


def planes_like(rng, shape):
    """Planes of a few values and slopes, so that some are the same."""
    found = rng.choice(np.array([-0.25, 0, 0.125, 0.5]), shape)
    found[:, :, 0] = rng.choice(np.arange(0, 6, 0.75), found[:, :, 0].shape)
    return found.astype(F)


def spare(values):
    found = spare_array(values.shape)
    found[:] = values
    return found


@given(size=sizes, count=st.integers(1, LANES), steps=st.sampled_from([4, 2]), seed=seeds)
def test_path_sums_agree_with_twin(size, count, steps, seed):
    rng = np.random.default_rng(seed)
    planes, costs = (
        planes_like(rng, (*size, 3, count)),
        rng.uniform(0, 40, (*size, count)).astype(F),
    )
    edges = rng.random((steps, size[0] + 1, size[1] + 2)) < 0.3
    sums = spare(np.full(costs.shape, 7, F))
    path_sums(spare(planes), spare(costs), edges, 5.0, 0.5, 3.0, sums)
    expected = naive_planes.path_sums(planes, costs, edges, 5.0, 0.5, 3.0)
    # float32 against float64, of sums up to 1000.
    np.testing.assert_allclose(sums, expected, atol=1e-3)


@given(size=sizes, kept=st.integers(0, 2), maps=st.integers(1, 2), seed=seeds)
def test_candidates_agree_with_twin(size, kept, maps, seed):
    rng = np.random.default_rng(seed)
    sources = np.moveaxis(planes_like(rng, (*size, 3, maps)), (3, 2), (0, 1)).copy()
    # Mirrored once at the border, so no farther than the image is wide.
    shifts = np.stack(
        [rng.integers(0, maps, 3), *(rng.integers(1 - n, n, 3) for n in size)], axis=1
    )
    labels = rng.integers(0, 5, (2, *size)).astype(np.int32)
    regions = np.concatenate(
        [rng.uniform(-1, 6, (5, 1)), rng.uniform(-0.5, 0.5, (5, 2)), rng.integers(0, 6, (5, 2))],
        axis=1,
    ).astype(F)
    moves = np.array([-0.5, 0.75][: 2 * (kept > 0)], F)
    found = np.full((*size, 3, kept + 5 + len(moves)), -9, F)
    found[..., :kept] = known = planes_like(rng, (*size, 3, kept))
    write_candidates(kept, sources, shifts, labels, regions, moves, (F(0), F(5)), found)
    np.testing.assert_array_equal(found[..., :kept], known)
    expected = naive_planes.candidates(sources, shifts, labels, regions, moves, 0, 5, found[..., 0])
    # float32 of values up to 10.
    np.testing.assert_allclose(found[..., kept:], expected, atol=1e-5)


@given(
    size=sizes,
    kind=st.sampled_from([np.uint8, np.uint16, np.float32]),
    direction=st.sampled_from([1, -1]),
    seed=seeds,
)
def test_costs_agree_with_twin(size, kind, direction, seed):
    rng = np.random.default_rng(seed)
    levels, step = rng.integers(2, 7), rng.choice([0.5, 1, 2])
    volume = rng.integers(0, 99, (*size, levels)).astype(kind)
    closed = np.inf if kind == np.uint8 else 65535
    volume[rng.random(volume.shape) < 0.2] = min(closed, 255)
    search = SearchRange(-1, -1 + step * (levels - 1), step, direction)
    planes = rng.uniform(
        search.minimum - 1.5 * step, search.maximum + 1.5 * step, (*size, 3, 4)
    ).astype(F)
    other = np.where(rng.random(size) < 0.2, np.nan, rng.uniform(-1, 4, size)).astype(F)
    costs, terms = np.empty((*size, 4), F), (F(0.5), F(60), F(30))
    plane_costs(
        kernel_array(volume),
        (F(search.minimum), F(1 / step)),
        (F(50), F(closed)),
        other,
        F(direction),
        terms,
        planes,
        costs,
    )
    expected = naive_planes.plane_costs(
        volume, search.minimum, step, 50, closed, other, direction, terms, planes
    )
    np.testing.assert_allclose(costs, expected, rtol=1e-4, atol=1e-2)


@given(size=sizes, count=st.integers(1, 16), seed=seeds)
def test_choice_agrees_with_twin(size, count, seed):
    rng = np.random.default_rng(seed)
    kept = rng.integers(1, count + 1)
    planes = planes_like(rng, (*size, 3, count))
    # Whole numbers are told apart by the key's bits; equal ones are taken in order.
    costs = rng.integers(0, 9, (*size, count)).astype(F)
    sums = 8 * costs + rng.integers(0, 5, costs.shape).astype(F)
    found, disparity = planes.copy(), np.empty(size, F)
    choose(found, sums, costs, F(4), kept, (F(0.8), F(0.2)), disparity)
    expected, best = naive_planes.choose(planes, sums, costs, 4, kept, (0.8, 0.2))
    np.testing.assert_array_equal(found[..., :kept], expected)
    np.testing.assert_array_equal(found[..., kept:], planes[..., kept:])
    np.testing.assert_array_equal(disparity, best)


def sloping(shape, noise=0.0, seed=0):
    """A plane with another one cut into it, the image that shows both, and maps of the planes at pixels."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: shape[0], : shape[1]]
    near = (y + x) % 31 < 11
    value = np.where(near, 9 - 0.05 * x + 0.1 * y, 3 + 0.02 * x + 0.04 * y) + rng.normal(
        0, noise, shape
    )
    colours = np.where(near, 200, 40).astype(np.uint8)[..., None].repeat(3, axis=2)
    flat = np.stack([value, np.zeros(shape), np.zeros(shape)]).astype(F)
    return near, flat, colours


def planes_of(labels, planes, colours, *limits):
    """The planes of the regions of these labels, by the kernel."""
    flat = labels.reshape(-1)
    begins = np.append(0, np.cumsum(np.bincount(flat)))
    found = np.empty((len(begins) - 1, 5), F)
    region_planes(
        planes, colours, np.argsort(flat, kind="stable"), begins, limits, (123, 456), found
    )
    return found


@pytest.mark.parametrize("side", [9, 40])
def test_regions_have_the_plane_of_what_is_coloured_alike(side):
    near, planes, colours = sloping((37, 50))
    y, x = np.mgrid[:37, :50] // side
    labels = y * (x.max() + 1) + x
    found = planes_of(labels, planes, colours, float(side), 0.5, 25.0)
    drawn = naive_planes.region_pixels(labels, colours, 25, (123, 456), _NUMBERS, _POINTS, _DRAWN)
    fitted = 0
    for (value, right, down, y, x), (pixel, alike) in zip(found, drawn, strict=True):
        assert (y, x) == pixel
        assert value == pytest.approx(planes[0][pixel], abs=2e-3)
        # Enough that their triangles are not all small.
        if len(alike) >= 12 and len(set(alike)) > side:
            assert (right, down) == pytest.approx(
                (-0.05, 0.1) if near[pixel] else (0.02, 0.04), abs=2e-3
            )
            fitted += 1
    assert fitted


def test_rounds_are_averaged_where_they_are_near_the_last():
    maps = [np.array([[1, 4.5, 2]], F), np.array([[2, 6, 3.5]], F), np.array([[1.5, 6, 2]], F)]
    # 4.5 and 6 are more than a pixel apart, and so are 3.5 and 2.
    np.testing.assert_array_equal(_mean_of_near(maps), [[1.5, 6, 2]])
    np.testing.assert_array_equal(_mean_of_near(maps[:1]), maps[0])


def wrong(disparity, scene, threshold):
    known = ~scene.mask("occluded") & np.isfinite(scene.truth)
    return float((np.abs(disparity - scene.truth)[known] > threshold).mean())


@pytest.mark.compiled
def test_slanted_planes_come_out_between_levels():
    scene = load_scene("synthetic/slanted")
    half = Pair(
        scene.reference, scene.match, SearchRange(scene.search.minimum, scene.search.maximum, 0.5)
    )
    paths = (
        step(semi_global, p1=50, p2=200, penalties="edges"),
        step(plane_paths, p1=50, p2=200, weight=50, min_occluded_cost=60, occluding_penalty=30),
    )
    levels, planes = (
        Pipeline([step(ad_census, quantization_steps=100), one])(pair).disparity
        for one, pair in zip(paths, (scene, half), strict=True)
    )
    assert wrong(planes, scene, 0.25) < 0.1 < 0.3 < wrong(levels, scene, 0.25)
    assert wrong(planes, scene, 1) < 0.02


@pytest.mark.compiled
def test_the_exchanged_pair_has_the_same_maps(small_scenes):
    scene = load_scene("synthetic/occlusions")
    pair = Pair(scene.reference, scene.match, scene.search)
    method = Pipeline(
        [step(ad_census, quantization_steps=100), step(plane_paths, iterations=1), left_right_check]
    )
    for found, one in zip(solved_by_engine(method, pair), (pair, pair.exchanged()), strict=True):
        np.testing.assert_array_equal(found, method(one).disparity)


def solved_by_engine(method, pair):
    [(_, outcome)] = PipelineRunner([method], pair, both=True)
    return [match.disparity for match in outcome]


@pytest.mark.parametrize(
    ("name", "stage"),
    [("fine", "plane_paths"), ("initial_map", "semi_global"), ("sgm", "semi_global")],
)
def test_penalties_of_shipped_methods_stay_whole_at_edges(name, stage):
    """So that sums of paths over whole costs take two bytes, not four."""
    [own] = [one.parameters for one in load(name).pipeline.steps if one.stage.name == stage]
    prices = by_edges(*np.zeros((2, 3, 4), np.uint8), 4, own["p1"], own["p2"], 15).prices
    assert (prices == np.rint(prices)).all()
    assert not (by_edges(*np.zeros((2, 3, 4), np.uint8), 4, 85.0, 340.0, 15).prices % 1 == 0).all()


@pytest.mark.compiled
def test_closed_cells_are_never_chosen():
    scene = load_scene("synthetic/planes")
    low = np.full(scene.reference.shape[:2], np.nan, F)
    low[40:80, 60:200] = 12
    valid = np.ones(low.shape, bool)
    valid[:20, :30] = False
    pair = Pair(scene.reference, scene.match, scene.search, SearchMask(valid, None, low))
    match = Pipeline([step(ad_census, quantization_steps=100), step(plane_paths, iterations=1)])(
        pair
    )
    assert (match.status[:20, :30] == Status.INVALID).all()
    with np.errstate(invalid="ignore"):
        assert not (match.disparity[40:80, 60:200] < 11.5).any()
    assert np.isfinite(match.disparity[100:]).all()


def test_the_start_takes_no_closed_cell_for_a_cost():
    costs = np.full((4, 6, 5), 1e6, F)
    costs[..., 1:4] = 9, 4, 1  # the best level lies beside a closed one
    image = np.zeros((4, 6), np.uint8)
    starts = {}
    for closed in (1e6, np.inf):
        side = SimpleNamespace(
            volume=CostVolume(costs, SearchRange(0, 4), 9.0), image=image, closed=closed
        )
        starts[closed] = _start(side, image, 1.0, 2.0)
    assert (starts[1e6] == 3).all()
    # A parabola through the marker would move it by half a level.
    assert (starts[np.inf] < 2.6).all()


@pytest.mark.parametrize(
    ("ends", "whole_ends", "levels"),
    [
        ((0, 3, 0.5), (0, 3), [0, 2, 4, 6]),
        ((-3, -1, 0.25), (-3, -1), [0, 4, 8]),
        ((5.5, 8.5, 0.5), (5, 9), [0, 1, 3, 5, 6]),
        ((1 / 3, 2, 1 / 3), (0, 2), [0, 2, 5]),
        ((-2.5, -1, 0.5), (-3, -1), [0, 1, 3]),
        ((0, 0.5, 0.5), (0, 1), [0, 1]),
        ((0.25, 0.75, 0.25), (0, 1), [0, 2]),
        ((0, 1.3, 0.5), (0, 1), [0, 2]),
    ],
)
def test_the_start_searches_the_whole_disparities_around_the_range(ends, whole_ends, levels):
    for direction in (1, -1):
        whole, level_of = _whole_disparities(SearchRange(*ends, direction))
        assert whole == SearchRange(*whole_ends, 1, direction)
        assert np.arange(SearchRange(*ends).levels)[level_of].tolist() == levels


@pytest.mark.parametrize(
    "search", [SearchRange(-3, 4), SearchRange(-3, 5, 2), SearchRange(5, 20, 3, -1)]
)
def test_the_start_searches_all_levels_at_whole_steps(search):
    whole, level_of = _whole_disparities(search)
    assert whole == search
    assert level_of == slice(None)


@pytest.mark.parametrize(
    "ends",
    [
        (5.5, 8.5, 0.5),
        (1 / 3, 2, 1 / 3),
        (-2.5, -0.75, 0.25),
        (0, 0.5, 0.5),
        (-3, 2, 1),
        (0.25, 0.5, 0.25),
    ],
)
def test_the_start_reaches_the_lowest_and_the_highest_level_and_none_beyond(ends):
    search = SearchRange(*ends)
    image = np.zeros((4, 6), np.uint8)
    for level in (0, search.levels - 1):
        costs = np.full((4, 6, search.levels), 9, F)
        costs[..., level] = 0
        side = SimpleNamespace(volume=CostVolume(costs, search, 9.0), image=image, closed=np.inf)
        np.testing.assert_array_equal(_start(side, image, 1.0, 2.0), search.disparities[level])


@pytest.mark.compiled
def test_maps_of_an_auxiliary_method_are_the_start_of_both_sides(monkeypatch):
    scene, names, seen = load_scene("synthetic/slanted"), plane_paths.__wrapped__.__globals__, []
    filled = names["_filled"]
    monkeypatch.setitem(names, "_start", None)  # nobody makes another one
    monkeypatch.setitem(
        names, "_filled", lambda side, *maps: seen.append((side, maps)) or filled(side, *maps)
    )
    first = Pipeline(
        [
            step(ad_census, quantization_steps=100),
            step(semi_global, p1=50, p2=200),
            left_right_check,
        ]
    )
    chosen = step(
        plane_paths,
        initial="first",
        iterations=1,
        p1=50,
        p2=200,
        weight=50,
        min_occluded_cost=60,
        occluding_penalty=30,
    )
    match = Pipeline([step(ad_census, quantization_steps=100), chosen], {"first": first})(scene)
    assert wrong(match.disparity, scene, 1) < 0.05
    expected = solved_by_engine(first, Pair(scene.reference, scene.match, scene.search))
    seen.sort(key=lambda one: -one[0].volume.search.direction)
    for (_, found), maps in zip(seen, (expected, expected[::-1]), strict=True):
        np.testing.assert_array_equal(found, maps)


def test_works_in_small_images():
    left = np.random.default_rng(0).integers(0, 255, (2, 3, 3)).astype(np.uint8)
    search, back = SearchRange(0, 1), SearchRange(0, 1, 1, -1)
    empty_map = DisparityMap(np.zeros((2, 3), F), np.zeros((2, 3), np.uint8), back)
    volumes = Volumes(current=absolute_difference(left, left, back))
    other = View(disparity_map=empty_map, volumes=volumes)
    with in_threads(2):
        found = plane_paths(absolute_difference(left, left, search), left, left, other)
    assert np.isfinite(found.reference).all()


def test_maps_that_differ_by_exactly_a_pixel_from_the_last_one_are_averaged():
    maps = [F([[1, 3, 0.9375, 2]]), F([[2, 2, 2, 5]]), F([[2, 2, 2, 2]])]
    expected = [[5 / 3, 7 / 3, 2, 2]]
    np.testing.assert_allclose(_mean_of_near(maps), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("value", "expected"), [(1, 1), (5, 5), (0.9375, 4), (5.0625, 4), (np.nan, 4)]
)
def test_holes_are_filled_by_planes_up_to_the_ends_of_the_search_range(
    monkeypatch, value, expected
):
    monkeypatch.setattr(module, "compute_plane_disparities", lambda *arguments: F([value]))
    image = np.zeros((1, 12), np.uint8)
    volume = CostVolume(np.zeros((1, 12, 5), F), SearchRange(1, 5), 9.0)
    side = SimpleNamespace(image=image, volume=volume, seed=0)
    # The target image contradicts column 9, whose candidate is column 5.
    disparity, other = np.full((2, 1, 12), 4, F)
    other[0, 5] = 9
    filled = _filled(side, disparity, other)
    assert filled[0, 9] == expected
