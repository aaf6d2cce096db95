"""Arguments of public functions: any argument gives a result or a message of one line.

No argument raises an exception that does not belong to this package.
"""

import inspect
import pickle
import re
import warnings

import cv2
import numpy as np
import pytest
from nonsense import CALLS, COLUMNS, LEFT, MAP, MASK, NONSENSE, RIGHT, ROWS

import stereo_framework as sf
from stereo_framework import io
from stereo_framework.core.errors import DataError, ParameterError, ResultWarning
from stereo_framework.core.step import describe_stage_error
from stereo_framework.matching_cost import census
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import median


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the files in the arguments of `CALLS`."""
    path = tmp_path_factory.mktemp("arguments")
    cv2.imwrite(str(path / "left.png"), LEFT)
    cv2.imwrite(str(path / "right.png"), RIGHT)
    cv2.imwrite(str(path / "mask.png"), MASK.astype(np.uint8) * 255)
    io.write_pfm(path / "map.pfm", MAP)
    return path


PATHS = {"path", "folder", "out", "data", "results", "parts"}
"""Arguments that are paths, which may contain a line break that the message repeats."""


def _failure(call, arguments):
    """Return a description of the failure of a call; empty if it does not fail.

    A call does not fail if it returns, or if it refuses its arguments by lines that
    begin with a place.
    """
    try:
        call(**arguments)
    except sf.StereoFrameworkError as error:
        # An error about several parts of an argument has a line for each of them.
        lines = str(error).split("\n")
        has_place = all(PLACE.match(line) for line in lines)
        return "" if len(lines) == 1 or has_place else f"several lines: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


PLACE = re.compile(r"[\w.\[\]]+: ")


@pytest.mark.parametrize("name", CALLS)
def test_any_argument_gives_a_result_or_a_message_of_one_line(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    call, arguments = CALLS[name]
    failures = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for argument in arguments:
            for kind, make in NONSENSE.items():
                if kind == "text of two lines" and argument in PATHS:
                    continue
                failure = _failure(call, arguments | {argument: make()})
                if failure:
                    failures.append(f"{argument}={kind}: {failure[:300]}")
    assert not failures, "\n".join(failures)


class ArrayLike:
    """An object that converts to an array, like the objects of xarray and PyTorch."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._array, dtype)


class Unconvertible:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("on another device")


def test_objects_that_convert_to_arrays_are_accepted_in_place_of_arrays():
    left, right, disparity, mask = map(ArrayLike, (LEFT, RIGHT, MAP, MASK))
    volume = census(LEFT, RIGHT, (0, 3), width=3, height=3)
    np.testing.assert_array_equal(
        census(left, right, (0, 3), width=3, height=3).costs, volume.costs
    )
    np.testing.assert_array_equal(median(disparity, size=3), median(MAP, size=3))
    np.testing.assert_array_equal(
        winner_take_all(ArrayLike(volume.costs)).levels, winner_take_all(volume).levels
    )
    np.testing.assert_array_equal(sf.Pair(left, right, (0, 3)).match, RIGHT)
    scene = sf.Scene.from_images(
        left, right, (0, 3), truth=disparity, left_mask=mask, low=disparity, high=disparity
    )
    np.testing.assert_array_equal(scene.truth, MAP)
    assert sf.evaluate(disparity, scene, mask=mask) == sf.evaluate(MAP, scene, mask=MASK)
    assert sf.CostVolume(ArrayLike(volume.costs), sf.SearchRange(0, 3), 1.0).shape == LEFT.shape
    assert sf.match(left, right, (0, 3), method="sgbm").disparity.shape == LEFT.shape


def test_images_of_pillow_are_accepted():
    picture = pytest.importorskip("PIL.Image").fromarray(LEFT)
    np.testing.assert_array_equal(sf.Pair(picture, picture, (0, 3)).reference, LEFT)


def test_an_object_whose_conversion_fails_is_refused_with_the_cause():
    message = (
        "^evaluate: disparity is an Unconvertible, whose conversion to an array fails "
        ".RuntimeError: on another device.; expected an array"
    )
    with pytest.raises(ParameterError, match=message):
        sf.evaluate(Unconvertible(), MAP)


def test_masks_may_be_lists():
    inside = np.arange(MASK.size).reshape(MASK.shape) % 3 > 0
    estimate = MAP + RANDOM_ERRORS
    assert sf.evaluate(estimate, MAP, mask=inside.tolist()) == sf.evaluate(
        estimate, MAP, mask=inside
    )
    scene = sf.Scene.from_images(LEFT, RIGHT, (0, 3), left_mask=inside.tolist())
    np.testing.assert_array_equal(scene.valid(0), inside)


RANDOM_ERRORS = np.random.default_rng(1).random(MAP.shape).astype(np.float32)


def test_signed_integers_are_disparities_in_pixels(tmp_path):
    x = np.arange(COLUMNS) + np.zeros((ROWS, 1))
    truth = (2 + 0.3 * x).astype(np.float32)
    whole = np.rint(truth)
    expected = sf.evaluate(whole.astype(np.float32), truth)
    for dtype in (np.int16, np.int32, np.int64):
        assert sf.evaluate(whole.astype(dtype), truth) == expected
    np.save(tmp_path / "map.npy", whole.astype(np.int16))
    assert sf.evaluate(io.read_disparity(tmp_path / "map.npy"), truth) == expected
    with pytest.raises(
        DataError,
        match="contains whole numbers from 0 to 1099511627776; expected disparities in pixels",
    ):
        sf.evaluate(np.where(x > 0, 2**40, 0).astype(np.int64), truth)


def test_a_map_in_sixteenths_of_a_pixel_gives_a_warning_about_its_scale():
    x = np.arange(COLUMNS) + np.zeros((ROWS, 1))
    truth = (20 + 0.3 * x).astype(np.float32)
    with pytest.warns(ResultWarning, match="wrong scale: .* when divided by 16"):
        sf.evaluate(np.rint(truth * 16).astype(np.int16), truth)


def test_disparity_maps_and_ground_truth_in_grey_levels_are_refused():
    for arguments in ((MAP, MAP.astype(np.uint8)), (MAP.astype(np.uint8), MAP)):
        with pytest.raises(
            DataError,
            match="uint8.*; expected float32 .*divide whole numbers by their units per pixel",
        ):
            sf.evaluate(*arguments)


def test_a_message_about_levels_in_place_of_disparities_gives_the_conversion():
    message = r"median: disparity is int64 .*convert levels with SearchRange.disparity_of\(levels\)"
    with pytest.raises(DataError, match=message):
        median(MAP.astype(np.int64), size=3)


def test_an_optimizer_may_return_the_result_of_argmin(registry):
    @sf.stage("optimization", source="a test")
    def lowest(volume, smoothness=None):
        return volume.costs.argmin(axis=2)

    pair = sf.Pair(LEFT, RIGHT, (0, 3))
    expected = sf.Pipeline(["absolute_difference", "winner_take_all"])(pair)
    match = sf.Pipeline(["absolute_difference", lowest])(pair)
    assert match.levels.dtype == np.int16
    np.testing.assert_array_equal(match.disparity, expected.disparity)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: sf.run({}, workers="2"),
            "run: workers is '2'; expected a whole number >= 1 or None",
        ),
        (
            lambda: sf.run({}, memory="8G"),
            r"run: memory is '8G'; expected a whole number of bytes >= 1, such as 8 \* 2\*\*30",
        ),
        (
            lambda: sf.run({}, executor="process"),
            "run: executor is 'process'; expected an executor, such as a concurrent.futures",
        ),
        (lambda: sf.run({}, out=""), "run: out is '', an empty path; expected a path or None"),
        (lambda: sf.run({}, maps="yes"), "run: maps is 'yes'; expected True, False or None"),
        (
            lambda: sf.run({}, overrides=5),
            "run: overrides is 5; expected a text or a list of texts",
        ),
        (lambda: sf.run({}, overrides=["a=1", 5]), r"run: overrides\[1\] is 5; expected a text"),
        (
            lambda: sf.run({}, workers=True),
            "run: workers is True; expected a whole number >= 1 or None",
        ),
        (lambda: sf.threads(0), "threads: count is 0; expected a whole number >= 1"),
        (lambda: sf.reader(5, kind="image"), "reader: suffix is 5; expected a text"),
        (
            lambda: sf.SearchRange(0, 3).disparity_of([1]),
            r"SearchRange.disparity_of: levels is \[1\]; expected an array of",
        ),
        (
            lambda: sf.plot(5, "scene"),
            "plot: results is 5; expected the folder of a run, or what run returned",
        ),
        (
            lambda: sf.Pipeline(5),
            "Pipeline: steps is 5; expected a list of stages: names, functions, or step",
        ),
        (
            lambda: sf.Pair([[1]], RIGHT, (0, 3)),
            r"Pair: reference is \[\[1\]\]; expected an array of uint8 or float32",
        ),
        (lambda: sf.Scene("a", 5), "Scene: frames is 5; expected a tuple of Frames"),
        (
            lambda: sf.CostVolume([[1]], sf.SearchRange(0, 3), 1),
            r"CostVolume: costs is \[\[1\]\]; expected an array of float32",
        ),
        (
            lambda: sf.Smoothness([1], MAP, MAP),
            r"Smoothness: right is \[1\]; expected an array of float32",
        ),
        (
            lambda: sf.match(LEFT, RIGHT, memory=float("nan")),
            "match: memory is nan; expected a finite number > 0 or None",
        ),
    ],
)
def test_a_message_gives_the_argument_its_value_and_the_expected_kind(call, message):
    with pytest.raises(ParameterError, match=f"^{message}"):
        call()


def test_a_text_in_place_of_a_list_is_one_override_or_one_plugin(tmp_path):
    script = {"include": "window"}
    [step] = sf.load(script, overrides="aggregation.box.size=5").pipeline.in_slot("aggregation")
    assert step.parameters["size"] == 5
    with pytest.raises(sf.StereoFrameworkError, match="^--plugin: no file .*missing.py$"):
        sf.load(script, plugins=str(tmp_path / "missing.py"))


def test_a_stage_that_creates_a_wrong_cost_volume_is_named_with_its_line(registry):
    @sf.stage("matching_cost", source="a test")
    def faulty(reference, match, search):
        return sf.CostVolume([1], search, 1.0)

    with pytest.raises(ParameterError, match="CostVolume: costs is") as error:
        sf.Pipeline([faulty, "winner_take_all"])(sf.Pair(LEFT, RIGHT, (0, 3)))
    assert re.match(
        r".*test_arguments.py:\d+: matching_cost stage faulty: ArgumentError: CostVolume: costs is",
        describe_stage_error(error.value),
    )


def test_checked_functions_keep_name_signature_docstring_and_pickling():
    assert sf.evaluate.__name__ == "evaluate"
    assert list(inspect.signature(sf.evaluate).parameters)[:3] == ["disparity", "scene", "protocol"]
    assert sf.evaluate.__doc__.startswith("Measure a disparity map")
    assert list(inspect.signature(sf.CostVolume).parameters) == ["costs", "search", "outside_cost"]
    assert pickle.loads(pickle.dumps(sf.evaluate)) is sf.evaluate
