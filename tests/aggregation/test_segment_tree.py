"""Tests of the segment tree, the minimum spanning tree and means along trees.

Some tests compare the results with the slow functions of `naive_segment_tree`.
"""

from dataclasses import replace
from typing import Annotated

import naive_segment_tree
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, image_pairs, in_threads
from scipy.ndimage import label, median_filter
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree as scipy_spanning_tree

from stereo_framework import CostVolume, Pair, Pipeline, SearchRange, step
from stereo_framework.aggregation import minimum_spanning_tree, segment_tree
from stereo_framework.core.call_context import storing_results
from stereo_framework.core.errors import ArgumentError, DataWarning, StereoFrameworkError
from stereo_framework.parts import (
    PixelTree,
    average_along_tree,
    build_segment_tree,
    build_spanning_tree,
)
from stereo_framework.stages import DataError, InSlot, ParameterError, Step, stage

CONSTANTS = (0.0, 3.0, 40.0, 300.0, 1200.0, 1e9)
"""Values of k for the tests.

With the smallest value, each segment has one colour. With the largest value, the whole
image is one segment.
"""


def edges_of(tree: PixelTree) -> dict[tuple[int, int], float]:
    """Return the difference of each edge of a tree, by the two pixels of the edge.

    The pixel with the lower number comes first.
    """
    edges = {}
    for pixel in tree.order[1:].tolist():
        ends = sorted([pixel, int(tree.parents[pixel])])
        edges[ends[0], ends[1]] = float(tree.differences[pixel])
    return edges


def assert_is_rooted(tree: PixelTree) -> None:
    """Check that pixel 0 is the root, and that each pixel stands after its parent."""
    rows, columns = tree.shape
    assert sorted(tree.order.tolist()) == list(range(rows * columns))
    assert (tree.order[0], tree.parents[0], tree.differences[0]) == (0, 0, 0)
    place = np.argsort(tree.order)
    children = tree.order[1:]
    parents = tree.parents[children]
    assert (place[parents] < place[children]).all()
    distance = abs(children // columns - parents // columns)
    distance += abs(children % columns - parents % columns)
    assert (distance == 1).all()


def smooth_image(rows: int, columns: int, seed: int) -> np.ndarray:
    """Return a colour image of two surfaces of constant colour with a little noise."""
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 3, (rows, columns, 3), np.uint8)
    image[:, columns // 2 :] += np.uint8(40)
    return image


# --- the tree -------------------------------------------------------------------------


@given(
    images=image_pairs(),
    k=st.sampled_from(CONSTANTS),
    link_penalty=st.sampled_from([0.0, 5.0]),
)
def test_tree_agrees_with_the_definition(images, k, link_penalty):
    image = images[0]
    edges, segments = naive_segment_tree.segment_tree(image, k=k, link_penalty=link_penalty)

    tree = build_segment_tree(image, k=k, link_penalty=link_penalty, median_size=1)

    assert tree.shape == image.shape[:2]
    assert_is_rooted(tree)
    assert edges_of(tree) == pytest.approx(edges, rel=1e-6)
    np.testing.assert_array_equal(tree.segments, segments)
    assert tree.segments.dtype == np.int32


@pytest.mark.parametrize("k", [0.0, 20.0, 5000.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_large_parts_are_linked_with_the_penalty(k, seed):
    image = smooth_image(8, 18, seed)
    edges, segments = naive_segment_tree.segment_tree(image, k=k, link_penalty=5.0)

    tree = build_segment_tree(image, k=k, link_penalty=5.0, median_size=1)

    assert edges_of(tree) == edges
    np.testing.assert_array_equal(tree.segments, segments)
    without_penalty = build_segment_tree(image, k=k, link_penalty=0, median_size=1)
    changes = tree.differences - without_penalty.differences
    assert sorted(set(changes.tolist())) == ([0, 5] if k < 5000 else [0])


@pytest.mark.parametrize(("rows", "penalty"), [(5, 0), (6, 5)])
def test_the_penalty_is_added_if_both_parts_have_more_than_fifty_pixels(rows, penalty):
    # Each half of the image has 10 columns. It has 50 pixels if the image has 5 rows,
    # and 60 pixels if the image has 6 rows.
    image = np.full((rows, 20), 100, np.uint8)
    image[:, 10:] = 110

    tree = build_segment_tree(image, k=0, link_penalty=5, median_size=1)

    assert sorted(tree.differences.tolist())[-2:] == [0, 10 + penalty]
    assert tree.segments.max() == 1


def test_segments_are_joined_up_to_their_limits():
    # The limit of the four left pixels is 2 + 4/4 = 3. The difference 4 exceeds this
    # limit, so the segments are not joined.
    image = np.array([[10, 12, 14, 16, 20, 21]], np.uint8)
    tree = build_segment_tree(image, k=4, median_size=1)
    np.testing.assert_array_equal(tree.segments, [[0, 0, 0, 0, 1, 1]])

    # With k = 8, the limit is 2 + 8/4 = 4. Segments are also joined if the difference
    # equals the limit.
    tree = build_segment_tree(image, k=8, median_size=1)
    np.testing.assert_array_equal(tree.segments, [[0, 0, 0, 0, 0, 0]])


def test_equal_differences_are_visited_in_raster_order_and_to_the_right_first():
    tree = build_segment_tree(np.zeros((2, 3), np.uint8), median_size=1)
    assert edges_of(tree) == dict.fromkeys([(0, 1), (0, 3), (1, 2), (1, 4), (2, 5)], 0)


@given(images=image_pairs(), k=st.sampled_from(CONSTANTS))
def test_each_segment_is_connected_inside_itself(images, k):
    tree = build_segment_tree(images[0], k=k)
    labels = tree.segments.reshape(-1)
    pixels = tree.order[1:]
    inner = labels[pixels] == labels[tree.parents[pixels]]

    edge_counts = np.bincount(labels[pixels[inner]], minlength=labels.max() + 1)

    np.testing.assert_array_equal(edge_counts, np.bincount(labels) - 1)


@given(images=image_pairs(), k=st.sampled_from([0.0, 1e9]))
def test_tree_of_constant_colours_or_of_one_segment_is_the_spanning_tree(images, k):
    image = images[0]
    expected = build_spanning_tree(image)

    tree = build_segment_tree(image, k=k, link_penalty=0, median_size=1)

    np.testing.assert_array_equal(tree.order, expected.order)
    np.testing.assert_array_equal(tree.parents, expected.parents)
    np.testing.assert_array_equal(tree.differences, expected.differences)
    assert expected.segments is None


@given(images=image_pairs(), k=st.sampled_from(CONSTANTS))
def test_no_tree_has_a_smaller_sum_than_the_spanning_tree(images, k):
    image = images[0]
    # For SciPy, a difference of 0 means that the edge is missing. Therefore, each
    # difference is increased by 1.
    ends = [(difference + 1, p, q) for difference, p, _, q in naive_segment_tree.edges_of(image)]
    pixels = image.shape[0] * image.shape[1]
    minimum = 0.0
    if ends:
        values, first, second = zip(*ends, strict=True)
        graph = coo_array((values, (first, second)), (pixels, pixels)).tocsr()
        minimum = scipy_spanning_tree(graph).sum() - (pixels - 1)

    spanning_tree = build_spanning_tree(image)
    tree = build_segment_tree(image, k=k, link_penalty=0, median_size=1)

    assert spanning_tree.differences.sum(dtype=float) == pytest.approx(minimum, rel=1e-5, abs=1e-3)
    assert tree.differences.sum(dtype=float) >= minimum - 1e-3


def test_grouping_can_increase_the_sum_of_the_tree():
    # The segment of the ten pixels with colour 100 has the limit 30/10. Its difference
    # from the pixels with the colours 110 and 90 is 10, so these two pixels do not join
    # the segment. Each of the two pixels has the limit 30, and their difference is 20,
    # so they become a segment.
    image = np.full((2, 6), 100, np.uint8)
    image[1, :2] = [110, 90]

    tree = build_segment_tree(image, k=30, link_penalty=0, median_size=1)

    np.testing.assert_array_equal(tree.segments, [[0] * 6, [1, 1, 0, 0, 0, 0]])
    assert sorted(tree.differences.tolist())[-2:] == [10, 20]
    assert build_spanning_tree(image).differences.sum() == 20


def test_segments_without_a_constant_have_one_colour():
    image = np.random.default_rng(3).integers(0, 3, (20, 25), np.uint8)

    segments = build_segment_tree(image, k=0, median_size=1).segments

    zones = np.zeros(image.shape, int)
    for value in range(3):
        numbered, count = label(image == value)
        zones[numbered > 0] = numbered[numbered > 0] + zones.max()
        assert zones.max() >= count
    assert len(set(zip(segments.flat, zones.flat, strict=True))) == zones.max()
    assert segments.max() + 1 == zones.max()


@pytest.mark.parametrize("build", [build_spanning_tree, build_segment_tree])
@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("channels", [(), (3,)])
def test_the_tree_is_that_of_the_smoothed_image(build, size, channels):
    image = np.random.default_rng(2).integers(0, 256, (9, 12, *channels), np.uint8)
    windows = (size, size) + (1,) * len(channels)
    smooth = median_filter(image.astype(np.float32), windows, mode="nearest")
    expected = build(smooth, median_size=1)

    tree = build(image, median_size=size)

    np.testing.assert_array_equal(tree.parents, expected.parents)
    np.testing.assert_array_equal(tree.differences, expected.differences)


# --- means along a tree ---------------------------------------------------------------


@given(
    data=st.data(),
    images=image_pairs(),
    sigma=st.sampled_from([25.5, 5.0, 1000.0]),
    k=st.sampled_from(CONSTANTS),
    threads=st.integers(1, 2),
)
def test_stage_agrees_with_the_sum_over_all_pixels(data, images, sigma, k, threads):
    image = images[0]
    shape = (*image.shape[:2], 5)
    costs = data.draw(filled(shape, np.append(np.arange(256) / 16, [1020] * 30)))
    volume = CostVolume(costs.astype(np.float32), SearchRange(0, 4), 1020.0)
    tree, _ = naive_segment_tree.segment_tree(image, k=k, link_penalty=5.0)

    with in_threads(threads):
        result = segment_tree(volume, image, sigma=sigma, k=k, median_size=1)

    expected = naive_segment_tree.means_along(tree, volume.costs, sigma)
    # The tolerance is needed because means are rounded to float32. In addition, the
    # second pass subtracts nearly equal sums, so the small weights of distant pixels
    # are rounded.
    np.testing.assert_allclose(result.costs, expected, rtol=1e-6, atol=1e-12)
    assert (result.search, result.outside_cost) == (volume.search, 1020.0)
    assert result.costs.dtype == np.float32


def test_two_surfaces_of_equal_size_have_the_means_of_a_hand_calculation():
    image = np.full((6, 20), 100, np.uint8)
    image[:, 10:] = 110
    costs = np.zeros((6, 20, 2), np.float32)
    costs[:, 10:] = 8

    result = segment_tree(
        CostVolume(costs, SearchRange(0, 1), 8.0), image, sigma=15, k=0, median_size=1
    )

    # The path between the two surfaces has the difference 10 and the penalty 5.
    weight = np.exp(-1)
    np.testing.assert_allclose(result.costs[:, :10], 8 * weight / (1 + weight), rtol=1e-6)
    np.testing.assert_allclose(result.costs[:, 10:], 8 / (1 + weight), rtol=1e-6)


@pytest.mark.parametrize("levels", [2, 15, 16, 17, 37])
def test_means_do_not_depend_on_the_number_of_threads(levels):
    rng = np.random.default_rng(levels)
    image = rng.integers(0, 256, (13, 11, 3), np.uint8)
    costs = rng.random((13, 11, levels), np.float32)
    volume = CostVolume(costs, SearchRange(0, levels - 1), 1.0)
    with in_threads(1):
        expected = segment_tree(volume, image).costs
    with in_threads(2):
        np.testing.assert_array_equal(segment_tree(volume, image).costs, expected)


def test_a_single_pixel_keeps_its_costs():
    costs = np.array([[[1, 5, 3]]], np.float32)
    volume = CostVolume(costs, SearchRange(0, 2), 9.0)
    for image in (np.array([[7]], np.uint8), np.array([[[7, 8, 9]]], np.float32)):
        np.testing.assert_array_equal(segment_tree(volume, image).costs, costs)
        tree = build_segment_tree(image)
        assert (tree.order.tolist(), tree.parents.tolist()) == ([0], [0])
        np.testing.assert_array_equal(tree.segments, [[0]])


@pytest.mark.parametrize("shape", [(1, 9), (9, 1)])
def test_rows_and_columns_of_pixels_are_chains(shape):
    image = np.random.default_rng(5).integers(0, 256, shape, np.uint8)
    tree = build_segment_tree(image, median_size=1)
    np.testing.assert_array_equal(tree.order, np.arange(9))
    np.testing.assert_array_equal(tree.parents, [0, *range(8)])
    differences = np.abs(np.diff(image.ravel().astype(float)))
    np.testing.assert_array_equal(tree.differences[1:], differences)


def test_a_tree_of_small_weights_keeps_the_costs():
    image = np.random.default_rng(6).integers(0, 256, (5, 7), np.uint8)
    costs = np.random.default_rng(7).random((5, 7, 3), np.float32)
    tree = build_spanning_tree(image)
    np.testing.assert_array_equal(average_along_tree(costs, tree, np.zeros(35)), costs)
    means = np.broadcast_to(costs.mean(axis=(0, 1), dtype=float), costs.shape)
    np.testing.assert_allclose(average_along_tree(costs, tree, np.ones(35)), means, rtol=1e-6)


def test_weights_of_0_between_segments_give_the_mean_of_each_segment():
    image = smooth_image(9, 14, seed=4)
    costs = np.random.default_rng(4).random((9, 14, 3), np.float32)
    tree = build_segment_tree(image, k=10)
    assert tree.segments is not None
    segments = tree.segments.ravel()
    weights = (segments == segments[tree.parents]).astype(float)

    means = average_along_tree(costs, tree, weights)

    assert segments.max() > 0
    for segment in range(segments.max() + 1):
        inside = tree.segments == segment
        expected = costs[inside].mean(axis=0, dtype=float)
        np.testing.assert_allclose(means[inside], np.tile(expected, (inside.sum(), 1)), rtol=1e-6)


def test_stage_of_one_segment_is_the_stage_of_the_spanning_tree():
    rng = np.random.default_rng(8)
    image = smooth_image(20, 17, seed=8)
    volume = CostVolume(rng.random((20, 17, 4), np.float32), SearchRange(0, 3), 1.0)
    expected = minimum_spanning_tree(volume, image, median_size=3).costs
    one_segment = segment_tree(volume, image, k=1e9).costs
    np.testing.assert_array_equal(one_segment, expected)
    assert (segment_tree(volume, image, k=30).costs != expected).any()


def test_costs_in_another_memory_order_have_equal_means():
    rng = np.random.default_rng(9)
    image = rng.integers(0, 256, (6, 8), np.uint8)
    costs = rng.random((6, 8, 5), np.float32)
    tree = build_segment_tree(image)
    weights = np.exp(-tree.differences / 20)
    expected = average_along_tree(costs, tree, weights)
    result = average_along_tree(np.asfortranarray(costs), tree, weights)
    np.testing.assert_array_equal(result, expected)


# --- faults ---------------------------------------------------------------------------


def test_arrays_that_do_not_fit_the_tree_are_refused():
    tree = build_spanning_tree(np.zeros((3, 4), np.uint8))
    costs = np.zeros((3, 4, 2), np.float32)
    weights = np.ones(12)
    with pytest.raises(DataError, match=r"costs has shape \(4, 3, 2\); expected .* 3 rows and 4"):
        average_along_tree(costs.reshape(4, 3, 2), tree, weights)
    with pytest.raises(DataError, match=r"costs is float32 \(3, 4\).*\(rows, columns, l"):
        average_along_tree(costs[..., 0], tree, weights)
    with pytest.raises(DataError, match=r"weights has shape \(11,\); expected \(12,\)"):
        average_along_tree(costs, tree, weights[:11])
    for weight in (-0.1, 1.1, np.nan):
        with pytest.raises(DataError, match=r"weights lie in .*; expected weights in 0..1"):
            average_along_tree(costs, tree, np.where(np.arange(12) == 5, weight, weights))


@pytest.mark.parametrize("filter_", [minimum_spanning_tree, segment_tree])
def test_a_stage_refuses_costs_of_another_size_from_an_outer_stage(filter_):
    @stage("aggregation", source="Author 2000")
    def halving(
        volume, reference, *, inner: Annotated[Step, InSlot("aggregation")] = step(filter_)
    ):
        halved = replace(volume, costs=volume.costs[::2, ::2].copy())
        return inner(volume=halved, reference=reference)

    rng = np.random.default_rng(0)
    pair = Pair(*rng.integers(0, 256, (2, 12, 16), np.uint8), SearchRange(0, 3))
    method = Pipeline(["census", halving, "winner_take_all"])
    with pytest.raises(
        StereoFrameworkError, match=r"data of different sizes: volume has \(6, 8\), reference has"
    ):
        method.estimate(pair)


def test_wrong_types_and_numbers_are_refused():
    tree = build_spanning_tree(np.zeros((3, 4), np.uint8))
    costs = np.zeros((3, 4, 2), np.float32)
    weights = np.ones(12)
    with pytest.raises(ArgumentError, match="average_along_tree: costs is .*; expected an array"):
        average_along_tree(costs.tolist(), tree, weights)
    with pytest.raises(ArgumentError, match="average_along_tree: weights is .*; expected an array"):
        average_along_tree(costs, tree, weights.tolist())
    with pytest.raises(ArgumentError, match="average_along_tree: tree is .*; expected a PixelTree"):
        average_along_tree(costs, None, weights)
    with pytest.raises(DataError, match=r"costs is float64 \(3, 4, 2\).*; expected float32"):
        average_along_tree(costs.astype(float), tree, weights)
    with pytest.raises(DataError, match=r"weights is int64 \(12,\).*; expected float64"):
        average_along_tree(costs, tree, weights.astype(int))
    for number in (np.nan, np.inf):
        wrong_costs = costs.copy()
        wrong_costs[1, 2, 0] = number
        with pytest.raises(DataError, match=r"costs has NaN or infinite .* \(values: 1\)"):
            average_along_tree(wrong_costs, tree, weights)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"order": np.arange(5, dtype=np.int32)}, r"tree.order is int32 \(5,\)"),
        ({"parents": np.zeros(6)}, r"tree.parents is float64 \(6,\)"),
        ({"parents": np.array([0, 0, 1, 0, 1, 6], np.int32)}, "numbers from 0 to 6; expected"),
        ({"order": np.array([0, 1, 2, 3, 4, 4], np.int32)}, "each pixel once"),
        ({"order": np.array([0, 2, 1, 3, 4, 5], np.int32)}, "after its parent"),
    ],
)
def test_trees_with_wrong_arrays_are_refused(changes, expected):
    arrays = {
        "order": np.arange(6, dtype=np.int32),
        "parents": np.array([0, 0, 1, 0, 1, 2], np.int32),
    }
    costs = np.zeros((2, 3, 2), np.float32)
    differences = np.zeros(6, np.float32)
    correct_tree = PixelTree((2, 3), **arrays, differences=differences)
    assert (average_along_tree(costs, correct_tree, np.ones(6)) == 0).all()

    wrong_tree = PixelTree((2, 3), **(arrays | changes), differences=differences)
    with pytest.raises(DataError, match=expected):
        average_along_tree(costs, wrong_tree, np.ones(6))


@pytest.mark.parametrize("build", [build_spanning_tree, build_segment_tree])
def test_the_image_may_be_given_by_name(build):
    image = np.array([[90, 95, 200], [90, 96, 203]], np.uint8)
    tree = build(image=image, median_size=1)
    np.testing.assert_array_equal(tree.parents, build(image, median_size=1).parents)
    assert tree.shape == (2, 3)


@pytest.mark.parametrize("build", [build_spanning_tree, build_segment_tree])
def test_wrong_images_and_parameters_are_refused(build):
    image = np.zeros((3, 4), np.uint8)
    with pytest.raises(ParameterError, match=r"median_size is 2; expected 1, 3 or 5"):
        build(image, median_size=2)
    with pytest.raises(DataError, match=rf"{build.__name__}: image is uint8 \(3, 4, 2\)"):
        build(np.zeros((3, 4, 2), np.uint8))
    with pytest.raises(DataError, match=rf"{build.__name__}: image is float64 \(3, 4\)"):
        build(np.zeros((3, 4)))
    with pytest.raises(DataError, match=rf"{build.__name__}: image has NaN or infinite intens"):
        build(np.where(np.eye(4) == 1, np.float32(np.nan), np.float32(9)))


@pytest.mark.parametrize("name", ["k", "link_penalty"])
def test_negative_parameters_are_refused(name):
    with pytest.raises(ParameterError, match=rf"{name} is -1.*; expected a finite number >= 0"):
        build_segment_tree(np.zeros((3, 4), np.uint8), **{name: -1.0})


@pytest.mark.parametrize("stage", [minimum_spanning_tree, segment_tree])
def test_intensities_of_0_to_1_give_one_warning(stage):
    volume = CostVolume(np.zeros((3, 4, 2), np.float32), SearchRange(0, 1), 1.0)
    image = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    with pytest.warns(DataWarning, match="intensities up to 1") as warnings:
        stage(volume, image)
    assert len(warnings) == 1


def test_trees_are_shared_by_calls_for_a_read_only_image():
    image = np.random.default_rng(4).integers(0, 256, (5, 6), np.uint8)
    image.flags.writeable = False
    volume = CostVolume(np.zeros((5, 6, 2), np.float32), SearchRange(0, 1), 1.0)
    results = {}
    with storing_results(results):
        segment_tree(volume, image)
        segment_tree(replace(volume, outside_cost=2.0), image, sigma=3)
        assert len(results) == 1
        segment_tree(volume, image, k=0)
        assert len(results) == 2
