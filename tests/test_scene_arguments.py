"""Optional arguments of scenes and pairs, and other pairs of the frames of a scene."""

import itertools

import numpy as np
import pytest

from stereo_framework import SearchRange, step
from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.file_damage import report_damage
from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import Frame, Scene, inside_border, intensity_scale_warning

SHAPE = (3, 4)
IMAGES = np.random.default_rng(0).integers(0, 256, (2, *SHAPE), np.uint8)
HOLES = np.arange(12).reshape(SHAPE) != 5
LOW = np.full(SHAPE, 1, np.float32)
HIGH = np.full(SHAPE, 2, np.float32)
ARGUMENTS = {
    "disparities": (0, 3),
    "name": "mine",
    "truth": LOW,
    "left_mask": HOLES,
    "right_mask": ~HOLES,
    "low": LOW,
    "high": HIGH,
}
CHOICES = [names for count in (0, 1, 2) for names in itertools.combinations(ARGUMENTS, count)] + [
    tuple(ARGUMENTS)
]


def assert_argument(array, name, names):
    """Check an array of a scene or a pair with only the named arguments.

    If only one end of the ranges was passed, the other end is unknown at all pixels.
    """
    if name in names:
        np.testing.assert_array_equal(array, ARGUMENTS[name])
    elif name in ("low", "high") and {"low", "high"} & set(names):
        assert np.isnan(array).all()
    else:
        assert array is None


@pytest.mark.parametrize("names", CHOICES, ids="+".join)
def test_each_argument_of_a_scene_from_images_has_its_effect_with_each_other_argument(names):
    scene = Scene.from_images(*IMAGES, **{name: ARGUMENTS[name] for name in names})
    assert scene.name == ("mine" if "name" in names else "images")
    assert scene.search == (SearchRange(0, 3) if "disparities" in names else None)
    expected = {
        "truth": scene.truth,
        "left_mask": scene.valid(0),
        "right_mask": scene.valid(1),
        "low": scene.range(0, 1)[0],
        "high": scene.range(0, 1)[1],
    }
    for name, array in expected.items():
        assert_argument(array, name, names)
    assert scene.range(1, 0) == (None, None)
    assert scene.match_truth is None


@pytest.mark.parametrize("names", CHOICES, ids="+".join)
def test_each_argument_of_a_scene_reaches_the_mask_of_its_pair(names):
    arguments = {name: ARGUMENTS[name] for name in names}
    pair = Pair.of(Scene.from_images(*IMAGES, **arguments), SearchRange(0, 2))
    assert pair.search == SearchRange(0, 2)
    maps = {"valid": "left_mask", "match_valid": "right_mask", "low": "low", "high": "high"}
    if not set(maps.values()) & set(names):
        assert pair.mask is None
        return
    for field, name in maps.items():
        assert_argument(getattr(pair.mask, field), name, names)
    assert pair.mask.match_low is None
    assert pair.mask.match_high is None


@pytest.mark.parametrize(
    ("largest", "has_warning"),
    [(0.0, False), (0.004, True), (0.5, True), (1.0, True), (1.004, False), (255.0, False)],
)
def test_float_intensities_up_to_exactly_one_give_a_warning(largest, has_warning):
    image = np.zeros(SHAPE, np.float32)
    image[1, 1] = largest
    expected = (
        f"intensities up to {largest:.3g}, where 0 to 255 are expected; multiply the images by "
        "255, or use match --stretch; otherwise parameters in grey levels are too large"
    )
    assert intensity_scale_warning(image) == (expected if has_warning else "")


def test_intensities_of_uint8_give_no_warning():
    assert intensity_scale_warning(np.ones(SHAPE, np.uint8)) == ""


@pytest.mark.parametrize(
    ("border", "rows", "columns"),
    [
        (0, range(5), range(7)),
        (1, range(1, 4), range(1, 6)),
        (2, range(2, 3), range(2, 5)),
        (3, range(0), range(0)),
        (5, range(0), range(0)),
        (9, range(0), range(0)),
    ],
)
def test_pixels_inside_a_border_have_at_least_its_distance_from_all_sides(border, rows, columns):
    expected = np.zeros((5, 7), bool)
    for y, x in itertools.product(rows, columns):
        expected[y, x] = True
    np.testing.assert_array_equal(inside_border((5, 7), border), expected)


def damaged_frame(number):
    """Return a frame whose file is read with a message about damage."""

    def load():
        report_damage(f"file {number} is cut off")
        return np.full(SHAPE, number, np.uint8)

    return Frame(f"frame{number}", load, number)


def sequence(**fields):
    """Return a scene of four damaged frames."""
    frames = tuple(damaged_frame(number) for number in range(4))
    return Scene("made", frames, search=SearchRange(0, 13), **fields)


def test_damage_is_reported_for_the_two_loaded_images_of_the_pair():
    scene = sequence()
    assert scene.damage == ()
    assert scene.reference[0, 0] == 0
    assert scene.damage == ("file 0 is cut off",)
    assert scene.match[0, 0] == 1
    assert scene.damage == ("file 0 is cut off", "file 1 is cut off")
    turned = scene.pair(1, 0)
    assert turned.damage == ("file 1 is cut off", "file 0 is cut off")
    assert scene.pair(0, 2).damage == ("file 0 is cut off",)
    assert scene.within(np.ones(SHAPE, bool)).damage == scene.damage


@pytest.mark.parametrize(
    ("frames", "search", "expected"),
    [
        ((0, 1), [], (0, 13)),
        ((0, 2), [], (0, 26)),
        ((1, 3), [], (0, 26)),
        ((3, 2), [], (0, 13, 1, -1)),
        ((3, 0), [], (0, 39, 1, -1)),
        ((0, 2), [SearchRange(0, 5)], (0, 5)),
        ((2, 0), [SearchRange(0, 5)], (0, 5, 1, -1)),
        ((0, 1), [SearchRange(0, 5)], (0, 5)),
    ],
)
def test_the_range_of_another_pair_is_passed_or_scaled_by_the_distance_of_its_frames(
    frames, search, expected
):
    scene = sequence()
    assert scene.pair(*frames, *search).search == SearchRange(*expected)


def test_the_range_of_a_pair_with_a_shorter_baseline_is_widened_to_whole_pixels():
    frames = tuple(damaged_frame(number) for number in range(3))
    scene = Scene("made", frames, match_index=2, search=SearchRange(-3, 13))
    assert scene.pair(0, 1).search == SearchRange(-2, 7)
    assert scene.pair(1, 0).search == SearchRange(-2, 7, 1, -1)


def test_released_data_of_a_scene_are_loaded_again():
    values = {"count": 0}

    def load(shape=SHAPE, dtype=np.uint8):
        values["count"] += 1
        return np.full(shape, values["count"], dtype)

    frames = (Frame("left", load, 0), Frame("right", load, 1))
    truths = {
        (0, 1): lambda: load(dtype=np.float32),
        (1, 0): lambda: load(dtype=np.float32),
    }
    scene = Scene("made", frames, truths=truths)
    parts = ("reference", "match", "truth", "match_truth")
    first = [float(getattr(scene, name)[0, 0]) for name in parts]
    assert [float(getattr(scene, name)[0, 0]) for name in parts] == first == [1, 2, 3, 4]
    scene.forget()
    assert [float(getattr(scene, name)[0, 0]) for name in parts] == [5, 6, 7, 8]


def test_the_exchanged_pair_has_another_scene_name():
    pair = Pair.of(sequence())
    assert pair.scene.name == "made"
    turned = pair.exchanged()
    assert turned.scene.name == "made (other view)"
    assert (turned.scene.reference_index, turned.scene.match_index) == (1, 0)
    assert turned.search == SearchRange(0, 13, 1, -1)
    assert turned.scene.search == turned.search
    assert pair.rows(1, 2).scene is None


@pytest.mark.parametrize(
    ("search", "reduction", "step", "expected"),
    [
        (SearchRange(2, 2.5, 0.5), 4, None, (0.5, 1, 0.5)),
        (SearchRange(2, 2.5, 0.5), 4, 0.25, (0.5, 0.75, 0.25)),
        (SearchRange(3, 4), 8, 1 / 3, (1 / 3, 2 / 3, 1 / 3)),
        (SearchRange(0, 2, 2), 4, None, (0, 2, 2)),
        (SearchRange(0, 1), 1, 0.25, (0, 1, 0.25)),
    ],
)
def test_a_narrow_range_is_a_single_step_of_the_smaller_pair(search, reduction, step, expected):
    pair = Pair(*IMAGES, search)
    smaller = pair.reduced(reduction) if step is None else pair.reduced(reduction, step)
    actual = smaller.search
    assert (actual.minimum, actual.step) == (expected[0], expected[2])
    assert actual.maximum == pytest.approx(expected[1], abs=1e-12)


@pytest.mark.parametrize(("low", "is_allowed"), [(1.999, True), (2, True), (2.001, False)])
def test_the_smallest_disparity_of_a_pixel_may_equal_its_largest(low, is_allowed):
    lowest = LOW.copy()
    lowest[1, 2] = low
    scene = Scene.from_images(*IMAGES, (0, 3), low=lowest, high=HIGH)
    if is_allowed:
        np.testing.assert_array_equal(scene.range(0, 1), [lowest, HIGH])
    else:
        message = r"the smallest disparity at row 1, column 2 is 2.001, above the largest, 2"
        with pytest.raises(DataError, match=message):
            scene.range(0, 1)


@pytest.mark.parametrize(("size", "is_allowed"), [(65_536, True), (65_537, False)])
def test_a_window_is_at_most_as_wide_as_the_widest_image(size, is_allowed):
    if is_allowed:
        assert step("box", size=size).parameters["size"] == size
    else:
        message = "65537 pixels are more than any image has in a row; allowed: up to 65536"
        with pytest.raises(ParameterError, match=message):
            step("box", size=size)


@pytest.mark.parametrize(
    ("columns", "rows", "is_allowed"),
    [(10, 10, True), (20, 5, True), (101, 1, False), (11, 10, False)],
)
def test_an_image_of_exactly_the_allowed_pixels_is_read(monkeypatch, columns, rows, is_allowed):
    monkeypatch.setenv(limits.VARIABLE, "100")
    if is_allowed:
        limits.check_pixels(columns, rows, "a.png")
    else:
        start = rf"^a.png: the file has {columns}x{rows} pixels; at most 100 are read"
        with pytest.raises(DataError, match=start):
            limits.check_pixels(columns, rows, "a.png")
