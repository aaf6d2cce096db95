"""Charts of optimizers."""

import json

import numpy as np
from made_results import result

from stereo_framework.figures.energies import energies_figure


def _result(trace, energy, bad=0.0):
    environment = {"trace": json.dumps(trace)} if trace else {}
    return result("s", {}, {"bad_pixels_nonocc": bad}, energy=energy, seconds={"optimization": 3.0}, environment=environment)


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
    for found, wanted in zip(drawn, (bounded, bounded, [(0.5, 50), (1.0, 10)], [(3.0, 100)]), strict=True):
        np.testing.assert_allclose(found, wanted)
    assert [tuple(line.get_xydata()[0]) for line in over_energy.lines] == [(1e-3, 5.0), (15.0, 7.0), (100.0, 9.0)]


def test_without_a_bound_the_lowest_energy_stands_in_its_place():
    over_time, _ = energies_figure({"a": _result([(1.0, 110.0), (2.0, 100.0)], 100.0)}).axes
    np.testing.assert_allclose(over_time.lines[0].get_ydata(), [10, 1e-3])
