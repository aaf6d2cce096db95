"""The charts of the HCI paper: what is drawn is what was measured, and it can be read."""

import math

import numpy as np
import pytest
from figure_parts import check_layout, legends
from made_results import HCI, SCENES, result, scored
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.figures.saving import save_figure
from stereo_framework.papers.hci2015.charts import COLOURS, histogram_figure, normalized, radar_figure, stacked_bars_figure
from stereo_framework.tables.scores import standings

A, B = SCENES
FAT, FRAG = "hci_foreground_fattening", "hci_fragmentation"


@pytest.fixture
def results():
    """Five methods; one lacks a score, one has a long name."""
    random = np.random.default_rng(1)
    names = ("ssd", "dp $x$", "bp", "a method with a long name (aggregation.box.size=9)", "holes")
    found = {n: {s: {m: v * random.uniform(0.1, 1) for m, v in HCI.items()} for s in SCENES} for n in names}
    found["holes"][A][FRAG] = math.nan
    return scored(found)


def _drawn(figure):
    FigureCanvasAgg(figure).draw()
    check_layout(figure)
    return figure


def _footnote(figure):
    return figure.texts[-1].get_text().replace("\n", " ")


def test_shares_of_the_worst():
    given = {"a": {A: {FAT: 0.0, FRAG: 0.1}}, "b": {A: {FAT: 0.0, FRAG: math.nan}}, "c": {A: {FAT: 0.0, FRAG: 0.4}}}
    np.testing.assert_allclose(normalized(standings(scored(given), [FAT, FRAG])), [[0, 0.25], [0, 1], [0, 1]])
    # Where higher is better the best is 0; energies below 0 have no perfect one.
    given = {"a": 90.0, "b": 80.0, "c": 60.0}
    results = [result(A, {}, {"density_all": v}, method=name, energy=-v) for name, v in given.items()]
    np.testing.assert_allclose(normalized(standings(results, ["density_all", "energy"])), [[0, 0], [1 / 3, 1 / 3], [1, 1]])


def test_stacked_bars(results):
    found = standings(results, ["hci"])
    figure = _drawn(stacked_bars_figure(found, {FAT: 3, "hci_porosity": 0}))
    [axes] = figure.axes
    weights = np.array([3 if m == FAT else 0 if m == "hci_porosity" else 1 for m in HCI])
    shares = normalized(found)
    totals = shares @ weights / weights.sum()
    order = np.argsort(totals, kind="stable")
    assert [text.get_text() for text in axes.get_yticklabels()] == [found.methods[i] for i in order]
    for place, i in enumerate(order):
        own = [p for p in axes.patches if round(p.get_y() + p.get_height() / 2) == place]
        np.testing.assert_allclose([p.get_width() for p in own], shares[i] * weights / sum(weights))
        np.testing.assert_allclose([p.get_x() for p in own], np.cumsum([0, *(p.get_width() for p in own)])[:-1])
        assert [to_hex(p.get_facecolor()) for p in own] == list(COLOURS)
    assert [text.get_text().strip() for text in axes.texts] == [f"{totals[i]:.2f}" for i in order]
    words = [f"{m.title} ({m.symbol})" for m in HCI_METRICS.values()]
    words[0], words[6] = f"{words[0]} × 3", f"{words[6]} × 0"
    assert legends(figure) == words
    assert f"missing scores count as the worst: holes ({FRAG}); protocol p" in _footnote(figure)


def test_radar(results):
    found = standings(results, ["hci"])
    figure = _drawn(radar_figure(found))
    ranks = np.stack([found.of(name).average_ranks for name in HCI], axis=1)
    for axes, values, top in zip(figure.axes, (ranks, normalized(found)), (5, 1), strict=True):
        for line, row in zip(axes.lines, values, strict=True):
            np.testing.assert_allclose(line.get_ydata(), [*row, row[0]])
        assert axes.get_ylim() == (0, top)
        assert [text.get_text() for text in axes.get_xticklabels()] == [m.symbol for m in HCI_METRICS.values()]
    assert legends(figure) == list(found.methods)


def test_histograms(results):
    found = standings(results, ["hci"])
    figure = _drawn(histogram_figure(found, "bp"))
    own = found.methods.index("bp")
    for name, axes in zip(HCI, figure.axes, strict=True):
        column = found.of(name).values
        assert sum(patch.get_height() for patch in axes.patches) == np.isfinite(column).sum()
        for patch in axes.patches:
            low, high = patch.get_x(), patch.get_x() + patch.get_width()
            inside = ((column > low) & (column < high)).sum()  # no score lies on an edge but the largest
            assert patch.get_height() in (inside, inside + 1)
        [marks] = axes.collections
        np.testing.assert_allclose([ends[0][0] for ends in marks.get_segments()], column[own])
    assert figure.legends[0].get_title().get_text() == "bp"
    assert figure.axes[4].get_xlabel() == "pixels"


def test_any_measures_and_few_methods():
    """Other measures, one of them better high; a single method on a single scene."""
    pairs = [(m, s) for m in ("one", "two") for s in SCENES]
    found = [result(s, {}, {"bad_pixels_all": 3.0, "density_all": 90.0, "rms_error_all": 1.0}, method=m) for m, s in pairs]
    for results in (found, found[:1]):
        of = standings(results, ["density_all", "bad_pixels_all", "rms_error_all"])
        for figure in (stacked_bars_figure(of, {}), radar_figure(of), histogram_figure(of, "one")):
            _drawn(figure)


def test_the_same_files_every_time(tmp_path, results):
    found = standings(results, ["hci"])
    for draw in (lambda: stacked_bars_figure(found, {}), lambda: radar_figure(found)):
        first, second = (save_figure(draw(), tmp_path / name / "p", "") for name in "ab")
        assert [a.read_bytes() == b.read_bytes() for a, b in zip(first, second, strict=True)] == [True, True]
