"""Numbers and texts that stages return in addition to arrays."""

import dataclasses
import json
import re

import numpy as np
import pytest
from cli_parts import invoke
from pipeline_parts import not_local, textured

from stereo_framework import Labeling, Pipeline, StereoFrameworkError, run, step
from stereo_framework.core import limits
from stereo_framework.core.call_context import CallReport, report_call
from stereo_framework.core.registration import stage
from stereo_framework.core.step import blame
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all

INF, NAN = float("inf"), float("nan")


def labels(volume):
    levels = volume.costs.argmin(axis=2).astype(np.int16)
    return Labeling(levels, volume.chosen(levels))


@pytest.fixture
def optimizer(registry):
    """Return a method whose optimizer returns these values in addition to its arrays."""

    def method(**values):
        @stage("optimization", **not_local)
        def talkative(volume):
            return dataclasses.replace(labels(volume), **values)

        return Pipeline([absolute_difference, talkative])

    return method


BAD = {
    "a NaN energy": {"trace": ((0.1, NAN),)},
    "an infinite energy": {"trace": ((0.1, INF),)},
    "infinite seconds": {"trace": ((INF, 1.0),)},
    "negative seconds": {"trace": ((-1.0, 1.0),)},
    "decreasing seconds": {"trace": ((0.2, 2.0), (0.1, 1.0))},
    "a NaN bound": {"trace": ((0.1, 5.0, NAN),)},
    "a bound of plus infinity": {"trace": ((0.1, 5.0, INF),)},
    "points of one number": {"trace": ((1.0,),)},
    "points of four numbers": {"trace": ((1.0, 2.0, 3.0, 4.0),)},
    "points without numbers": {"trace": ((),)},
    "numbers without points": {"trace": (1.0, 2.0)},
    "ragged points": {"trace": ((0.1, 5.0), (0.2, 4.0, 3.0))},
    "texts": {"trace": (("0.1", "5.0"),)},
    "texts of two letters": {"trace": ("12", "34")},
    "one text": {"trace": "12"},
    "bytes": {"trace": b"12"},
    "no sequence": {"trace": 5},
    "None as a trace": {"trace": None},
    "a generator": {"trace": (point for point in [(0.1, 5.0)])},
    "mappings": {"trace": ({"seconds": 0.1, "energy": 5.0},)},
    "complex numbers": {"trace": ((0.1, 5.0 + 1j),)},
    "truth values": {"trace": ((True, False),)},
    "None as an energy": {"trace": ((0.1, None),)},
    "an array of one dimension": {"trace": np.array([0.1, 5.0])},
    "an array of three dimensions": {"trace": np.ones((2, 2, 2))},
    "an array of texts": {"trace": np.array([["a", "b"]])},
    "complex arrays": {"trace": np.ones((2, 2), complex)},
    "endless digits": {"trace": ((0.1, 10**400),)},
    "a NaN lower bound": {"lower_bound": NAN},
    "a lower bound of plus infinity": {"lower_bound": INF},
    "a text as a lower bound": {"lower_bound": "5"},
    "a list as a lower bound": {"lower_bound": [5.0]},
    "a NaN objective": {"objective": NAN},
    "an infinite objective": {"objective": INF},
    "an array as an objective": {"objective": np.ones(3)},
    "a complex objective": {"objective": 1j},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_companions_are_refused_with_file_and_line_of_the_stage(name, optimizer):
    with pytest.raises(StereoFrameworkError) as raised:
        optimizer(**BAD[name])(textured())
    [attribute] = BAD[name]
    pattern = rf"\S*test_companions\.py:\d+: optimization stage talkative returned {attribute}: "
    message = blame(raised.value)
    assert re.match(pattern, message), message
    assert len(message.splitlines()) == 1
    assert len(message) < 600


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        ([[0.1, 5], [0.2, 4]], ((0.1, 5.0), (0.2, 4.0))),
        (np.array([[1, 5, 2], [2, 4, 3]]), ((1.0, 5.0, 2.0), (2.0, 4.0, 3.0))),
        (((np.float32(0.5), np.int64(4)),), ((0.5, 4.0),)),
        ([np.array([0.5, 4.0])], ((0.5, 4.0),)),
        (((0.1, 5.0, -INF), (0.2, 4.0, 3.5)), ((0.1, 5.0, -INF), (0.2, 4.0, 3.5))),
        ([], ()),
    ],
)
def test_sensible_traces_become_tuples_of_floats(trace, expected, optimizer):
    match = optimizer(trace=trace)(textured())
    assert match.trace == expected
    assert all(type(number) is float for point in match.trace for number in point)


def test_a_long_trace_is_thinned_and_keeps_its_ends(optimizer):
    trace = optimizer(trace=[(i / 10, 5.0) for i in range(3 * limits.TRACE)])(textured()).trace
    assert len(trace) == limits.TRACE
    assert (trace[0], trace[-1]) == ((0.0, 5.0), ((3 * limits.TRACE - 1) / 10, 5.0))


def test_a_lower_bound_of_minus_infinity_is_none(optimizer):
    match = optimizer(lower_bound=-INF, objective=np.float32(2))(textured())
    assert (match.lower_bound, match.objective) == (None, 2.0)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"trace": ((0.1, NAN),)}, "trace"),
        ({"energy": NAN}, "energy"),
        ({"memory": "much"}, "memory"),
        ({"messages": 5}, "messages"),
        ({"warnings": "a text"}, "warnings"),
        ({"warnings": (5,)}, "warnings"),
        ({"confidence": {"../x": np.ones((9, 20), np.float32)}}, "confidence"),
        ({"confidence": {5: np.ones((9, 20), np.float32)}}, "confidence"),
        ({"confidence": [np.ones((9, 20), np.float32)]}, "confidence"),
        ({"disparity": None}, "disparity"),
    ],
)
def test_companions_of_a_scheme_are_checked(values, word, registry):
    @stage("scheme", **not_local)
    def wrapping(solve, pair):
        return dataclasses.replace(solve(pair), **values)

    method = Pipeline([absolute_difference, winner_take_all]).having(scheme=[step(wrapping)])
    with pytest.raises(StereoFrameworkError, match=rf"scheme stage wrapping returned {word}"):
        method(textured())


@pytest.mark.parametrize(
    "report",
    [
        CallReport(seconds="1"),
        CallReport(seconds=NAN),
        CallReport(memory=[1]),
        CallReport(messages=5),
        CallReport(warning=5),
    ],
)
def test_reports_of_calls_are_checked(report, registry):
    @stage("optimization", **not_local)
    def reporting(volume):
        report_call(report)
        return labels(volume)

    with pytest.raises(StereoFrameworkError, match="optimization stage reporting reported"):
        Pipeline([absolute_difference, reporting])(textured())


def test_warnings_of_stages_are_single_harmless_lines(registry):
    @stage("optimization", **not_local)
    def reporting(volume):
        report_call(CallReport(warning="a\nb\x1b[31m" + "x" * 100_000))
        return labels(volume)

    [warning] = [
        line
        for line in Pipeline([absolute_difference, reporting])(textured()).warnings
        if line.startswith("a")
    ]
    assert warning.startswith("a\\nb\\x1b[31mxxx")
    assert len(warning) <= 1100


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


def test_a_bound_that_is_not_known_yet_is_stored_and_drawn(tmp_path, small_scenes, registry):
    (tmp_path / "bounded.py").write_text(PLUGIN)
    script = {
        "plugins": [str(tmp_path / "bounded.py")],
        "matching_cost": "absolute_difference",
        "optimization": "bounded",
    }
    out = tmp_path / "out"
    [result] = run(script, "synthetic/planes", out=out, plugins=[tmp_path / "bounded.py"])
    assert result.error is None
    assert result.trace == ((0.1, 9e6, -INF), (0.2, 8e6, 7e6))
    # Readers other than Python's refuse the number -Infinity.
    json.loads(result.environment["trace"], parse_constant=pytest.fail)
    assert "lower_bound" not in result.statistics
    report = invoke("report", out)
    assert (report.exit_code, report.stderr) == (0, "")
    assert "energy over time" in (out / "report.html").read_text()
    assert json.loads(invoke("results", out, "--json").stdout, parse_constant=pytest.fail)
    # A second run takes the stored result.
    assert (
        run(script, "synthetic/planes", out=out, plugins=[tmp_path / "bounded.py"])[0].trace
        == result.trace
    )
