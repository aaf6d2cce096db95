"""Errors of stages, reported in a line that names the stage, its file and its line."""

from dataclasses import replace

import numpy as np
import pytest
from pipeline_parts import local, not_local, textured

from stereo_framework import Pipeline, StereoFrameworkError, step
from stereo_framework.core.errors import DataError
from stereo_framework.core.pair import Pair
from stereo_framework.core.plugins import load_plugin
from stereo_framework.core.registration import find, stage
from stereo_framework.core.step import describe_stage_error
from stereo_framework.core.view import BothSides
from stereo_framework.core.volume import SearchMask
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import median
from stereo_framework.scheme import pyramid


def error_of(method):
    """Return the exception that a method raises on a small scene."""
    try:
        method(textured())
    except Exception as error:
        return error
    raise AssertionError("the method has raised no exception")


def error_line(*stages):
    """Return the line that reports the error of a pipeline of these stages."""
    return describe_stage_error(error_of(Pipeline([*stages])))


# --- errors that a stage raises -------------------------------------------------------

PLUGIN = """
import numpy as np
from stereo_framework.core.errors import DataError
from stereo_framework.stages import stage


def joined(arrays):
    return np.concatenate(arrays)


@stage("refinement", source="a test")
def breaks(disparity, *, fault: str = ""):
    if fault == "error in NumPy":
        return joined([disparity, disparity[0]])
    if fault == "message of two lines":
        raise ValueError("one\\ntwo")
    if fault == "no message":
        raise KeyError
    if fault == "error of the package":
        raise DataError("no such thing")
    if fault == "out of memory":
        raise MemoryError("1 TiB")
    return 5
"""


@pytest.fixture
def plugin_path(tmp_path, registry):
    """Load the plug-in with the stage `breaks`, and return its path."""
    path = tmp_path / "broken.py"
    path.write_text(PLUGIN)
    load_plugin(str(path))
    return path


def line_number(code):
    """Return the number of the only line of the plug-in that contains this code."""
    [number] = [i for i, line in enumerate(PLUGIN.splitlines(), start=1) if code in line]
    return number


def method_with(fault):
    """Return a method whose second refinement is the stage `breaks` with this fault."""
    breaks = find("refinement", "breaks").function
    return Pipeline([absolute_difference, winner_take_all, median, step(breaks, fault=fault)])


@pytest.mark.parametrize(
    ("fault", "code", "description"),
    [
        (
            "error in NumPy",
            "np.concatenate(arrays)",
            "ValueError: all the input arrays must have same number of dimensions",
        ),
        ("message of two lines", "raise ValueError", "ValueError: one"),
        ("no message", "raise KeyError", "KeyError"),
    ],
)
def test_an_error_names_the_stage_and_the_last_line_that_ran_in_its_file(
    plugin_path, fault, code, description
):
    line = describe_stage_error(error_of(method_with(fault)))
    location = f"{plugin_path}:{line_number(code)}"
    assert line.startswith(f"{location}: refinement stage breaks: {description}")
    assert "\n" not in line


def test_a_wrong_result_names_the_line_at_which_the_stage_begins(plugin_path):
    line = describe_stage_error(error_of(method_with(fault="")))
    location = f"{plugin_path}:{line_number('@stage')}"
    expected = "disparity or (disparity, status), of (9, 20) pixels and 5 levels"
    assert line == f"{location}: refinement stage breaks returned 5; expected {expected}"


def test_the_message_of_an_error_of_the_package_is_reported_unchanged(plugin_path):
    error = error_of(method_with("error of the package"))
    assert describe_stage_error(error) == "no such thing"


def test_out_of_memory_names_the_stage_but_no_line(plugin_path):
    error = error_of(method_with("out of memory"))
    assert describe_stage_error(error) == "refinement.breaks: out of memory (1 TiB)"


def test_the_path_of_a_file_in_the_current_folder_is_relative(plugin_path, monkeypatch):
    monkeypatch.chdir(plugin_path.parent)
    line = describe_stage_error(error_of(method_with("message of two lines")))
    number = line_number("raise ValueError")
    assert line == f"broken.py:{number}: refinement stage breaks: ValueError: one"


def test_an_error_under_a_scheme_or_in_an_auxiliary_method_names_the_innermost_stage(plugin_path):
    method = method_with("message of two lines")
    under_scheme = method.having(scheme=[pyramid])
    with_auxiliary = Pipeline([absolute_difference, winner_take_all], {"first": method})
    number = line_number("raise ValueError")
    line = f"{plugin_path}:{number}: refinement stage breaks: ValueError: one"
    assert describe_stage_error(error_of(under_scheme)) == line
    assert describe_stage_error(error_of(with_auxiliary)) == line


def test_an_error_in_a_sum_of_costs_names_the_cost_that_raised_it(registry):
    @stage("matching_cost", **local)
    def failing_cost(reference, match, search):
        raise ArithmeticError("no cost")

    line = error_line(absolute_difference, failing_cost, winner_take_all)
    assert line.endswith("matching_cost stage failing_cost: ArithmeticError: no cost")


def test_an_error_in_a_halo_function_names_the_stage(registry):
    @stage("aggregation", source="a test", halo=lambda size: 1 // size)
    def with_wrong_halo(volume, *, size: int = 0):
        return volume

    line = error_line(absolute_difference, with_wrong_halo, winner_take_all)
    assert "aggregation stage with_wrong_halo: ZeroDivisionError" in line
    line = error_line(absolute_difference, step(with_wrong_halo, size=-1), winner_take_all)
    assert line.endswith(
        "aggregation stage with_wrong_halo: ValueError: its halo is -1; "
        "expected a whole number of rows >= 0, or None"
    )


def test_a_base_exception_of_a_stage_is_reported_as_a_runtime_error(registry):
    class Panic(BaseException):
        """Panic of an extension module in Rust, which is no `Exception`."""

    @stage("refinement", **not_local)
    def panics(disparity):
        raise Panic("in Rust")

    # The code of the function begins at its decorator, two lines above the `raise`.
    number = panics.__wrapped__.__code__.co_firstlineno + 2
    line = error_line(absolute_difference, winner_take_all, panics)
    description = "refinement stage panics: RuntimeError: Panic: in Rust"
    assert line.endswith(f"test_stage_errors.py:{number}: {description}")


def test_an_error_outside_stages_is_reported_without_a_location():
    assert describe_stage_error(ValueError("too large")) == "ValueError: too large"
    assert describe_stage_error(DataError("no image")) == "no image"


# --- results that a stage must not return ---------------------------------------------

SHAPE = (9, 20)
"""Shape of the images of the textured scene, which has five levels."""

IMAGE = np.zeros(SHAPE, np.uint8)
COSTS = np.zeros((*SHAPE, 5), np.float32)
DISPARITY = np.zeros(SHAPE, np.float32)
STATUS = np.zeros(SHAPE, np.uint8)
NAN_MAP = np.full(SHAPE, np.nan, np.float32)
COST_DATA = ["reference", "match", "search"]
NOT_FINITE = "values that are not finite; expected finite numbers"

EXCHANGED_SEARCH = textured().pair(1, 0).search
"""Search range of the pair with exchanged images, in the opposite direction."""


def with_infinite_value(array):
    """Return a copy of an array whose first values are infinite and NaN."""
    copy = array.copy()
    copy.flat[:2] = np.inf, np.nan
    return copy


def stage_that_returns(slot, data_names, result):
    """Register a stage without a source file, and return its function.

    The stage returns the result. If the result is a function, the stage calls it with
    the first data argument and returns the value of this call.
    """
    code = (
        f"def wrong({', '.join(data_names)}):\n"
        f"    return result({data_names[0]}) if callable(result) else result"
    )
    namespace = {"__name__": "elsewhere", "result": result}
    exec(code, namespace)
    return stage(slot, **not_local)(namespace["wrong"])


def assert_refused(slot, data_names, result, message):
    """Check that a pipeline refuses the result of a stage with this message."""
    stages = {}
    if slot != "matcher":
        stages = {"matching_cost": absolute_difference, "optimization": winner_take_all}
    stages[slot] = stage_that_returns(slot, data_names, result)
    error = error_of(Pipeline([*stages.values()]))
    assert isinstance(error, StereoFrameworkError)
    line = describe_stage_error(error)
    assert line.startswith(f"<string>:1: {slot} stage wrong returned {message}")
    assert "\n" not in line


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "None; expected uint8 or float32 (9, 20)"),
        ((IMAGE, IMAGE), "(uint8 (9, 20), uint8 (9, 20)); expected uint8 or float32 (9, 20)"),
        (NAN_MAP, NOT_FINITE),
    ],
    ids=["None", "two images", "image of NaN"],
)
def test_a_preprocessing_of_an_image_must_return_a_finite_image(registry, result, message):
    assert_refused("preprocessing", ["image"], result, f"image: {message}")


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (IMAGE, "uint8 (9, 20); expected the image; of the pair both images, of (9, 20) pixels"),
        ((IMAGE, IMAGE[1:]), "image: uint8 (8, 20); expected uint8 or float32 (9, 20)"),
    ],
    ids=["one image", "target image without a row"],
)
def test_a_preprocessing_of_a_pair_must_return_both_images_in_full(registry, result, message):
    assert_refused("preprocessing", ["reference", "match"], result, message)


@pytest.mark.parametrize(
    ("slot", "data_names", "array", "message"),
    [
        ("matching_cost", COST_DATA, IMAGE, "uint8 (9, 20); expected CostVolume"),
        ("aggregation", ["volume"], COSTS, "float32 (9, 20, 5); expected CostVolume"),
        ("smoothness", ["reference", "search"], DISPARITY, "float32 (9, 20); expected Smoothness"),
        ("scheme", ["solve", "pair"], DISPARITY, "float32 (9, 20); expected Estimate"),
    ],
)
def test_an_array_is_refused_in_place_of_the_object_of_the_slot(
    registry, slot, data_names, array, message
):
    assert_refused(slot, data_names, array, f"{message}, of (9, 20) pixels and 5 levels")


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (COSTS[:, 1:], "float32 (9, 19, 5); expected float32 or uint8 or"),
        (COSTS.astype(float), "float64 (9, 20, 5); expected float32 or"),
        (
            with_infinite_value(COSTS),
            "the array contains NaN or infinite costs; expected finite costs",
        ),
        (np.asfortranarray(COSTS), "the array is not in C order; return np.asc"),
    ],
    ids=["without a column", "float64", "infinite", "Fortran order"],
)
def test_an_aggregation_must_return_finite_costs_in_an_allowed_form(registry, costs, message):
    def volume_with_costs(volume):
        return replace(volume, costs=costs)

    assert_refused("aggregation", ["volume"], volume_with_costs, f"costs: {message}")


@pytest.mark.parametrize(
    ("dtype", "outside_cost", "message"),
    [
        (
            np.float32,
            np.inf,
            "CostVolume with the outside cost inf; expected a finite outside cost from -3.4",
        ),
        (
            np.uint8,
            300,
            "CostVolume with the outside cost 300; expected a finite outside cost from 0 to 255",
        ),
        (
            np.uint16,
            -1,
            "CostVolume with the outside cost -1; expected a finite outside cost from 0 to 65535",
        ),
    ],
)
def test_the_outside_cost_fits_into_the_type_of_the_costs(registry, dtype, outside_cost, message):
    def volume_with_outside_cost(volume):
        return replace(volume, costs=volume.costs.astype(dtype), outside_cost=outside_cost)

    assert_refused("aggregation", ["volume"], volume_with_outside_cost, message)


def test_an_aggregation_must_not_change_the_search_range(registry):
    def volume_of_exchanged_pair(volume):
        return replace(volume, search=EXCHANGED_SEARCH)

    message = f"CostVolume with the search range {EXCHANGED_SEARCH!r}; expected SearchRange("
    assert_refused("aggregation", ["volume"], volume_of_exchanged_pair, message)


@pytest.mark.parametrize(
    ("slot", "data_names"), [("optimization", ["volume"]), ("matcher", COST_DATA)]
)
def test_disparities_in_uint8_are_refused(registry, slot, data_names):
    message = "disparity: uint8 (9, 20); expected float32 (9, 20)"
    assert_refused(slot, data_names, STATUS, message)


@pytest.mark.parametrize(
    ("field", "array", "message"),
    [
        ("levels", STATUS, "uint8 (9, 20); expected int16 (9, 20)"),
        ("levels", np.full(SHAPE, 5, np.int16), "levels from 5 to 5; expected levels -1 to 4"),
        ("costs", DISPARITY[1:], "float32 (8, 20); expected float32 (9, 20)"),
    ],
    ids=["levels in uint8", "levels above the search range", "costs without a row"],
)
def test_a_labeling_must_have_levels_and_costs_of_the_pair(registry, field, array, message):
    def labeling_with_array(volume):
        return replace(winner_take_all(volume), **{field: array})

    assert_refused("optimization", ["volume"], labeling_with_array, f"{field}: {message}")


def test_an_array_is_refused_as_the_volume_of_a_labeling(registry):
    def labeling_with_array(volume):
        return replace(winner_take_all(volume), volume=volume.costs)

    message = "Labeling(levels=int16 (9, 20), costs="
    assert_refused("optimization", ["volume"], labeling_with_array, message)


def test_the_volume_of_a_labeling_must_have_all_rows(registry):
    def labeling_without_row(volume):
        cropped_volume = replace(volume, costs=volume.costs[1:])
        return replace(winner_take_all(volume), volume=cropped_volume)

    message = "volume.costs: float32 (8, 20, 5); expected"
    assert_refused("optimization", ["volume"], labeling_without_row, message)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (DISPARITY.astype(float), "float64 (9, 20); expected float32 (9, 20)"),
        (NAN_MAP, NOT_FINITE),
    ],
    ids=["float64", "NaN"],
)
def test_a_confidence_measure_must_return_finite_float32_numbers(registry, result, message):
    assert_refused("confidence", ["disparity"], result, f"confidence: {message}")


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "None; expected disparity or (disparity, status), of (9, 20) pixels"),
        (
            (DISPARITY, STATUS, DISPARITY),
            "(float32 (9, 20), uint8 (9, 20), float32 (9, 20)); expected disparity",
        ),
        (with_infinite_value(DISPARITY), f"disparity: {NOT_FINITE}, NaN = no estimate"),
        ((DISPARITY, DISPARITY), "status: float32 (9, 20); expected uint8 (9, 20)"),
        (
            (DISPARITY, STATUS + np.uint8(9)),
            "status: the value 9; expected values of Status, from 0 to 4",
        ),
    ],
    ids=["None", "three maps", "infinite disparity", "status in float32", "unknown status"],
)
def test_a_refinement_must_return_disparities_and_statuses(registry, result, message):
    assert_refused("refinement", ["disparity"], result, message)


def test_a_refinement_may_return_disparities_alone_in_a_tuple(registry):
    @stage("refinement", source="a test")
    def map_in_a_tuple(disparity):
        return (disparity,)

    method = Pipeline([absolute_difference, winner_take_all])
    expected = method.estimate(textured())
    estimate = method.having(refinement=map_in_a_tuple).estimate(textured())
    np.testing.assert_array_equal(estimate.disparity, expected.disparity)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ((DISPARITY, STATUS, STATUS), "confidence: uint8 (9, 20); expected float32"),
        (
            [DISPARITY],
            "a list of (float32 (9, 20)); "
            "expected disparity, (disparity, status) or (disparity, status, conf",
        ),
        (
            BothSides(DISPARITY, DISPARITY[1:]),
            "disparity: float32 (8, 20); expected float32 (9, 20)",
        ),
    ],
    ids=["confidence in uint8", "list", "map of the target image without a row"],
)
def test_a_matcher_must_return_maps_of_both_images_in_full(registry, result, message):
    assert_refused("matcher", COST_DATA, result, message)


@pytest.mark.parametrize(
    "result",
    [None, np.full((*SHAPE, 5), np.inf), np.zeros((1, 20, 5))],
    ids=["None", "infinite costs", "one row"],
)
def test_each_cost_of_a_sum_is_checked(registry, result):
    wrong_cost = stage_that_returns("matching_cost", COST_DATA, result)
    line = error_line(absolute_difference, wrong_cost, winner_take_all)
    assert line.startswith("<string>:1: matching_cost stage wrong returned ")


# --- costs of pairs with masks --------------------------------------------------------


def masked_pair():
    """Return the pair of the textured scene, with every seventh pixel invalid."""
    scene = textured()
    is_valid = np.arange(180).reshape(SHAPE) % 7 > 0
    return Pair(scene.reference, scene.match, scene.search, SearchMask(valid=is_valid))


@pytest.mark.parametrize("writeable", [True, False])
def test_costs_that_a_stage_still_holds_are_never_changed(registry, writeable):
    scene = textured()
    volume = absolute_difference(scene.reference, scene.match, scene.search).floats()
    costs = volume.costs.copy()
    volume.costs.flags.writeable = writeable
    same_volume = stage_that_returns("matching_cost", COST_DATA, volume)
    Pipeline([same_volume, winner_take_all])(masked_pair())
    Pipeline([step(same_volume, weight=3.0), absolute_difference, winner_take_all])(scene)
    np.testing.assert_array_equal(volume.costs, costs)


def test_costs_as_large_as_the_marker_of_excluded_cells_are_refused_for_pairs_with_masks(registry):
    method = Pipeline([step(absolute_difference, weight=1e6), absolute_difference, winner_take_all])
    assert not np.isnan(method(textured()).disparity).any()
    with pytest.raises(
        DataError,
        match=r"^the largest cost is .*; expected costs below 1e\+06, because this value marks "
        "excluded cells if a pair has a mask",
    ):
        method(masked_pair())
