"""Numbers and texts that stages return or report in addition to arrays."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli_parts import invoke
from pipeline_parts import not_local, textured

from stereo_framework import Labeling, Pipeline, StereoFrameworkError, run, step
from stereo_framework.core import limits
from stereo_framework.core.call_context import CallReport, report_call
from stereo_framework.core.registration import stage
from stereo_framework.core.step import describe_stage_error
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all

INF, NAN = float("inf"), float("nan")
CONFIDENCE = np.ones((9, 20), np.float32)


def labeling_of_lowest_costs(volume):
    """Return the labeling that contains the level of the lowest cost at each pixel."""
    levels = volume.costs.argmin(axis=2).astype(np.int16)
    return Labeling(levels, volume.chosen(levels))


@pytest.fixture
def method_returning(registry):
    """Return a function that makes a method whose optimizer returns given fields."""

    def method(**fields):
        @stage("optimization", **not_local)
        def optimizer(volume):
            return replace(labeling_of_lowest_costs(volume), **fields)

        return Pipeline([absolute_difference, optimizer])

    return method


# --- numbers that an optimizer returns ------------------------------------------------

WRONG_TRACES = {
    "NaN as an energy": ((0.1, NAN),),
    "an infinite energy": ((0.1, INF),),
    "None as an energy": ((0.1, None),),
    "an energy above the largest float": ((0.1, 10**400),),
    "infinite seconds": ((INF, 1.0),),
    "negative seconds": ((-1.0, 1.0),),
    "decreasing seconds": ((0.2, 2.0), (0.1, 1.0)),
    "NaN as a bound": ((0.1, 5.0, NAN),),
    "a bound of plus infinity": ((0.1, 5.0, INF),),
    "points of one number": ((1.0,),),
    "points of four numbers": ((1.0, 2.0, 3.0, 4.0),),
    "points without numbers": ((),),
    "points of different lengths": ((0.1, 5.0), (0.2, 4.0, 3.0)),
    "numbers without points": (1.0, 2.0),
    "points of texts": (("0.1", "5.0"),),
    "points of complex numbers": ((0.1, 5.0 + 1j),),
    "points of truth values": ((True, False),),
    "points that are texts of two letters": ("12", "34"),
    "points that are mappings": ({"seconds": 0.1, "energy": 5.0},),
    "a text": "12",
    "bytes": b"12",
    "a number": 5,
    "None": None,
    "a generator": (point for point in [(0.1, 5.0)]),
    "an array of one dimension": np.array([0.1, 5.0]),
    "an array of three dimensions": np.ones((2, 2, 2)),
    "an array of texts": np.array([["a", "b"]]),
    "an array of complex numbers": np.ones((2, 2), complex),
}

WRONG_NUMBERS = {
    "NaN as a lower bound": ("lower_bound", NAN),
    "a lower bound of plus infinity": ("lower_bound", INF),
    "a text as a lower bound": ("lower_bound", "5"),
    "a list as a lower bound": ("lower_bound", [5.0]),
    "NaN as an objective": ("objective", NAN),
    "an infinite objective": ("objective", INF),
    "an array as an objective": ("objective", np.ones(3)),
    "a complex objective": ("objective", 1j),
}


def assert_refused(method, field):
    """Check that one short line names the field, and the file and line of the stage."""
    with pytest.raises(StereoFrameworkError) as raised:
        method(textured())
    line = describe_stage_error(raised.value)
    location = rf"\S*{re.escape(Path(__file__).name)}:\d+"
    assert re.match(f"{location}: optimization stage optimizer returned {field}: ", line), line
    assert len(line.splitlines()) == 1
    assert len(line) < 600


@pytest.mark.parametrize("trace", WRONG_TRACES.values(), ids=WRONG_TRACES)
def test_a_trace_that_is_no_sequence_of_seconds_energies_and_bounds_is_refused(
    trace, method_returning
):
    assert_refused(method_returning(trace=trace), "trace")


@pytest.mark.parametrize(("field", "value"), WRONG_NUMBERS.values(), ids=WRONG_NUMBERS)
def test_a_lower_bound_and_an_objective_must_be_finite_real_numbers(field, value, method_returning):
    assert_refused(method_returning(**{field: value}), field)


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        pytest.param([[0.1, 5], [0.2, 4]], ((0.1, 5.0), (0.2, 4.0)), id="lists"),
        pytest.param(
            np.array([[1, 5, 2], [2, 4, 3]]),
            ((1.0, 5.0, 2.0), (2.0, 4.0, 3.0)),
            id="array of seconds, energies and bounds",
        ),
        pytest.param(((np.float32(0.5), np.int64(4)),), ((0.5, 4.0),), id="numbers of NumPy"),
        pytest.param([np.array([0.5, 4.0])], ((0.5, 4.0),), id="list of arrays"),
        pytest.param(
            ((0.1, 5.0, -INF), (0.2, 4.0, 3.5)),
            ((0.1, 5.0, -INF), (0.2, 4.0, 3.5)),
            id="bound that is unknown at first",
        ),
        pytest.param([], (), id="empty list"),
    ],
)
def test_a_valid_trace_becomes_a_tuple_of_tuples_of_floats(trace, expected, method_returning):
    estimate = method_returning(trace=trace)(textured())
    assert estimate.trace == expected
    for point in estimate.trace:
        assert {type(number) for number in point} == {float}


def test_a_long_trace_is_thinned_but_keeps_its_first_and_last_point(method_returning):
    trace = [(i / 10, 5.0) for i in range(3 * limits.TRACE)]
    thinned_trace = method_returning(trace=trace)(textured()).trace
    assert len(thinned_trace) == limits.TRACE
    assert thinned_trace[0] == (0.0, 5.0)
    assert thinned_trace[-1] == ((3 * limits.TRACE - 1) / 10, 5.0)


def test_a_lower_bound_of_minus_infinity_becomes_none(method_returning):
    estimate = method_returning(lower_bound=-INF, objective=np.float32(2))(textured())
    assert estimate.lower_bound is None
    assert estimate.objective == 2.0


# --- fields of the estimate that a scheme returns -------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("trace", ((0.1, NAN),), id="NaN in the trace"),
        pytest.param("energy", NAN, id="NaN as the energy"),
        pytest.param("memory", "much", id="text as the memory"),
        pytest.param("messages", 5, id="number as the messages"),
        pytest.param("warnings", "a text", id="text as the warnings"),
        pytest.param("warnings", (5,), id="number as a warning"),
        pytest.param("confidence", {"../x": CONFIDENCE}, id="path as a name of confidence"),
        pytest.param("confidence", {5: CONFIDENCE}, id="number as a name of confidence"),
        pytest.param("confidence", [CONFIDENCE], id="confidence without a name"),
        pytest.param("disparity", None, id="no disparities"),
    ],
)
def test_each_field_of_the_estimate_of_a_scheme_is_checked(field, value, registry):
    @stage("scheme", **not_local)
    def changing_scheme(solve, pair):
        return replace(solve(pair), **{field: value})

    method = Pipeline([absolute_difference, winner_take_all])
    message = rf"scheme stage changing_scheme returned {field}"
    with pytest.raises(StereoFrameworkError, match=message):
        method.having(scheme=[step(changing_scheme)])(textured())


# --- reports of calls -----------------------------------------------------------------


@pytest.fixture
def method_reporting(registry):
    """Return a function that makes a method whose optimizer reports its call."""

    def method(report):
        @stage("optimization", **not_local)
        def reporting_optimizer(volume):
            report_call(report)
            return labeling_of_lowest_costs(volume)

        return Pipeline([absolute_difference, reporting_optimizer])

    return method


@pytest.mark.parametrize(
    "report",
    [
        CallReport(seconds="1"),
        CallReport(seconds=NAN),
        CallReport(memory=[1]),
        CallReport(messages=5),
        CallReport(warning=5),
        CallReport(processor_seconds="1"),
        CallReport(processor_seconds=NAN),
    ],
)
def test_each_field_of_the_report_of_a_call_is_checked(report, method_reporting):
    message = "optimization stage reporting_optimizer reported"
    with pytest.raises(StereoFrameworkError, match=message):
        method_reporting(report)(textured())


def test_the_error_about_a_report_in_a_sum_names_the_matching_cost_that_sent_it(registry):
    @stage("matching_cost", **not_local)
    def reporting_cost(reference, match, search):
        report_call(CallReport(seconds="soon"))
        return absolute_difference(reference, match, search)

    method = Pipeline([reporting_cost, absolute_difference, winner_take_all])
    message = "matching_cost stage reporting_cost reported 'soon'"
    with pytest.raises(StereoFrameworkError, match=message):
        method(textured())


def test_the_warning_of_a_stage_is_a_short_line_without_control_characters(method_reporting):
    report = CallReport(warning="a\nb\x1b[31m" + "x" * 100_000)
    warnings = method_reporting(report)(textured()).warnings
    [warning] = [line for line in warnings if line.startswith("a")]
    assert warning.startswith("a\\nb\\x1b[31mxxx")
    assert len(warning) <= 1100


# --- stored traces --------------------------------------------------------------------

PLUGIN = """
import numpy as np
from stereo_framework import Labeling
from stereo_framework.stages import stage


@stage("optimization", source="a test")
def bounded(volume):
    levels = volume.costs.argmin(axis=2).astype(np.int16)
    trace = ((0.1, 9e6, -np.inf), (0.2, 8e6, 7e6))
    return Labeling(levels, volume.chosen(levels), trace=trace, lower_bound=-np.inf)
"""


def test_a_bound_that_is_unknown_at_first_is_stored_and_drawn(tmp_path, small_scenes, registry):
    plugin_path = tmp_path / "bounded.py"
    plugin_path.write_text(PLUGIN)
    script = {
        "plugins": [str(plugin_path)],
        "matching_cost": "absolute_difference",
        "optimization": "bounded",
    }
    out = tmp_path / "out"

    [result] = run(script, "synthetic/planes", out=out, plugins=[plugin_path])
    assert result.error is None
    assert result.trace == ((0.1, 9e6, -INF), (0.2, 8e6, 7e6))
    # Only readers in Python accept the number -Infinity in JSON.
    json.loads(result.environment["trace"], parse_constant=pytest.fail)
    assert "lower_bound" not in result.statistics

    report = invoke("report", out)
    assert (report.exit_code, report.stderr) == (0, "")
    assert "energy over time" in (out / "report.html").read_text()
    results = invoke("results", out, "--json").stdout
    assert json.loads(results, parse_constant=pytest.fail)

    # A second run reads the stored result.
    [stored_result] = run(script, "synthetic/planes", out=out, plugins=[plugin_path])
    assert stored_result.trace == result.trace
