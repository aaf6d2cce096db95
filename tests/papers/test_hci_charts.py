"""The charts of the HCI paper: what is drawn is what was measured, and it can be read."""

import itertools
import math

import numpy as np
import pytest
from figure_parts import check_layout, legends
from made_results import HCI, SCENES, scored
from matplotlib.colors import to_hex

from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.papers.hci2015.pictures import (
    COLOURS,
    histogram_figure,
    radar_figure,
    shares_of_worst,
    stacked_bars_figure,
)
from stereo_framework.tables.scores import score_table

A, B = SCENES
FAT, FRAG = "hci_foreground_fattening", "hci_fragmentation"


@pytest.fixture
def found():
    """Five methods; one lacks a score, one has a long name."""
    random = np.random.default_rng(1)
    names = ("ssd", "dp $x$", "bp", "a method with a long name (aggregation.box.size=9)", "holes")
    given = {
        n: {s: {m: v * random.uniform(0.1, 1) for m, v in HCI.items()} for s in SCENES}
        for n in names
    }
    given["holes"][A][FRAG] = math.nan
    return score_table(scored(given), ["hci"])


def _drawn(figure):
    figure.draw_without_rendering()
    check_layout(figure)
    return figure


def test_shares_of_the_worst():
    given = {
        "a": {A: {FAT: 0.0, FRAG: 0.1}},
        "b": {A: {FAT: 0.0, FRAG: math.nan}},
        "c": {A: {FAT: 0.0, FRAG: 0.4}},
    }
    np.testing.assert_allclose(
        shares_of_worst(score_table(scored(given), [FAT, FRAG])), [[0, 0.25], [0, 1], [0, 1]]
    )


def test_stacked_bars(found):
    figure = _drawn(stacked_bars_figure(found, {FAT: 3, "hci_porosity": 0}))
    [axes] = figure.axes
    weights = np.array([3 if m == FAT else 0 if m == "hci_porosity" else 1 for m in HCI])
    shares = shares_of_worst(found).to_numpy()
    totals = shares @ weights / weights.sum()
    order = np.argsort(totals, kind="stable")
    assert [text.get_text() for text in axes.get_yticklabels()] == [found.methods[i] for i in order]
    for place, i in enumerate(order):
        own = [p for p in axes.patches if round(p.get_y() + p.get_height() / 2) == place]
        np.testing.assert_allclose([p.get_width() for p in own], shares[i] * weights / sum(weights))
        np.testing.assert_allclose(
            [p.get_x() for p in own], np.cumsum([0, *(p.get_width() for p in own)])[:-1]
        )
        assert [to_hex(p.get_facecolor()) for p in own] == list(COLOURS)
    assert [text.get_text().strip() for text in axes.texts] == [f"{totals[i]:.2f}" for i in order]
    words = [f"{m.title} ({m.symbol})" for m in HCI_METRICS.values()]
    words[0], words[6] = f"{words[0]} × 3", f"{words[6]} × 0"
    assert legends(figure) == words
    below = figure.texts[-1].get_text().replace("\n", " ")
    assert f"missing scores count as the worst: holes ({FRAG}); protocol p" in below


def test_radar(found):
    figure = _drawn(radar_figure(found))
    ranks = np.stack([found.of(name).average_ranks for name in HCI], axis=1)
    for axes, values, top in zip(
        figure.axes, (ranks, shares_of_worst(found).to_numpy()), (5, 1), strict=True
    ):
        for line, row in zip(axes.lines, values, strict=True):
            np.testing.assert_allclose(line.get_ydata(), [*row, row[0]])
        assert axes.get_ylim() == (0, top)
        assert [text.get_text() for text in axes.get_xticklabels()] == [
            m.symbol for m in HCI_METRICS.values()
        ]
    assert legends(figure) == list(found.methods)


def test_histograms(found):
    figure = _drawn(histogram_figure(found, "bp"))
    for name, axes in zip(HCI, figure.axes, strict=True):
        column = found.of(name).values
        edges = np.linspace(0, np.nanmax(column), 13)
        np.testing.assert_allclose([patch.get_x() for patch in axes.patches], edges[:-1], atol=1e-9)
        # No score lies on an edge but the largest.
        inside = [
            ((column > low) & (column < high)).sum() for low, high in itertools.pairwise(edges)
        ]
        inside[-1] += 1
        assert [patch.get_height() for patch in axes.patches] == inside
        [marks] = axes.collections
        np.testing.assert_allclose(
            [ends[0][0] for ends in marks.get_segments()], column[found.methods.index("bp")]
        )
    assert figure.legends[0].get_title().get_text() == "bp"
    assert figure.axes[4].get_xlabel() == "pixels"


def test_few_measures_and_a_single_method():
    of = score_table(scored({"one": {A: {}}}), [FAT, FRAG])
    for figure in (stacked_bars_figure(of, {}), radar_figure(of), histogram_figure(of, "one")):
        _drawn(figure)
