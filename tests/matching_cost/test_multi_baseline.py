"""Tests of multiple-baseline stereo and of further images in pipelines.

Some tests compare the costs with costs that are computed pixel by pixel.
"""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from stereo_framework import Pair, Pipeline, SearchRange, load_scene, step
from stereo_framework.core.errors import DataError, ParameterError, StereoFrameworkError
from stereo_framework.core.scene import Frame, Scene
from stereo_framework.engine.memory import FramesInMemory, peak_memory
from stereo_framework.engine.runner import PipelineRunner, _content_key
from stereo_framework.matching_cost import absolute_difference, census, multi_baseline
from stereo_framework.stages import OtherFrame, Status, stage

BASELINES = (-0.5, 0.25, 0.75, 1.5)


def image_of(texture, start, columns):
    return np.ascontiguousarray(texture[:, start : start + columns])


def shifted_images(baselines=BASELINES, *, rows=6, columns=40, disparity=4, direction=1):
    """Return a pair with a random texture, and with frames at other baselines."""
    texture = np.random.default_rng(7).integers(0, 256, (rows, columns + 60)).astype(np.uint8)
    middle = 30

    def image(baseline):
        # Column x of the reference image shows column `middle + x` of the texture.
        return image_of(texture, middle + round(direction * baseline * disparity), columns)

    frames = tuple(OtherFrame(lambda b=b: image(b), b) for b in baselines)
    search = SearchRange(0, 7, direction=direction)
    return Pair(image(0), image(1), search, frames=frames)


def naive_costs(pair, *, truncation=None, best_half=False):
    """Compute absolute differences at each pixel and level, without the framework.

    Intensities between two pixels are interpolated linearly.
    """
    rows, columns = pair.shape
    images = [(1.0, pair.match)] + [(frame.baseline, frame.image) for frame in pair.frames]
    result = np.full((rows, columns, pair.search.levels), np.nan)
    for y, x, level in np.ndindex(*result.shape):
        disparity = pair.search.minimum + level * pair.search.step
        costs = []
        for baseline, image in images:
            candidate = x - pair.search.direction * baseline * disparity
            if not 0 <= candidate <= columns - 1:
                if baseline == 1.0:
                    costs = None
                    break
                continue
            left = int(np.floor(candidate))
            share = candidate - left
            right = min(left + 1, columns - 1)
            value = (1 - share) * float(image[y, left]) + share * float(image[y, right])
            cost = abs(float(pair.reference[y, x]) - value)
            if truncation is not None:
                cost = min(cost, truncation)
            costs.append(cost)
        if costs is None:
            continue
        costs = sorted(costs)
        if best_half:
            costs = costs[: (len(costs) + 1) // 2]
        result[y, x, level] = np.mean(costs)
    return result


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("selection", ["all", "best_half"])
@pytest.mark.parametrize("truncation", [None, 30])
def test_costs_are_means_over_the_images_that_show_a_pixel(direction, selection, truncation):
    pair = shifted_images((-0.5, 0.5, 1.5, 2.0), direction=direction)
    # In uint8 images, interpolated intensities are rounded. In float32 images, they are
    # not rounded.
    pair = replace(
        pair,
        reference=pair.reference.astype(np.float32),
        match=pair.match.astype(np.float32),
        frames=tuple(frame.with_image(np.float32) for frame in pair.frames),
    )
    volume = multi_baseline(
        pair.reference,
        pair.match,
        pair.search,
        pair.frames,
        inner=step("absolute_difference", interpolation="linear"),
        max_cost=truncation,
        selection=selection,
    )
    expected = naive_costs(pair, truncation=truncation, best_half=selection == "best_half")
    inside = ~np.isnan(expected)
    np.testing.assert_allclose(volume.costs[inside], expected[inside], rtol=1e-5, atol=1e-3)
    assert (volume.costs[~inside] == volume.outside_cost).all()


@pytest.mark.parametrize("direction", [1, -1])
def test_the_true_disparity_has_the_mean_cost_zero(direction):
    # A disparity of 4 is a whole number of columns in all frames.
    pair = shifted_images((-0.5, 0.25, 0.75, 1.5), direction=direction)
    volume = multi_baseline(pair.reference, pair.match, pair.search, pair.frames)
    costs_away_from_borders = volume.costs[:, 12:-12]
    assert (costs_away_from_borders.argmin(axis=2) == 4).all()
    assert costs_away_from_borders[..., 4].max() == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("baseline", [1 / 3, 0.7131, -1.2345])
def test_costs_of_any_baseline_are_interpolated(baseline):
    # If intensities increase linearly along a row, costs increase linearly on each side
    # of the true disparity.
    columns = np.arange(60, dtype=np.float32)
    reference = np.tile(2 * columns, (3, 1))
    match = np.tile(2 * (columns + 4), (3, 1))
    frame_image = np.tile(2 * (columns + 4 * np.float32(baseline)), (3, 1))
    frame = OtherFrame(lambda: frame_image, baseline)
    volume = multi_baseline(
        reference,
        match,
        SearchRange(0, 8),
        (frame,),
        inner=step("absolute_difference", interpolation="linear"),
    )
    errors = 2 * np.abs(np.arange(9) - 4)
    expected = errors * (1 + abs(baseline)) / 2
    away_from_truth = np.abs(np.arange(9) - 4) > 1 / abs(baseline)
    np.testing.assert_allclose(
        volume.costs[1, 30, away_from_truth], expected[away_from_truth], rtol=1e-3
    )


@pytest.mark.parametrize(
    ("search", "baseline"),
    [
        (SearchRange(0, 8, 1 / 8), 0.25),
        (SearchRange(0, 4, 1 / 32), 0.5),
        (SearchRange(1, 13, 2), 0.5),
        (SearchRange(1, 13, 2), 1.5),
    ],
)
def test_costs_at_fractions_of_a_pixel_are_those_of_the_image(search, baseline):
    values = np.random.default_rng(5).integers(0, 256, (3, 60)).astype(np.float32)
    frame = OtherFrame(lambda: values, baseline)
    black = np.zeros_like(values)
    inner = step("absolute_difference", interpolation="linear")
    volume = multi_baseline(values, black, search, (frame,), inner=inner)
    alone = multi_baseline(values, black, search, inner=inner)
    disparities = search.minimum + search.step * np.arange(search.levels)
    sampled = np.interp(30 - baseline * disparities, np.arange(60), values[1])
    expected = (alone.costs[1, 30] + np.abs(values[1, 30] - sampled)) / 2
    np.testing.assert_allclose(volume.costs[1, 30], expected, atol=0.1)


@pytest.mark.parametrize("inner", ["mutual_information", "multi_baseline"])
def test_inner_costs_that_read_data_of_the_pair_are_refused_with_frames(inner):
    pair = shifted_images((0.5,))
    method = Pipeline(
        [step("multi_baseline", inner=inner), "winner_take_all"],
        {"first": Pipeline(["census", "winner_take_all"])},
    )
    with pytest.raises(StereoFrameworkError, match="which belong to the two images of the pair"):
        method(pair)


def test_a_pair_with_frames_can_be_pickled():
    pair = shifted_images((0.5, 1.5))
    copy = pickle.loads(pickle.dumps(pair.reduced(2)))
    assert [frame.baseline for frame in copy.frames] == [0.5, 1.5]
    for frame, expected in zip(copy.frames, pair.reduced(2).frames, strict=True):
        np.testing.assert_array_equal(frame.image, expected.image)


def test_a_frame_needs_a_function_and_finite_numbers():
    image = np.zeros((3, 4), np.uint8)
    with pytest.raises(ParameterError, match="expected a function without arguments"):
        OtherFrame(image, 0.5)
    with pytest.raises(ParameterError, match="expected finite numbers"):
        OtherFrame(lambda: image, float("nan"))


@pytest.mark.parametrize("baseline", [3000, -1e300, 1e300])
def test_baselines_far_from_the_pair_are_refused(baseline):
    pair = shifted_images(())
    expected = "expected -1000 to 1001, because the image of a camera that is farther away"
    with pytest.raises(ParameterError, match=expected):
        OtherFrame(lambda: pair.match, baseline)
    frames = (*scene_of(pair).frames, Frame("far", pair.match.copy, 2 + 4 * float(baseline)))
    scene = Scene("made", frames, 0, 1, pair.search)
    with pytest.raises(DataError, match=f"scene made: far: the baseline is .*; {expected}"):
        Pair.of(scene)


def test_exchanged_frames_at_the_largest_distance_are_allowed():
    frame = OtherFrame(lambda: np.zeros((2, 3), np.uint8), -1000, name="far.png")
    assert (frame.exchanged().baseline, frame.exchanged().name) == (1001, "far.png")


@pytest.mark.parametrize("baseline", [-1000, 500.37, 1001])
@pytest.mark.parametrize("minimum", [0, 1])
def test_distant_images_count_only_where_they_show_a_pixel(baseline, minimum):
    pair = shifted_images((0.5, baseline), disparity=0)
    pair = replace(
        pair,
        reference=pair.reference.astype(np.float32),
        match=pair.match.astype(np.float32),
        search=SearchRange(minimum, 7),
        frames=(
            pair.frames[0].with_image(np.float32),
            OtherFrame(lambda: pair.match * 1.5, baseline),
        ),
    )
    inner = step("absolute_difference", interpolation="linear")
    volume = multi_baseline(pair.reference, pair.match, pair.search, pair.frames, inner=inner)
    expected = naive_costs(pair)
    inside = ~np.isnan(expected)
    np.testing.assert_allclose(volume.costs[inside], expected[inside], rtol=1e-5, atol=1e-3)


def test_inner_costs_of_whole_disparities_are_refused_at_fractions_of_a_pixel(registry):
    @stage("matching_cost", source="a test", whole_steps="compares whole pixels")
    def whole_pixels(reference, match, search):
        return absolute_difference(reference, match, search)

    pair = shifted_images((0.25,))
    method = Pipeline([step("multi_baseline", inner=whole_pixels), "winner_take_all"])
    expected = (
        "whole_pixels compares whole pixels, but the disparities of the image at the baseline 0.25 "
        "are multiples of 1/4 pixel; choose an inner matching cost"
    )
    with pytest.raises(ParameterError, match=expected):
        method(pair)
    assert method(shifted_images((2.0,))).disparity.shape == pair.shape


@pytest.mark.compiled
def test_two_images_give_the_inner_cost():
    scene = load_scene("synthetic/planes")
    arguments = scene.reference, scene.match, scene.search
    for inner in (absolute_difference, census):
        expected = inner(*arguments)
        volume = multi_baseline(*arguments, inner=inner)
        inside = expected.costs != expected.outside_cost
        np.testing.assert_array_equal(volume.costs[inside], expected.costs[inside])
        assert volume.outside_cost == expected.outside_cost


def test_a_frame_at_the_reference_camera_does_not_count():
    pair = shifted_images((0.5,))
    arguments = pair.reference, pair.match, pair.search
    same_place = OtherFrame(lambda: pair.reference, 0.0)
    expected = multi_baseline(*arguments, pair.frames)
    volume = multi_baseline(*arguments, (*pair.frames, same_place))
    np.testing.assert_array_equal(volume.costs, expected.costs)


@pytest.mark.compiled
def test_truncated_costs_of_two_images_are_those_of_the_inner_cost():
    scene = load_scene("synthetic/planes")
    arguments = scene.reference, scene.match, scene.search
    expected = absolute_difference(*arguments, truncation=20)
    volume = multi_baseline(*arguments, max_cost=20)
    np.testing.assert_array_equal(volume.costs, expected.costs)
    assert volume.outside_cost == expected.outside_cost == 20


@pytest.mark.compiled
def test_windows_of_the_inner_cost_reach_beyond_blocks_of_rows():
    scene = load_scene("synthetic/planes")
    arguments = scene.reference, scene.match, scene.search
    expected = census(*arguments, width=9, height=11)
    volume = multi_baseline(*arguments, inner=step("census", width=9, height=11))
    inside = expected.costs != expected.outside_cost
    np.testing.assert_array_equal(volume.costs[inside], expected.costs[inside])


# --- scenes ---------------------------------------------------------------------------


def scene_of(pair, positions=None, *, bad_frame=None):
    """Return a scene of the images of a pair.

    The baseline of the pair is 4 units of the camera positions.
    """
    frames = [Frame("reference", pair.reference.copy, 2.0), Frame("match", pair.match.copy, 6.0)]
    for frame in pair.frames:
        image = frame.image if bad_frame is None else bad_frame
        frames.append(Frame("other", image.copy, 2 + 4 * frame.baseline, time=3.0))
    if pair.search.direction < 0:
        frames = [replace(frame, position=-frame.position) for frame in frames]
    return Scene("made", tuple(frames), 0, 1, pair.search)


@pytest.mark.parametrize("direction", [1, -1])
def test_baselines_are_shares_of_the_baseline_of_the_pair(direction):
    pair = shifted_images(direction=direction)
    made = Pair.of(scene_of(pair))
    assert [frame.baseline for frame in made.frames] == list(BASELINES)
    assert {frame.time for frame in made.frames} == {3.0}
    assert [frame.baseline for frame in made.exchanged().frames] == [1.5, 0.75, 0.25, -0.5]


def test_times_of_exchanged_pairs_refer_to_their_reference_image():
    scene = scene_of(shifted_images((0.5,)))
    reference, match, other = scene.frames
    frames = replace(reference, time=1.0), replace(match, time=2.0), replace(other, time=4.0)
    pair = Pair.of(replace(scene, frames=frames))
    assert pair.frames[0].time == 3
    assert pair.exchanged().frames[0].time == Pair.of(pair.exchanged().scene).frames[0].time == 2
    assert pair.exchanged().exchanged().frames[0].time == 3


def test_frames_of_another_size_are_reported_only_if_they_are_read():
    pair = shifted_images()
    scene = scene_of(pair, bad_frame=np.zeros((3, 3), np.uint8))
    assert Pipeline(["census", "winner_take_all"])(scene).disparity.shape == pair.shape
    with pytest.raises(DataError, match=r"the image at the baseline -0.5 is uint8 \(3, 3\)"):
        Pipeline(["multi_baseline", "winner_take_all"])(scene)


def test_frames_of_another_size_are_refused_in_direct_calls():
    pair = shifted_images()
    smaller = OtherFrame(lambda: np.zeros((3, 3), np.uint8), 0.5)
    expected = r"the image at the baseline 0.5 is uint8 \(3, 3\); expected uint8"
    with pytest.raises(DataError, match=expected):
        multi_baseline(pair.reference, pair.match, pair.search, (smaller,))


def test_frames_that_no_stage_reads_are_not_loaded():
    pair = shifted_images()

    def fail():
        raise AssertionError("the frame is loaded")

    unread = replace(pair, frames=(OtherFrame(fail, 0.5),))
    method = Pipeline(["binomial_blur", "census", "box", "winner_take_all", "left_right_check"])
    expected = method(replace(pair, frames=()))
    np.testing.assert_array_equal(method(unread).disparity, expected.disparity)


# --- frames in pipelines --------------------------------------------------------------


def frames_of_costs(method, pair):
    """Run a method, and record the data of each call of its matching cost.

    The recorded data are the image size, the search direction, the baselines of the
    frames and the images of the frames.
    """
    calls = []

    @stage("matching_cost", source="Author 2000", halo=lambda: 0)
    def recording(reference, match, search, frames):
        images = [np.array(frame.image) for frame in frames]
        baselines = [frame.baseline for frame in frames]
        calls.append((reference.shape, search.direction, baselines, images))
        return census(reference, match, search)

    Pipeline([*method, recording, "winner_take_all"])(pair)
    return calls


def test_single_image_preprocessing_is_applied_to_all_frames():
    from stereo_framework.preprocessing import binomial_blur, mean_subtraction

    pair = shifted_images()
    [(_, _, baselines, images)] = frames_of_costs(["binomial_blur", "mean_subtraction"], pair)
    assert baselines == list(BASELINES)
    for frame, image in zip(pair.frames, images, strict=True):
        np.testing.assert_array_equal(image, mean_subtraction(binomial_blur(frame.image)))


def test_both_images_of_a_pair_get_their_own_frames():
    first, second = frames_of_costs(["left_right_check"], shifted_images())
    assert (first[1], second[1]) == (1, -1)
    assert second[2] == [1 - baseline for baseline in first[2]]
    for image, other_image in zip(first[3], second[3], strict=True):
        np.testing.assert_array_equal(image, other_image)


def test_smaller_pairs_have_smaller_frames():
    pair = shifted_images()
    for scheme in (step("coarse", reduction=2), step("pyramid", octaves=2)):
        calls = frames_of_costs([scheme], pair)
        smaller = pair.reduced(2)
        assert calls[0][0] == smaller.shape
        for frame, image in zip(smaller.frames, calls[0][3], strict=True):
            np.testing.assert_array_equal(image, frame.image)


def test_corrections_of_both_images_are_refused():
    method = ["row_alignment", "multi_baseline", "winner_take_all"]
    auxiliary = {"first": Pipeline(["census", "winner_take_all"])}
    with pytest.raises(ParameterError, match="row_alignment corrects the two images of a pair"):
        Pipeline(method, auxiliary)
    Pipeline(["row_alignment", "census", "winner_take_all"], auxiliary)


def test_auxiliary_methods_get_the_frames():
    pair = shifted_images()
    auxiliary = {"first": Pipeline(["multi_baseline", "winner_take_all"])}
    method = Pipeline(["multi_baseline", "winner_take_all"])
    collected = {}

    @stage("refinement", source="Author 2000")
    def keep_map(disparity, auxiliary):
        collected.update(auxiliary)
        return disparity

    Pipeline([*method.steps, keep_map], auxiliary)(pair)
    np.testing.assert_array_equal(collected["first"].disparity, method(pair).disparity)


def test_identities_of_pairs_contain_the_frames_that_auxiliary_methods_read():
    pair = shifted_images()
    other = replace(pair, frames=pair.frames[:1])
    plain = Pipeline(["census", "winner_take_all"])
    auxiliary = {"first": Pipeline(["multi_baseline", "winner_take_all"])}
    method = Pipeline(["census", "winner_take_all"], auxiliary)
    assert _content_key(method, pair) != _content_key(method, other)
    assert _content_key(plain, pair) == _content_key(plain, other)


@pytest.mark.compiled
@pytest.mark.parametrize("preprocessing", [[], ["binomial_blur"]])
@pytest.mark.parametrize("selection", ["all", "best_half"])
def test_estimates_of_memory_contain_the_frames(preprocessing, selection):
    shape = 320, 300
    search = SearchRange(0, 31)
    image = np.random.default_rng(3).integers(0, 256, shape).astype(np.uint8)
    cost = step("multi_baseline", selection=selection)
    method = Pipeline([*preprocessing, cost, step("box", size=9), "winner_take_all"])
    baselines = (-0.5, -0.25, 0.25, 0.5, 0.75, 1.25, 1.5, 2)
    frames = tuple(OtherFrame(image.copy, baseline) for baseline in baselines)
    pair = Pair(image, image, search, frames=frames)
    method(pair.rows(0, 40))  # The kernels are compiled before the measurement.

    tracemalloc.start()
    try:
        method(pair)
        _, used_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    size_of_frames = FramesInMemory.of(len(frames), image)
    estimated_bytes = peak_memory([method], shape, search, frames=size_of_frames).size
    assert used_bytes <= estimated_bytes <= 1.4 * used_bytes

    # Each frame has its uint8 image, a float32 image for each preprocessing stage, and
    # costs of 32 rows. The selection copies these costs.
    pixels = 320 * 300
    bytes_of_images = 8 * pixels * (1 + 4 * len(preprocessing))
    copies = 2 if selection == "best_half" else 1
    bytes_of_costs = 8 * copies * 32 * 300 * 32 * 4
    bytes_of_two_images = peak_memory([method], shape, search).size
    assert estimated_bytes == bytes_of_two_images + bytes_of_images + bytes_of_costs


def test_estimates_of_memory_contain_only_frames_that_a_stage_reads():
    plain = Pipeline(["census", step("cross_scale", inner="box"), "winner_take_all"])
    auxiliary = {"first": Pipeline(["multi_baseline", "winner_take_all"])}
    arguments = (100, 50), SearchRange(0, 15)
    frames = FramesInMemory(number=8, bytes_of_pixel=3, channels=3)
    assert (
        peak_memory([plain], *arguments, frames=frames).size
        == peak_memory([plain], *arguments).size
    )
    method = Pipeline(plain.steps, auxiliary)
    expected = peak_memory([method], *arguments).size + 8 * 100 * 50 * 3
    assert peak_memory([method], *arguments, frames=frames).size >= expected


SCHEME_METHOD = ["multi_baseline", step("box", size=5), "winner_take_all"]


@pytest.fixture(scope="module")
def venus(data):
    """Return a pair that shows a part of the scene Venus, which has nine images."""
    scene = load_scene("middlebury2001/venus", data=data)
    pair = Pair.of(scene)
    window = slice(100, 180), slice(60, 260)

    def cut(image):
        return np.ascontiguousarray(image[window])

    frames = tuple(frame.with_image(cut) for frame in pair.frames)
    return replace(
        pair, reference=cut(pair.reference), match=cut(pair.match), frames=frames, scene=None
    )


def with_direction(pair, direction):
    return pair if direction > 0 else pair.exchanged()


@pytest.mark.parametrize("direction", [1, -1])
def test_tiles_give_the_same_map_as_the_whole_image(venus, direction):
    pair = with_direction(venus, direction)
    whole = Pipeline(SCHEME_METHOD)(pair)
    tiles = step("tiles", tile_size=50, overlap=8, reduction=1)
    tiled = Pipeline([*SCHEME_METHOD, tiles])(pair)
    np.testing.assert_array_equal(tiled.disparity, whole.disparity)
    np.testing.assert_array_equal(tiled.status, whole.status)


@pytest.mark.parametrize("direction", [1, -1])
def test_a_coarse_map_equals_the_enlarged_map_of_a_smaller_pair(venus, direction):
    pair = with_direction(venus, direction)
    estimate = Pipeline([*SCHEME_METHOD, step("coarse", reduction=2)])(pair)
    smaller = Pipeline(SCHEME_METHOD)(pair.reduced(2))
    enlarged = 2 * smaller.disparity.repeat(2, axis=0).repeat(2, axis=1)
    enlarged = enlarged[: pair.shape[0], : pair.shape[1]]
    is_matched = estimate.status == Status.MATCHED
    assert is_matched.mean() > 0.9
    np.testing.assert_array_equal(estimate.disparity[is_matched], enlarged[is_matched])


@pytest.mark.parametrize("direction", [1, -1])
def test_a_pyramid_with_a_wide_margin_gives_the_map_of_the_whole_range(venus, direction):
    pair = with_direction(venus, direction)
    pyramid = step("pyramid", octaves=2, margin=100)
    estimate = Pipeline([*SCHEME_METHOD, pyramid])(pair)
    # With this margin, the full search range of each pixel is searched at full size.
    np.testing.assert_array_equal(estimate.disparity, Pipeline(SCHEME_METHOD)(pair).disparity)


def test_a_mirrored_pair_has_the_mirrored_map(venus):
    def turned(image):
        return np.ascontiguousarray(image[:, ::-1])

    mirrored = replace(
        venus,
        reference=turned(venus.reference),
        match=turned(venus.match),
        search=replace(venus.search, direction=-1),
        frames=tuple(frame.with_image(turned) for frame in venus.frames),
    )
    method = Pipeline(["multi_baseline", step("box", size=5), "winner_take_all"])
    costs = method.estimate(venus, keep_volume=True).volume.costs
    mirrored_costs = method.estimate(mirrored, keep_volume=True).volume.costs
    np.testing.assert_allclose(mirrored_costs[:, ::-1], costs, rtol=1e-4, atol=1e-2)


def test_strips_give_the_same_map(venus):
    from pipeline_parts import in_strips

    method = Pipeline([*SCHEME_METHOD, "left_right_check"])
    whole = method(venus)
    strips = in_strips(16, method, venus)
    np.testing.assert_array_equal(strips.disparity, whole.disparity)
    np.testing.assert_array_equal(strips.status, whole.status)


def test_semi_global_matching_and_a_parabola_follow(venus):
    method = Pipeline(["multi_baseline", "semi_global", "parabola", "left_right_check"])
    [(_, estimate)] = PipelineRunner([method], venus)
    assert np.isfinite(estimate.disparity).mean() > 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("name", "largest"), [("venus", 16.7), ("sawtooth", 6.2)])
def test_nine_images_have_fewer_errors_than_two(data, name, largest):
    from stereo_framework import evaluate

    scene = load_scene(f"middlebury2001/{name}", data=data)
    two = Pipeline(["absolute_difference", step("box", size=5), "winner_take_all"])(scene)
    cost = step("multi_baseline", max_cost=20)
    nine = Pipeline([cost, step("box", size=5), "winner_take_all"])(scene)
    assert evaluate(nine.disparity, scene)["bad_pixels_all"] <= largest
    assert evaluate(two.disparity, scene)["bad_pixels_all"] > largest
