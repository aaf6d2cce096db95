"""Charts for choosing among methods: what is drawn is what was measured, and it can be read."""

import math

import numpy as np
import pytest
from figure_parts import check_layout, legends
from made_results import HCI, SCENES, result, scored
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from published import table
from scipy.stats import linregress

from stereo_framework.core.errors import ParameterError
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.figures._looks import NO_SCORE, PARTS
from stereo_framework.figures.charts import CHART_FIGURES
from stereo_framework.figures.correlation import correlation_figure
from stereo_framework.figures.histogram import histogram_figure
from stereo_framework.figures.parallel_coordinates import parallel_coordinates_figure
from stereo_framework.figures.radar import radar_figure
from stereo_framework.figures.saving import save_figure
from stereo_framework.figures.stacked_bars import stacked_bars_figure
from stereo_framework.page.report_files import write_report
from stereo_framework.script.report import CHARTS, Chart
from stereo_framework.tables.standings import standings

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


def _given(chart, results):
    return chart, standings(results, chart.measures)


def _footnote(figure):
    return figure.texts[-1].get_text().replace("\n", " ")


def test_kinds_of_scripts_can_all_be_drawn():
    assert tuple(CHART_FIGURES) == CHARTS


def test_stacked_bars(results):
    figure = _drawn(stacked_bars_figure(*_given(Chart("", weights={FAT: 3, "hci_porosity": 0}, title="A title"), results)))
    [axes] = figure.axes
    found = standings(results)
    weights = [3 if m == FAT else 0 if m == "hci_porosity" else 1 for m in HCI]
    order = np.argsort(found.totals(weights), kind="stable")
    assert [text.get_text() for text in axes.get_yticklabels()] == [found.methods[i] for i in order]
    for place, i in enumerate(order):
        own = [p for p in axes.patches if round(p.get_y() + p.get_height() / 2) == place]
        np.testing.assert_allclose([p.get_width() for p in own], found.normalized[i] * weights / sum(weights))
        np.testing.assert_allclose([p.get_x() for p in own], np.cumsum([0, *(p.get_width() for p in own)])[:-1])
        assert [to_hex(p.get_facecolor()) for p in own] == list(PARTS[:9])
        assert [bool(p.get_hatch()) for p in own] == [found.methods[i] == "holes" and m == FRAG for m in HCI]
    assert [text.get_text().strip() for text in axes.texts] == [f"{found.totals(weights)[i]:.2f}" for i in order]
    words = [f"{m.title} ({m.symbol})" for m in HCI_METRICS.values()]
    words[0], words[6] = f"{words[0]} × 3", f"{words[6]} × 0"
    assert legends(figure) == [*words, NO_SCORE]
    assert figure.get_suptitle() == "A title"
    assert f"missing scores count as the worst: holes ({FRAG}); protocol p" in _footnote(figure)


def test_radar(results):
    figure = _drawn(radar_figure(*_given(Chart("", labels={"ssd": "SSD", FAT: "fat"}), results)))
    found = standings(results)
    for axes, values, top in zip(figure.axes, (found.ranks, found.normalized), (5, 1), strict=True):
        lines = [line for line in axes.lines if line.get_marker() != "x"]
        for line, row in zip(lines, values, strict=True):
            np.testing.assert_allclose(line.get_ydata(), [*row, row[0]])
        [cross] = [line for line in axes.lines if line.get_marker() == "x"]
        assert cross.get_ydata().tolist() == [values[4, list(HCI).index(FRAG)]]
        assert axes.get_ylim() == (0, top)
        assert [text.get_text() for text in axes.get_xticklabels()] == ["fat", *[m.symbol for m in HCI_METRICS.values()][1:]]
    assert legends(figure) == ["SSD", *found.methods[1:], NO_SCORE]


def test_parallel_coordinates(results):
    figure = _drawn(parallel_coordinates_figure(*_given(Chart("", title="A title"), results)))
    [axes] = figure.axes
    found = standings(results)
    lines = [line for line in axes.lines if line.get_linestyle() != "None" and len(line.get_xdata()) == 9]
    for line, row in zip(lines, found.normalized, strict=True):
        np.testing.assert_allclose(line.get_ydata(), row)
    worst = [text.get_text() for text in axes.texts if text.get_position()[1] > 1]
    assert [float(text) for text in worst] == pytest.approx(np.nanmax(found.means, axis=0), rel=0.05)  # two digits are shown
    assert [text.get_text() for text in axes.texts if text.get_position()[1] < 0] == ["0.00"] * 9
    assert axes.get_xticklabels()[4].get_text() == "P_off\npixels"


def test_lines_that_cannot_be_told_apart_are_refused():
    many = scored({f"m{i}": {A: {}} for i in range(29)})
    for draw in (radar_figure, parallel_coordinates_figure):
        with pytest.raises(ParameterError, match="29 methods and settings are more than the 28 lines .*choose some with where"):
            draw(*_given(Chart(""), many))
        _drawn(draw(*_given(Chart(""), many[:28])))
    _drawn(stacked_bars_figure(*_given(Chart(""), many)))


def test_correlations_leave_out_pairs_without_a_score(results):
    r2, counts = standings(results).correlations
    j, k = list(HCI).index(FRAG), list(HCI).index(FAT)
    assert counts[0, 1] == 10
    assert counts[j].tolist() == [9] * 9
    pairs = [(r.statistics[FRAG], r.statistics[FAT]) for r in results if not math.isnan(r.statistics[FRAG])]
    # The same sums in another order.
    assert r2[j, k] == pytest.approx(linregress(*zip(*pairs, strict=True)).rvalue ** 2, abs=1e-12)
    figure = _drawn(correlation_figure(*_given(Chart("", measures=("hci_offset", FRAG, FAT), title="A title"), results)))
    [axes] = figure.axes
    cells = {(int(t.get_position()[1]), int(t.get_position()[0])): t.get_text() for t in axes.texts}
    assert cells[1, 2] == cells[2, 1] == f"{r2[j, k]:.2f}"
    assert len(cells) == 6
    assert _footnote(figure).startswith("r² of linear fits between scores; 9 to 10 pairs of scene and method, those that lack")


def test_correlations_have_the_form_of_figure_11():
    """The published rows and columns find their cells by the symbols; the published values are of other methods on more scenes."""
    published = table("honauer2015_figure11")
    random = np.random.default_rng(0)
    extra = {"RMS": "rms_error_nonocc", "Bad1.0": "bad1_nonocc", "Bad4.0": "bad4_nonocc"}
    by_symbol = {m.symbol: name for name, m in HCI_METRICS.items()} | extra
    measures = [by_symbol[text] for text in ("RMS", *published["columns"])]
    results = scored({f"m{i}": {A: {m: random.uniform(0.1, 1) for m in (*extra.values(), *HCI)}} for i in range(5)})
    r2, _ = standings(results, measures).correlations
    for row, values in published["rows"].items():
        for column, value in zip(published["columns"], values, strict=True):
            i, j = measures.index(by_symbol[row]), measures.index(by_symbol[column])
            assert (value is None) == (i == j)
            assert 0 <= r2[i, j] <= 1
    labels = {name: text for text, name in extra.items()}
    [axes] = _drawn(correlation_figure(*_given(Chart("", measures=tuple(measures), labels=labels), results))).axes
    assert [text.get_text() for text in axes.get_xticklabels()][1:] == published["columns"]


def test_nothing_to_fit_is_a_dash():
    [axes] = _drawn(correlation_figure(*_given(Chart(""), scored({"a": {A: {}}, "b": {A: {}}})))).axes
    assert {text.get_text() for text in axes.texts} == {"-"}


def test_histograms(results):
    figure = _drawn(histogram_figure(*_given(Chart("", method="bp", labels={"bp": "BP"}), results)))
    found = standings(results)
    own = found.methods.index("bp")
    for j, axes in enumerate(figure.axes):
        column = found.scores[..., j]
        assert sum(patch.get_height() for patch in axes.patches) == np.isfinite(column).sum()
        for patch in axes.patches:
            low, high = patch.get_x(), patch.get_x() + patch.get_width()
            inside = ((column > low) & (column < high)).sum()  # no score lies on an edge but the largest
            assert patch.get_height() in (inside, inside + 1)
        marks = [line.get_xdata()[0] for line in axes.lines]
        np.testing.assert_allclose(marks, [*column[own], found.means[own, j]])
    assert figure.legends[0].get_title().get_text() == "BP"
    assert figure.axes[4].get_xlabel() == "pixels"
    plain = _drawn(histogram_figure(*_given(Chart(""), results)))
    assert plain.legends == []
    assert not any(axes.lines for axes in plain.axes)
    with pytest.raises(ParameterError, match="no method 'bq' among the results; .*did you mean 'bp'"):
        histogram_figure(*_given(Chart("", method="bq"), results))


@pytest.mark.parametrize("kind", CHARTS)
def test_any_measures_and_few_methods(tmp_path, kind):
    """Other measures, one of them better high; a single method on a single scene; as files."""
    pairs = [(m, s) for m in ("one", "two") for s in SCENES]
    found = [result(s, {}, {"bad_pixels_all": 3.0, "density_all": 90.0, "rms_error_all": 1.0}, method=m) for m, s in pairs]
    for results in (found, found[:1]):
        report = {"charts": {"c": {"kinds": kind, "measures": ["density_all", "bad_pixels_all", "rms_error_all"]}}}
        written = write_report(results, report, tmp_path)
        assert [path.relative_to(tmp_path).as_posix() for path in written] == [f"charts/c_{kind}.svg", f"charts/c_{kind}.png"]


@pytest.mark.slow
def test_charts_of_a_script(tmp_path, results):
    chart = {"where": {"method": ["ssd", "bp"]}, "weights": {"hci": 2}, "method": "bp"}
    written = write_report(
        [*results, *scored({"q": {A: {}}}, protocol="q", protocol_text="q")], {"charts": {"c": chart}}, tmp_path
    )
    assert [path.name for path in written[::2]] == [f"c_{kind}.svg" for kind in CHARTS]
    svg = (tmp_path / "charts/c_stacked_bars.svg").read_text()
    assert "p: as one likes" in svg
    with pytest.raises(ParameterError, match=r"report.charts.c: no result has rms_error_all"):
        write_report(results, {"charts": {"c": {"measures": "rms_error_all"}}}, tmp_path)


def test_the_same_files_every_time(tmp_path, results):
    for draw in (stacked_bars_figure, radar_figure, correlation_figure):
        first, second = (save_figure(draw(*_given(Chart(""), results)), tmp_path / name / "p", "") for name in "ab")
        assert [a.read_bytes() == b.read_bytes() for a, b in zip(first, second, strict=True)] == [True, True]
