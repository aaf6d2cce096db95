"""Search ranges and scenes: levels, directions, loading, and messages about faults."""

import numpy as np
import pytest

from stereo_framework import Scene, SearchRange
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import Frame


def image(value=0, shape=(2, 3), dtype=np.uint8):
    return np.full(shape, value, dtype)


def frame(position, load=image):
    return Frame(f"im{position}.png", load, position)


def scene_of_frames(*positions, loaders=(), **fields):
    """Return a scene "made" with a frame at each position."""
    loaders = loaders or [image] * len(positions)
    return Scene("made", tuple(map(frame, positions, loaders)), **fields)


# --- SearchRange ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "disparities"),
    [
        ((0, 3), [0, 1, 2, 3]),
        ((-2, 0), [-2, -1, 0]),
        ((0, 5, 2), [0, 2, 4]),
        ((0, 6, 3), [0, 3, 6]),
        ((-0.5, 0.5, 0.5), [-0.5, 0, 0.5]),
        ((0, 1, 0.25), [0, 0.25, 0.5, 0.75, 1]),
        ((0, 1, 1 / 3), [0, 1 / 3, 2 / 3, 1]),
        ((0, 0.3, 0.1), [0, 0.1, 0.2, 0.3]),
        ((1.5, 2.9, 0.5), [1.5, 2, 2.5]),
    ],
)
def test_levels_are_the_disparities_from_minimum_to_maximum(arguments, disparities):
    search = SearchRange(*arguments)
    assert search.levels == len(disparities)
    assert search.disparities.dtype == np.float32
    np.testing.assert_allclose(search.disparities, disparities, atol=1e-7)


@pytest.mark.parametrize(
    ("step", "snapped", "denominator", "stride"),
    [
        (1, 1, 1, 1),
        (1.0009, 1, 1, 1),
        (0.9995, 1, 1, 1),
        (2.9995, 3, 1, 3),
        (0.5, 1 / 2, 2, 1),
        (0.333, 1 / 3, 3, 1),
        (0.2502, 1 / 4, 4, 1),
        (0.001, 1 / 1000, 1000, 1),
        (0.0005, 1 / 2000, 2000, 1),
    ],
)
def test_a_step_is_rounded_to_n_or_its_inverse(step, snapped, denominator, stride):
    search = SearchRange(0, 8, step)
    assert (search.step, search.denominator, search.stride) == (snapped, denominator, stride)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # x_match = x - d for levels 0, 1, 2 and columns 0..3.
        ((0, 2), ["x..", "xx.", "xxx", "xxx"]),
        # x_match = x + d.
        ((0, 2, 1, -1), ["xxx", "xxx", "xx.", "x.."]),
        # Levels -2, 0, 2.
        ((-2, 2, 2), ["xx.", "xx.", ".xx", ".xx"]),
        # Levels -1/2, 0, 1/2: positions between the outermost pixels lie inside the
        # image.
        ((-0.5, 0.5, 0.5), ["xx.", "xxx", "xxx", ".xx"]),
        ((-0.5, 0.5, 0.5, -1), [".xx", "xxx", "xxx", "xx."]),
        ((9, 10), ["..", "..", "..", ".."]),
    ],
)
def test_levels_whose_match_lies_inside_the_image_are_in_view(arguments, expected):
    in_view = SearchRange(*arguments).in_view(4)
    rows = ["".join(np.where(levels, "x", ".")) for levels in in_view]
    assert rows == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (0.5, 4),
            "0.5 is not a whole number of pixels, as a step of 1 needs; "
            "use 0 or 1, or a step of which 0.5 is a multiple",
        ),
        (
            (-2.5, 4, 2),
            "-2.5 is not a whole number of pixels, as a step of 2 needs; use -3 or -2, or a step",
        ),
        (
            (5.25, 9, 0.5),
            "5.25 is not a multiple of 1/2 pixel, as a step of 0.5 needs; use 5 or 5.5, or a step",
        ),
    ],
)
def test_a_minimum_off_the_grid_is_refused(arguments, message):
    with pytest.raises(ParameterError, match=f"^search.minimum: {message}"):
        SearchRange(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 3), r"search.maximum: 3 is not above search.minimum, 3"),
        ((0, -16), r"search.maximum: -16 is not above search.minimum, 0"),
        (("0", 3), r"search.minimum: '0' is not a finite number"),
        ((0, True), r"search.maximum: True is not a finite number"),
        ((0, None), r"search.maximum: None is not a finite number"),
        ((0, float("inf")), r"search.maximum: inf is not a finite number"),
        ((0, float("nan")), r"search.maximum: nan is not a finite number"),
        ((0, 3, "1"), r"search.step: '1' is not a finite number"),
        ((0, 3, 0), r"search.step: 0 is not above 0"),
        ((0, 3, -1), r"search.step: -1 is not above 0"),
        ((0, 3, 1.5), r"search.step: 1.5 is neither a whole number of pixels nor 1/N of one"),
        ((0, 3, 1e-310), r"search.step: 1e-310 is neither a whole number of pixels nor 1/N of one"),
        ((0, 3, 0.4), r"search.step: 0.4 is neither"),
        ((0, 3, 0.2507), r"search.step: 0.2507 is neither"),
        ((0, 3, 4), r"search.step: 4 leaves one level between 0 and 3; at least two are needed"),
        ((0, 40000), r"search: 40001 levels; at most 32767 are possible"),
        ((0, 3, 1, 0), r"search.direction: 0 is neither 1 nor -1"),
        ((0, 3, 1, "left"), r"search.direction: 'left' is neither 1 nor -1"),
    ],
)
def test_search_ranges_that_are_not_possible_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        SearchRange(*arguments)


# --- Scene ----------------------------------------------------------------------------


def test_images_and_truth_are_loaded_once_when_they_are_used_first():
    loads = []

    def loader(name, array):
        return lambda: loads.append(name) or array

    made = scene_of_frames(
        0,
        1,
        loaders=[loader("left", image(1)), loader("right", image(2))],
        truths={(0, 1): loader("truth", np.ones((2, 3), np.float32))},
        masks={"nonocc": loader("mask", np.ones((2, 3), bool))},
    )
    assert loads == []
    assert made.match.max() == 2
    assert made.reference.max() == 1
    assert made.match.max() == 2
    assert made.truth.max() == 1
    assert made.truth.max() == 1
    assert loads == ["right", "left", "truth"]
    assert made.mask("nonocc").all()


def test_arrays_of_a_scene_are_read_only_and_arrays_of_loaders_stay_writable():
    original, truth = image(), np.zeros((2, 3), np.float32)
    made = scene_of_frames(
        0, 1, loaders=[lambda: original, lambda: original], truths={(0, 1): lambda: truth}
    )
    for array in (made.reference, made.match, made.image(1), made.truth):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
    original[0, 0] = truth[0, 0] = 1


@pytest.mark.parametrize(("positions", "direction"), [((0, 1), 1), ((4, 1.5), -1)])
def test_the_direction_of_a_scene_is_that_of_its_frames(positions, direction):
    made = scene_of_frames(*positions, search=SearchRange(0, 4, 1, -direction))
    assert made.direction == made.search.direction == direction


@pytest.mark.parametrize(
    ("positions", "fields", "message"),
    [
        ((0, 1), {"match_index": 2}, r"scene made: match_index 2 is not one of its frames 0..1"),
        (
            (0, 1),
            {"reference_index": -1},
            r"scene made: reference_index -1 is not one of its frames 0..1",
        ),
        ((0,), {}, r"scene made: match_index 1 is not one of its frames 0..0"),
        ((2, 2), {}, "scene made: reference frame 0 and match frame 1 have the same position"),
        ((0, 1), {"match_index": 0}, "reference frame 0 and match frame 0 have the same position"),
    ],
)
def test_frame_pairs_that_are_not_possible_are_refused(positions, fields, message):
    with pytest.raises(DataError, match=message):
        scene_of_frames(*positions, **fields)


@pytest.mark.parametrize(
    ("match", "message"),
    [
        (
            image(shape=(2, 3, 4)),
            r"scene made: im1.png has shape \(2, 3, 4\); expected \(rows, columns\[, 3\]\)",
        ),
        (image(shape=(6,)), r"has shape \(6,\)"),
        (image(shape=(0, 3)), r"has shape \(0, 3\)"),
        (image(dtype=np.int16), "im1.png is int16; expected uint8 or float32"),
        (image(dtype=bool), "im1.png is bool"),
        (
            image(np.inf, dtype=np.float32),
            "im1.png contains infinite intensities; NaN marks pixels without data",
        ),
        (image(np.nan, dtype=np.float32), "im1.png has no valid pixel"),
        (
            image(shape=(3, 2)),
            r"im0.png is 3x2 and im1.png is 2x3; both images must have the same size",
        ),
        (image(shape=(2, 3, 3)), r"im0.png is 3x2 and im1.png is 3x2 in colour; both"),
    ],
)
def test_match_images_of_another_form_are_refused(match, message):
    made = scene_of_frames(0, 1, loaders=[image, lambda: match])
    with pytest.raises(DataError, match=message):
        _ = made.match


@pytest.mark.parametrize("kind", ["<u2", ">u2", "f2", "f8", ">f4"])
def test_images_of_16_bits_and_of_floats_become_float32(kind):
    levels = np.arange(6, dtype=np.float32).reshape(2, 3)
    scale = 257 if "u" in kind else 1
    stored = (levels * scale).astype(kind)
    scene = scene_of_frames(0, 1, loaders=[lambda: stored] * 2)
    for made in (scene, Pair(stored, stored, (0, 1))):
        assert made.reference.dtype == made.match.dtype == np.float32
        np.testing.assert_array_equal(made.reference, levels)


def test_ground_truth_belongs_to_its_pair_of_frames():
    def constant(value):
        return lambda: np.full((2, 3), value, np.float32)

    made = scene_of_frames(
        0, 1, 2, truths={(0, 1): constant(1), (1, 0): constant(2), (0, 2): constant(3)}
    )
    assert (made.truth.max(), made.match_truth.max()) == (1, 2)
    exchanged = made.pair(1, 0)
    assert (exchanged.truth.max(), exchanged.match_truth.max()) == (2, 1)
    wider = made.pair(0, 2)
    assert wider.truth.max() == 3
    assert wider.match_truth is None
    assert made.pair(1, 2).truth is None


def test_some_but_not_all_of_the_ground_truth_may_be_unknown():
    truth = np.array([[np.nan, 1, 2], [np.nan] * 3], np.float32)
    assert np.isnan(scene_of_frames(0, 1, truths={(0, 1): lambda: truth}).truth).sum() == 4
    with pytest.raises(
        DataError, match=r"scene made: truth of im0.png contains no known disparity"
    ):
        _ = scene_of_frames(0, 1, truths={(0, 1): lambda: truth * np.float32(np.nan)}).truth


def test_ground_truth_and_masks_of_another_size_than_the_images_are_refused():
    made = scene_of_frames(
        0,
        1,
        truths={
            (0, 1): lambda: np.zeros((3, 2), np.float32),
            (1, 0): lambda: np.zeros((2, 3, 1), np.float32),
        },
        masks={"nonocc": lambda: np.ones((2, 2), bool)},
    )
    with pytest.raises(
        DataError, match=r"scene made: truth of im0.png is 2x3, but the images are 3x2"
    ):
        _ = made.truth
    with pytest.raises(DataError, match=r"truth of im1.png is 3x2"):
        _ = made.match_truth
    with pytest.raises(DataError, match=r"scene made: mask nonocc is 2x2, but the images are 3x2"):
        made.mask("nonocc")


def test_a_message_about_an_unknown_mask_lists_the_masks_of_the_scene():
    with pytest.raises(DataError, match=r"scene made: no mask 'nonocc'; it has none"):
        scene_of_frames(0, 1).mask("nonocc")
    with pytest.raises(DataError, match=r"no mask 'nonocc'; it has all, disc"):
        scene_of_frames(0, 1, masks={"disc": image, "all": image}).mask("nonocc")


def test_another_pair_has_a_scaled_search_range_and_no_masks():
    made = scene_of_frames(0, 1, 4, search=SearchRange(-1, 3), masks={"nonocc": image}, border=7)
    exchanged = made.pair(1, 0)
    assert exchanged.search == SearchRange(-1, 3, 1, -1)
    assert (exchanged.masks, exchanged.border) == ({}, 7)
    assert "nonocc" in made.pair(0, 1).masks
    assert scene_of_frames(0, 1, search=SearchRange(-0.5, 1.5, 0.5)).pair(
        1, 0
    ).search == SearchRange(-0.5, 1.5, 0.5, -1)
    # The frames are four times and three times as far apart.
    assert made.pair(0, 2).search == SearchRange(-4, 12)
    assert made.pair(2, 1).search == SearchRange(-3, 9, 1, -1)
    assert made.pair(0, 2).pair(0, 1).search == SearchRange(-1, 3)
    assert made.pair(2, 1, SearchRange(0, 5)).search == SearchRange(0, 5, 1, -1)
    assert scene_of_frames(0, 1).pair(1, 0).search is None


# --- pixels without data --------------------------------------------------------------


def test_pixels_without_data_are_filled_from_their_rows():
    left = np.array([[1, np.nan, np.nan, 4], [np.nan] * 4, [9, 9, np.nan, 7]], np.float32)
    mask = np.array([[1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]], bool)
    low, high = np.zeros((3, 4), np.float32), np.full((3, 4), 2, np.float32)
    made = Scene.from_images(
        left, np.ones_like(left), (0, 3), left_mask=mask, low=low, high=high, truth=low
    )
    # A pixel without data gets the intensity of the nearest pixel in its row, of the
    # left one if two are equally near. A row without data is black.
    np.testing.assert_array_equal(made.reference, [[1, 1, 4, 4], [0] * 4, [9, 9, 9, 7]])
    np.testing.assert_array_equal(made.valid(0), [[1, 0, 0, 1], [0] * 4, [0, 1, 0, 1]])
    assert made.valid(1) is None
    assert made.search == SearchRange(0, 3)
    np.testing.assert_array_equal(made.range(0, 1), [low, high])
    np.testing.assert_array_equal(made.truth, low)
    assert np.isnan(left[0, 1]), "the caller's image was changed"
    # A colour with NaN in one channel contains no data.
    colour = np.ones((2, 3, 3), np.float32)
    colour[1, 2, 0] = np.nan
    np.testing.assert_array_equal(
        Scene.from_images(colour, colour).valid(1), [[1, 1, 1], [1, 1, 0]]
    )
    exchanged = made.pair(1, 0)
    np.testing.assert_array_equal(exchanged.valid(exchanged.match_index), made.valid(0))


def test_paths_in_place_of_images_are_refused():
    message = (
        "^Scene.from_images: left is 'left.png'; "
        "expected an image as an array; stereo_framework.datasets.pair_scene"
    )
    with pytest.raises(ParameterError, match=message):
        Scene.from_images("left.png", image())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"left_mask": np.ones((2, 3))},
            r"the mask of left is float64 \(2, 3\); expected bool \(2, 3\)",
        ),
        ({"right_mask": np.zeros((2, 3), bool)}, "right has no valid pixel"),
        ({"low": np.zeros((2, 3))}, "the map of smallest disparities is float64; expected float32"),
        (
            {"high": np.zeros((3, 3), np.float32)},
            "the map of .* disparities is 3x3, but the images are 3x2",
        ),
    ],
)
def test_masks_and_limits_that_do_not_fit_the_images_are_refused(arguments, message):
    scene = Scene.from_images(image(), image(), (0, 1), **arguments)
    with pytest.raises(DataError, match=message):
        Pair.of(scene)
