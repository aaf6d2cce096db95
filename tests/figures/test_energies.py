"""Charts of optimizers."""

import json
import math

import numpy as np
import pytest
from made_results import result

from stereo_framework.core.errors import ResultWarning
from stereo_framework.figures.energies import energies_figure


def _result(trace, energy, bad=0.0):
    environment = {"trace": json.dumps(trace)} if trace else {}
    return result(
        "s",
        {},
        {"bad_pixels_nonocc": bad},
        energy=energy,
        seconds={"optimization": 3.0},
        environment=environment,
    )


def test_energies_above_the_highest_bound():
    results = {
        "bounded": _result([(0.1, 120.0, 80.0), (0.2, 100.0, 100.0)], 100.0, 5.0),
        "other": _result([(0.5, 150.0), (1.0, 110.0)], 115.0, 7.0),
        "one": _result([], 200.0, 9.0),
    }
    over_time, over_energy = energies_figure(results).axes
    drawn = [line.get_xydata() for line in over_time.lines]
    # The energy and the bound below its last, which no logarithm has; 0.001 % stands for none.
    bounded = [(0.1, 20), (0.2, 1e-3)]
    for found, wanted in zip(
        drawn, (bounded, bounded, [(0.5, 50), (1.0, 10)], [(3.0, 100)]), strict=True
    ):
        np.testing.assert_allclose(found, wanted)
    assert [tuple(line.get_xydata()[0]) for line in over_energy.lines] == [
        (1e-3, 5.0),
        (15.0, 7.0),
        (100.0, 9.0),
    ]


def test_without_a_bound_the_lowest_energy_stands_in_its_place():
    over_time, _ = energies_figure({"a": _result([(1.0, 110.0), (2.0, 100.0)], 100.0)}).axes
    np.testing.assert_allclose(over_time.lines[0].get_ydata(), [10, 1e-3])


def test_a_bound_that_is_not_known_yet_is_left_out():
    trace = [(0.1, 120.0, None), (0.2, 110.0, 100.0)]
    over_time, _ = energies_figure({"a": _result(trace, 110.0)}).axes
    energies, bounds = [line.get_xydata() for line in over_time.lines]
    np.testing.assert_allclose(energies, [(0.1, 20), (0.2, 10)])
    np.testing.assert_allclose(bounds, [(0.2, 1e-3)])


def test_without_any_known_bound_none_is_drawn():
    over_time, _ = energies_figure(
        {"a": _result([(0.1, 110.0, None), (0.2, 100.0, None)], 100.0)}
    ).axes
    [energies] = [line.get_xydata() for line in over_time.lines]
    np.testing.assert_allclose(energies, [(0.1, 10), (0.2, 1e-3)])


DAMAGED = {
    "an object": '{"a": 1}',
    "a number": "5",
    "null": "null",
    "a text": '"abc"',
    "points of one number": "[[1]]",
    "points of texts": '[["a", "b"]]',
    "NaN": "[[0.1, NaN]]",
    "an infinite energy": "[[0.1, Infinity]]",
    "nulls": "[[null, null]]",
    "truth values": "[[true, false]]",
    "ragged points": "[[0.1, 5.0], [0.2, 4.0, 1.0]]",
    "deep lists": "[" * 5000 + "]" * 5000,
    "half a list": "[[",
    "texts as points": '["12", "34"]',
    "endless digits": f"[[1, {'9' * 5000}]]",
    "large numbers": f"[[1, {'9' * 400}]]",
    "control characters": "\x1b[31m",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_trace_is_reported_in_one_line(name):
    damaged = result("s\nt", {}, {}, environment={"trace": DAMAGED[name]})
    with pytest.warns(ResultWarning, match="the stored trace is damaged") as warnings:
        assert damaged.trace == ()
    [line] = [str(warning.message) for warning in warnings]
    assert len(line) < 500
    assert line.isprintable()


def test_a_trace_that_earlier_versions_stored_is_read():
    stored = result("s", {}, {}, environment={"trace": "[[0.1, 5.0, -Infinity]]"})
    assert stored.trace == ((0.1, 5.0, -math.inf),)
