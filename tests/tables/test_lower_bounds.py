"""An optimizer's lower bound of the energy, and how far above it a map's energy lies, stand in results, tables and reports."""

import numpy as np
import pytest

from stereo_framework import run
from stereo_framework.tables.results import stored, where
from stereo_framework.tables.tables import listing
from stereo_framework.tables.values import better

SCRIPT = {
    "scenes": ["synthetic/planes"],
    "search": {"minimum": 0, "maximum": 6},
    "matching_cost": "absolute_difference",
    "smoothness": "potts",
    "methods": {
        "first": {"optimization": {"use": "trw_s", "iterations": 1}},
        "second": {"optimization": {"use": "trw_s", "iterations": 4}},
        "rows": {"optimization": "scanline_optimization"},
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bounds")
    run(SCRIPT, out=place)
    return place


def test_results_have_the_bound_and_the_gap(folder):
    first, second, rows = stored(folder)
    for one in (first, second):
        assert one.statistics["lower_bound"] <= min(r.energy for r in (first, second, rows))
        assert one.statistics["gap"] == pytest.approx(
            100 * (one.energy - one.statistics["lower_bound"]) / one.statistics["lower_bound"]
        )
    assert second.statistics["gap"] < first.statistics["gap"]
    assert not {"lower_bound", "gap"} & set(rows.statistics)


def test_tables_show_them_where_there_are_some(folder):
    found = stored(folder)
    table = listing(found)
    assert table.header[-4:] == ("energy", "lower_bound", "gap", "seconds")
    energy, bound, gap = (np.array([row[table.header.index(name)] for row in table.rows]) for name in table.header[-4:-1])
    assert energy.tolist() == [r.energy for r in found]
    assert [cell is None for cell in bound] == [cell is None for cell in gap] == [False, False, True]
    assert not {"energy", "lower_bound", "gap"} & set(listing(where(found, ["method=rows"])).header)
    assert [better(name) for name in ("energy", "lower_bound", "gap")] == ["lower", "higher", "lower"]
