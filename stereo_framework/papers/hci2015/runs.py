"""The results that all items show: our methods, and OpenCV's as an outside one, on the scenes that are available."""

from __future__ import annotations

from collections.abc import Sequence

import pandas

from stereo_framework.papers.hci2015.claims import COLUMNS, R2, Scores
from stereo_framework.papers.paper import Context
from stereo_framework.sweep import Result

FOLDER = "middlebury-v3/trainingQ/"

_DENSE = 0.99
"""Smallest share of estimated pixels at which a map counts as dense: after filling, only rows without any estimate stay empty."""


def results(context: Context) -> list[Result]:
    """All results except failed ones; a quick reproduction has one scene and leaves out the methods that take minutes."""
    return [r for r in context.run("short" if context.quick else "all", maps=True) if r.error is None]


def dense(found: Sequence[Result]) -> list[Result]:
    """Results of the methods whose maps are dense everywhere, which is what the paper is about."""
    sparse = {r.method for r in found if r.statistics["fraction_matched"] < _DENSE}
    return [r for r in found if r.method not in sparse]


def on(found: Sequence[Result], scene: str) -> dict[str, Result]:
    """Results on a scene by method."""
    return {r.method: r for r in found if r.scene == FOLDER + scene}


def scores_on(found: Sequence[Result], scene: str, *columns: str) -> Scores:
    """Scores of the methods on a scene by the paper's names of measures."""
    of = on(found, scene)
    return {c: {name: r.statistics[COLUMNS[c]] for name, r in of.items()} for c in columns}


def fits(found: Sequence[Result]) -> R2:
    """r² of the linear fit of every measure to every other, over these maps; empty without enough of them."""
    if len(found) < 3:
        return {}
    r2 = pandas.DataFrame([[r.statistics[COLUMNS[c]] for c in COLUMNS] for r in found], columns=list(COLUMNS)).corr() ** 2
    return {(a, b): float(r2.loc[a, b]) for a in COLUMNS for b in COLUMNS if a != b}
