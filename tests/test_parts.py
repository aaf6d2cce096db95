"""Parts of stages that authors of methods use: path costs, planes and segments."""

import naive_refinement
import naive_semi_global
import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, image_pairs, in_threads, searches, shapes

from stereo_framework import CostVolume, SearchRange
from stereo_framework.optimization import semi_global, winner_take_all
from stereo_framework.parts import (
    PATH_DIRECTIONS,
    compute_path_costs,
    compute_plane_disparities,
    fit_local_planes,
    fit_segment_planes,
    segment_image,
)
from stereo_framework.refinement import plane_smooth, segment_planes
from stereo_framework.stages import DataError, ParameterError

hole = np.nan

# --- path costs -----------------------------------------------------------------------

ORDER_OF_ADDITION = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Directions that go down or to the right, in the order in which they are added."""


def opposite(direction):
    return (-direction[0], -direction[1])


def naive_path_costs(costs, images, search, direction, p1, p2, penalties, threshold):
    """Hirschmueller's recursion, one pixel, level and previous level at a time."""
    rows, columns, levels = costs.shape
    down, right = direction
    path = {}
    # A path that goes up or to the left is walked from its other end.
    row_order = range(rows) if down >= 0 else range(rows - 1, -1, -1)
    column_order = range(columns) if right >= 0 else range(columns - 1, -1, -1)
    for y in row_order:
        for x in column_order:
            before = path.get((y - down, x - right))
            path[y, x] = [float(cost) for cost in costs[y, x]]
            if before is None:
                continue
            for d in range(levels):
                small, large = naive_semi_global.prices(
                    *images, search, y, x, down, right, d, p1, p2, penalties, threshold, "luma"
                )
                continuations = [before[d], min(before) + float(large)]
                if d > 0:
                    continuations.append(before[d - 1] + float(small))
                if d + 1 < levels:
                    continuations.append(before[d + 1] + float(small))
                path[y, x][d] += min(continuations) - min(before)
    return np.array([[path[y, x] for x in range(columns)] for y in range(rows)])


@given(
    data=st.data(),
    images=image_pairs(),
    search=searches(),
    direction=st.sampled_from(PATH_DIRECTIONS),
    prices=st.sampled_from([(3, 20), (20, 60), (0, 7), (0.75, 2.5)]),
    penalties=st.sampled_from(["edges", "gradient", "constant"]),
    kind=st.sampled_from([np.uint8, np.uint16, np.float32]),
)
def test_path_costs_agree_with_the_recursion(
    data, images, search, direction, prices, penalties, kind
):
    shape = (*images[0].shape[:2], search.levels)
    costs = data.draw(filled(shape, np.arange(64))).astype(kind)
    p1, p2 = prices
    path_costs = compute_path_costs(
        CostVolume(costs, search, 255.0),
        *images,
        direction=direction,
        p1=p1,
        p2=p2,
        penalties=penalties,
        edge_threshold=60,
    )
    expected = naive_path_costs(costs, images, search, direction, p1, p2, penalties, 60)
    assert path_costs.costs.dtype == np.float32
    assert path_costs.search == search
    assert path_costs.outside_cost == 255
    # Paths have at most seven pixels, so float32 rounds numbers below a thousand.
    np.testing.assert_allclose(path_costs.costs, expected, rtol=1e-5, atol=1e-3)


def sum_in_order(volume, images, paths, parameters):
    """Add the path costs of all directions in the order that the docstring states."""
    rows = volume.costs.shape[0]
    total = np.zeros(volume.costs.shape, np.float32)
    forward = ORDER_OF_ADDITION[: paths // 2]
    backward = [opposite(direction) for direction in forward]
    path_costs = {}
    for direction in (*forward, *backward):
        part = compute_path_costs(volume, *images, direction=direction, **parameters)
        path_costs[direction] = part.costs
    for half, directions in (
        (slice(0, rows // 2), (*forward, *backward)),
        (slice(rows // 2, rows), (*backward, *forward)),
    ):
        for direction in directions:
            total[half] += path_costs[direction][half]
    return total


@pytest.mark.parametrize("paths", [4, 8])
@pytest.mark.parametrize("penalties", ["constant", "gradient", "edges"])
@pytest.mark.parametrize("shape", [(6, 9, 17), (7, 5, 33), (1, 8, 5), (9, 1, 4)])
def test_the_sum_of_the_directions_has_the_bits_of_semi_global(paths, penalties, shape):
    rng = np.random.default_rng(shape[0])
    costs = (60 * rng.random(shape)).astype(np.float32)
    volume = CostVolume(costs, SearchRange(0, shape[2] - 1), 60.0)
    images = tuple(rng.integers(0, 90, (2, *shape[:2], 3)).astype(np.uint8))
    parameters = {"p1": 4.3, "p2": 37.7, "penalties": penalties}
    with in_threads(2):
        expected = semi_global(volume, *images, paths=paths, **parameters)
    total = sum_in_order(volume, images, paths, parameters)
    np.testing.assert_array_equal(total.view(np.int32), expected.volume.costs.view(np.int32))


@pytest.mark.parametrize("paths", [4, 8])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_the_sum_of_whole_numbers_equals_the_integer_sum_of_semi_global(paths, kind):
    costs = np.random.default_rng(5).integers(0, 63, (8, 11, 34)).astype(kind)
    volume = CostVolume(costs, SearchRange(0, 33), 63.0)
    expected = semi_global(volume, paths=paths, p1=7, p2=40)
    assert expected.volume.costs.dtype == np.uint16
    total = np.zeros(costs.shape, np.float32)
    # Whole numbers have the same sum in each order.
    for direction in reversed(PATH_DIRECTIONS[:paths]):
        total += compute_path_costs(volume, direction=direction, p1=7, p2=40).costs
    np.testing.assert_array_equal(total, expected.volume.costs)
    winners = winner_take_all(CostVolume(total, volume.search, 63.0))
    np.testing.assert_array_equal(winners.levels, expected.levels)


@pytest.mark.parametrize("mark", [np.uint16(65535), np.float32(1e6), np.float32(hole)])
@pytest.mark.parametrize("direction", PATH_DIRECTIONS)
def test_excluded_cells_stay_excluded_and_change_no_other_cells(direction, mark):
    rng = np.random.default_rng(4)
    costs = rng.integers(0, 63, (5, 6, 9)).astype(float)
    excluded = rng.random(costs.shape) < 0.4
    # Each pixel keeps one cell at least.
    excluded[..., 3] = False
    image = np.zeros(costs.shape[:2], np.uint8)
    search = SearchRange(0, 8)
    given_costs = np.where(excluded, mark, costs).astype(mark.dtype)
    volume = CostVolume(given_costs, search, 63.0)
    path_costs = compute_path_costs(volume, direction=direction, p1=9, p2=60).costs

    infinite = np.where(excluded, np.inf, costs)
    expected = naive_path_costs(infinite, (image, image), search, direction, 9, 60, "constant", 15)
    np.testing.assert_array_equal(path_costs[~excluded], expected[~excluded])
    assert (path_costs[excluded] >= 1e6).all()


@pytest.mark.parametrize("direction", [(0, 1), (-1, 1)])
def test_a_path_continues_unchanged_through_a_pixel_without_a_cell(direction):
    costs = np.random.default_rng(2).integers(0, 40, (5, 5, 4)).astype(np.float32)
    costs[2, 2] = 1e6
    # The stage computes the same sums with excluded pixels.
    volume = CostVolume(costs, SearchRange(0, 3), 40.0)
    expected = semi_global(volume, paths=8, p1=5, p2=30).volume.costs
    total = sum_in_order(volume, (None, None), 8, {"p1": 5, "p2": 30})
    np.testing.assert_array_equal(total, expected)
    path_costs = compute_path_costs(volume, direction=direction, p1=5, p2=30).costs
    assert (path_costs[2, 2] >= 1e6).all()
    after = path_costs[2 + direction[0], 2 + direction[1]]
    assert (after < 1e5).all()


def test_path_costs_of_an_array_have_the_levels_0_1_2():
    costs = np.random.default_rng(1).integers(0, 9, (3, 4, 5)).astype(np.float32)
    path_costs = compute_path_costs(costs, direction=(1, 0))
    assert path_costs.search == SearchRange(0, 4)
    expected = compute_path_costs(CostVolume(costs, SearchRange(0, 4), 9.0), direction=(1, 0))
    np.testing.assert_array_equal(path_costs.costs, expected.costs)


COSTS = np.zeros((3, 4, 5), np.float32)
IMAGE = np.zeros((3, 4), np.uint8)


@pytest.mark.parametrize(
    ("arguments", "parameters", "message"),
    [
        ((COSTS,), {"direction": (2, 0)}, "direction is (2, 0); expected rows and columns"),
        ((COSTS,), {"direction": (0, 0)}, "direction is (0, 0); expected rows and columns"),
        ((COSTS,), {"direction": 1}, "direction is 1; expected one of PATH_DIRECTIONS"),
        ((COSTS,), {"p1": -1}, "p1 is -1; expected a finite number >= 0"),
        ((COSTS,), {"p1": 8, "p2": 5}, "compute_path_costs: p2 is 5, below p1, 8"),
        ((COSTS,), {"penalties": "image"}, "penalties is 'image'"),
        ((COSTS,), {"penalties": "gradient"}, "penalties: 'gradient' needs both images"),
        ((COSTS, IMAGE), {"penalties": "edges"}, "penalties: 'edges' needs both images"),
        ((COSTS[0],), {}, "volume is"),
        ((COSTS[:0],), {}, "volume is"),
        ((np.full((3, 4, 5), np.inf),), {}, "volume.costs has NaN or infinite costs"),
        ((COSTS, IMAGE[:2], IMAGE[:2]), {}, "reference has shape (2, 4); expected (3, 4)"),
        ((COSTS, IMAGE, IMAGE.astype(np.float32)), {}, "both must have one size"),
    ],
)
def test_wrong_arguments_of_path_costs_are_refused(arguments, parameters, message):
    with pytest.raises((ParameterError, DataError)) as error:
        compute_path_costs(*arguments, **parameters)
    assert message in str(error.value)
    assert str(error.value).startswith("compute_path_costs")


# --- planes around each pixel ---------------------------------------------------------


@given(
    data=st.data(),
    shape=shapes | st.just((6, 11)),
    radii=st.sampled_from([(3, 5), (4, 8), (2,), (1, 2, 9)]),
    gate=st.sampled_from([0.5, 4.0]),
    ridge=st.sampled_from([0.05, 1e-3]),
)
def test_local_planes_agree_with_twin(data, shape, radii, gate, ridge):
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    slope = rng.uniform(-1.2, 1.2, 2)
    disparity = np.indices(shape).T.dot(slope).T + rng.uniform(-0.4, 0.4, shape)
    disparity = np.where(rng.random(shape) < 0.2, hole, disparity).astype(np.float32)
    image = data.draw(filled(shape, np.array([0, 9, 12, 90, 255]))).astype(np.uint8)
    planes = fit_local_planes(disparity, image, radii=radii, gate=gate, gamma_c=15.0, ridge=ridge)
    for y, x in np.ndindex(shape):
        plane = [float(part[y, x]) for part in (planes.right, planes.down, planes.value)]
        if np.isnan(disparity[y, x]):
            assert plane[:2] == [0, 0]
            assert np.isnan(plane[2])
            continue
        expected = naive_refinement.local_plane(disparity, image, y, x, radii, gate, 15.0, ridge)
        np.testing.assert_allclose(plane, expected, rtol=0, atol=2e-3)


def test_local_planes_of_a_slanted_surface_have_its_slopes():
    y, x = np.mgrid[:20, :30]
    disparity = 4 + 0.375 * x - 0.5 * y
    # The two halves of the map are two surfaces, 20 pixels apart in disparity.
    disparity[:, 15:] += 20
    planes = fit_local_planes(disparity, np.zeros((20, 30), np.uint8), ridge=1e-6)
    np.testing.assert_allclose(planes.value, disparity, atol=1e-3)
    np.testing.assert_allclose(planes.right, 0.375, atol=1e-3)
    np.testing.assert_allclose(planes.down, -0.5, atol=1e-3)


def test_plane_smooth_returns_the_values_of_the_local_planes():
    rng = np.random.default_rng(3)
    disparity = rng.uniform(0, 3, (12, 15)).astype(np.float32)
    image = rng.integers(0, 40, (12, 15)).astype(np.uint8)
    planes = fit_local_planes(disparity, image)
    np.testing.assert_array_equal(planes.value, plane_smooth(disparity, image))


MAP = np.zeros((3, 4), np.float32)


@pytest.mark.parametrize(
    ("arguments", "parameters", "message"),
    [
        ((MAP, IMAGE), {"radii": ()}, "radii is (); expected one radius or more"),
        ((MAP, IMAGE), {"radii": (0,)}, "radii[0] is 0; expected a whole number >= 1"),
        ((MAP, IMAGE), {"gate": 0}, "gate is 0"),
        ((MAP, IMAGE), {"ridge": -1}, "ridge is -1"),
        ((MAP[:2], IMAGE), {}, "image has shape (3, 4); expected (2, 4)"),
        ((np.zeros((3, 4), int), IMAGE), {}, "expected float32 (rows, columns)"),
        ((MAP + np.inf, IMAGE), {}, "infinite disparities"),
        ((MAP, np.zeros((3, 4, 2), np.uint8)), {}, "expected uint8 or float32"),
    ],
)
def test_wrong_arguments_of_local_planes_are_refused(arguments, parameters, message):
    with pytest.raises((ParameterError, DataError)) as error:
        fit_local_planes(*arguments, **parameters)
    assert message in str(error.value)
    assert str(error.value).startswith("fit_local_planes: ")


# --- segments and their planes --------------------------------------------------------


def test_segments_with_a_small_k_are_the_connected_areas_of_one_colour():
    image = np.random.default_rng(8).choice(np.array([0, 80, 200], np.uint8), (9, 13))
    numbers = segment_image(image, sigma=0, k=1e-6, min_segment=1)
    assert numbers.dtype == np.int32
    pairs = set()
    area_count = 0
    for colour in np.unique(image):
        areas, count = scipy.ndimage.label(image == colour, structure=np.ones((3, 3)))
        inside = areas > 0
        area_numbers = (areas[inside] + area_count).tolist()
        pairs |= set(zip(area_numbers, numbers[inside].tolist(), strict=True))
        area_count += count
    # Each area has one number, and each number has one area.
    assert len(pairs) == area_count == numbers.max() + 1


@pytest.mark.parametrize(("sigma", "k", "min_segment"), [(0.5, 150.0, 60), (0.0, 40.0, 3)])
def test_segments_agree_with_twin(sigma, k, min_segment):
    image = np.random.default_rng(9).integers(0, 255, (8, 10, 3)).astype(np.uint8)
    numbers = segment_image(image, sigma=sigma, k=k, min_segment=min_segment)
    expected = naive_refinement.segments(image, sigma, k, min_segment)
    np.testing.assert_array_equal(numbers, expected)


def test_planes_of_segments_are_found_among_outliers():
    rng = np.random.default_rng(6)
    y, x = np.mgrid[:20, :30]
    numbers = (x >= 15).astype(np.int64) + 2 * (y >= 10)
    expected = np.array([[0.5, 0.25, 3], [-0.25, 0, 30], [0, -0.5, 40], [0.125, 0.125, 9]])
    a, b, c = np.moveaxis(expected[numbers], 2, 0)
    disparity = a * x + b * y + c
    # A third of the pixels are outliers, and the last segment has few estimates.
    is_outlier = rng.random(disparity.shape) < 1 / 3
    disparity[is_outlier] += rng.uniform(4, 90, np.count_nonzero(is_outlier))
    disparity[(numbers == 3) & (y > 10)] = hole
    planes = fit_segment_planes(disparity, numbers)
    assert planes.shape == (4, 3)
    np.testing.assert_allclose(planes[:3], expected[:3], atol=1e-4)
    assert np.isnan(planes[3]).all()

    values = compute_plane_disparities(planes, numbers)
    assert values.dtype == np.float32
    inside = ~is_outlier & (numbers < 3)
    np.testing.assert_allclose(values[inside], disparity[inside], atol=1e-3)
    assert np.isnan(values[numbers == 3]).all()


def test_segment_planes_fills_holes_by_these_planes():
    rng = np.random.default_rng(7)
    image = np.repeat(np.uint8([[10, 90, 200]]), 8, axis=1).repeat(12, axis=0)
    y, x = np.indices(image.shape)
    disparity = (10 + x / 4 - y / 8 + rng.normal(0, 0.2, image.shape)).astype(np.float32)
    disparity[rng.random(image.shape) < 0.3] = hole
    status = np.where(np.isnan(disparity), 1, 0).astype(np.uint8)
    filled_map, _ = segment_planes(disparity, image, SearchRange(0, 31), status, seed=5)

    numbers = segment_image(image)
    values = compute_plane_disparities(fit_segment_planes(disparity, numbers, seed=5), numbers)
    expected = np.where(np.isnan(disparity), values, disparity)
    np.testing.assert_array_equal(filled_map, expected)


def test_a_map_without_estimates_has_no_planes():
    planes = fit_segment_planes(MAP + hole, np.array([[0, 0, 1, 2]] * 3))
    assert planes.shape == (3, 3)
    assert np.isnan(planes).all()


NUMBERS = np.zeros((3, 4), np.int32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: segment_image(IMAGE, k=0), "segment_image: k is 0"),
        (lambda: segment_image(IMAGE, sigma=-1), "segment_image: sigma is -1"),
        (lambda: segment_image(IMAGE[0]), "segment_image: image is uint8 (4,)"),
        (
            lambda: fit_segment_planes(MAP, NUMBERS[:2]),
            "fit_segment_planes: segment_numbers has shape (2, 4); expected (3, 4)",
        ),
        (
            lambda: fit_segment_planes(MAP, NUMBERS - 1),
            "fit_segment_planes: segment_numbers has numbers from -1 to -1; expected numbers "
            "from 0 to 11",
        ),
        (
            lambda: fit_segment_planes(MAP, NUMBERS + 12),
            "fit_segment_planes: segment_numbers has numbers from 12 to 12",
        ),
        (
            lambda: fit_segment_planes(MAP, NUMBERS.astype(float)),
            "fit_segment_planes: segment_numbers is float64 (3, 4); expected whole numbers",
        ),
        (
            lambda: fit_segment_planes(MAP, np.ma.masked_array(NUMBERS)),
            "fit_segment_planes: segment_numbers is a masked array",
        ),
        (lambda: fit_segment_planes(MAP, NUMBERS, min_share=2), "min_share is 2"),
        (
            lambda: compute_plane_disparities(np.zeros((2, 4)), NUMBERS),
            "compute_plane_disparities: planes has shape (2, 4); expected (segments, 3)",
        ),
        (
            lambda: compute_plane_disparities(np.zeros((2, 3)), NUMBERS + 2),
            "segment_numbers has the number 2, but planes has only 2 rows",
        ),
    ],
)
def test_wrong_arguments_of_segment_functions_are_refused(call, message):
    with pytest.raises((ParameterError, DataError)) as error:
        call()
    assert message in str(error.value)
