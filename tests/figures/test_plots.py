"""Plots: what is drawn is what was measured, and it can be read."""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from figure_parts import check_layout, legends
from made_results import SCENES, result, sweep

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.figures._curves import Mark, Positions, _limits
from stereo_framework.figures.plots import plot_figure
from stereo_framework.figures.saving import save_figure
from stereo_framework.script.report import read_report
from stereo_framework.sweep import ResultSet

TRUNCATION, INTERVAL, BOX, BAD = (
    "matching_cost.truncation",
    "matching_cost.birchfield_tomasi",
    "aggregation.box.size",
    "bad_pixels_nonocc",
)


def _plot(**given):
    [plot] = read_report({"plots": {"p": given}}).plots
    return plot


def _bad(scene, cost, birchfield_tomasi, truncation):
    return {
        BAD: 10 / (truncation or 40)
        + (cost == "sd")
        - 2 * birchfield_tomasi
        + 5 * (scene == SCENES[1])
    }


AXES = {
    "matching_cost": ["ad", "sd"],
    INTERVAL: [False, True],
    TRUNCATION: [1, 2, 5, 10, 20, 50, None],
}
FIGURE_8 = {
    "x": TRUNCATION,
    "x_scale": "log",
    "y": BAD,
    "series": ["matching_cost", INTERVAL],
    "panels": "scene",
}


def _curves(axes):
    """Lines of the data; grids and the ends of error bars have other markers or none."""
    return [line for line in axes.lines if line.get_marker() in tuple("os^DvPX*")]


def _check_drawn(figure):
    figure.draw_without_rendering()  # which lays it out
    check_layout(figure)


def _xticks(axes):
    return [text.get_text() for text in axes.get_xticklabels()]


def test_the_form_of_figure_8():
    figure = plot_figure(_plot(**FIGURE_8), sweep(AXES, _bad))
    assert [axes.get_title() for axes in figure.axes] == ["tsukuba", "venus"]
    assert legends(figure) == [
        "ad, birchfield_tomasi=false",
        "ad, birchfield_tomasi=true",
        "sd, birchfield_tomasi=false",
        "sd, birchfield_tomasi=true",
    ]
    series = list(itertools.product(["ad", "sd"], [False, True]))
    for scene, axes in zip(SCENES, figure.axes, strict=True):
        assert axes.get_xlabel() == f"{TRUNCATION} (grey levels)"
        assert _xticks(axes) == ["1", "2", "5", "10", "20", "50", "none"]
        for (cost, birchfield_tomasi), curve in zip(series, _curves(axes), strict=True):
            places, values = curve.get_data()
            np.testing.assert_allclose(
                values, [_bad(scene, cost, birchfield_tomasi, t)[BAD] for t in AXES[TRUNCATION]]
            )
            np.testing.assert_allclose(places[:-1], np.log(AXES[TRUNCATION][:-1]))
            assert places[-1] > places[-2]
    assert [axes.get_ylabel() for axes in figure.axes] == [f"{BAD} (%)", ""]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert "protocol p" in [text.get_text() for text in figure.texts]
    _check_drawn(figure)


def test_curves_differ_without_colours():
    axes = {
        "matching_cost": [f"cost {i}" for i in range(7)],
        INTERVAL: [False, True],
        TRUNCATION: [1, 2],
    }
    for series in (["matching_cost"], ["matching_cost", INTERVAL]):
        figure = plot_figure(
            _plot(**FIGURE_8 | {"series": series}), sweep(axes, lambda *_: {BAD: 1.0}, SCENES[:1])
        )
        curves = _curves(figure.axes[0])
        looks = {
            (c.get_marker(), c.get_markerfacecolor() == "white", c.get_linestyle()) for c in curves
        }
        colours = {c.get_color() for c in curves}
        assert len(looks) == len(curves) == (7 if len(series) == 1 else 14)
        assert len(colours) == 7
        _check_drawn(figure)


def test_what_is_not_shown_is_averaged_and_told():
    found = sweep(
        {TRUNCATION: [1, 5], "seed": [1, 2, 3]},
        lambda scene, t, seed: {BAD: t + seed + 3.0 * (scene == SCENES[1])},
    )
    figure = plot_figure(_plot(x=TRUNCATION, y=BAD, spread="range"), found)
    [axes] = figure.axes
    [curve] = _curves(axes)
    np.testing.assert_allclose(curve.get_ydata(), [4.5, 8.5])
    [bars] = axes.collections
    np.testing.assert_allclose(
        [segment[:, 1] for segment in bars.get_segments()], [[2, 7], [6, 11]]
    )
    [footnote] = [text.get_text().replace("\n", " ") for text in figure.texts]
    assert (
        footnote
        == "mean over 2 scenes (tsukuba, venus), 3 values of seed; bars: smallest to largest; protocol p"
    )
    assert legends(figure) == []
    _check_drawn(figure)
    deviation = plot_figure(_plot(x=TRUNCATION, y=BAD, spread="deviation"), found)
    spread = np.std([2, 3, 4, 5, 6, 7], ddof=1)
    [bars] = deviation.axes[0].collections
    np.testing.assert_allclose(bars.get_segments()[0][:, 1], [4.5 - spread, 4.5 + spread])


def test_several_statistics_are_series():
    found = sweep({TRUNCATION: [1, 5]}, lambda scene, t: {BAD: 1.0 * t, "bad_pixels_all": 2.0 * t})
    figure = plot_figure(_plot(x=TRUNCATION, y=[BAD, "bad_pixels_all"], panels="scene"), found)
    assert legends(figure) == [BAD, "bad_pixels_all"]
    assert figure.axes[0].get_ylabel() == "bad_pixels (%)"
    np.testing.assert_allclose([c.get_ydata() for c in _curves(figure.axes[1])], [[1, 5], [2, 10]])


def test_the_title_of_a_plot_stands_above_it():
    found = sweep({TRUNCATION: [1, 5]}, lambda scene, t: {BAD: 1.0 * t}, SCENES[:1])
    figure = plot_figure(_plot(x=TRUNCATION, y=BAD, title="Errors of 2002"), found)
    titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
    assert "Errors of 2002" in titles


def test_statistics_of_different_units_in_panels():
    found = sweep({TRUNCATION: [1, 5]}, lambda scene, t: {BAD: 1.0 * t, "rms_error_all": 200.0 * t})
    figure = plot_figure(
        _plot(x=TRUNCATION, y=[BAD, "rms_error_all"], panels="statistic", series="scene"), found
    )
    assert [axes.get_ylabel() for axes in figure.axes] == [f"{BAD} (%)", "rms_error_all (pixels)"]
    assert figure.axes[0].get_ylim()[1] < 6
    assert figure.axes[1].get_ylim()[1] > 1000
    _check_drawn(figure)


def test_methods_with_axes_of_their_own_in_rows():
    box = sweep({BOX: [3, 5]}, lambda scene, size: {BAD: float(size)}, method="box")
    diffused = sweep(
        {"aggregation.diffusion.iterations": [10, 20]},
        lambda scene, n: {BAD: float(n)},
        method="diffusion",
    )
    plot = _plot(x=[BOX, "aggregation.diffusion.iterations"], y=BAD, panels=["method", "scene"])
    figure = plot_figure(plot, box + diffused)
    titles = [
        f"{method}, {scene}" for method in ("box", "diffusion") for scene in ("tsukuba", "venus")
    ]
    assert [axes.get_title() for axes in figure.axes] == titles
    assert [axes.get_xlabel() for axes in figure.axes] == [f"{BOX} (pixels)"] * 2 + [
        "aggregation.diffusion.iterations"
    ] * 2
    assert [_xticks(axes) for axes in figure.axes] == [["3", "5"]] * 2 + [["10", "20"]] * 2
    _check_drawn(figure)


def test_names_along_the_axis():
    found = sweep({}, lambda s: {BAD: 1.0}, method="one")
    found += sweep({}, lambda s: {BAD: 2.0}, method="two")
    figure = plot_figure(
        _plot(x="method", y=BAD, series="scene", labels={"one": "the first", "tsukuba": "Tsukuba"}),
        found,
    )
    [axes] = figure.axes
    assert _xticks(axes) == ["the first", "two"]
    assert legends(figure) == ["Tsukuba", "venus"]
    for curve in _curves(axes):
        assert curve.get_linestyle() == "None"
        np.testing.assert_allclose(curve.get_xdata(), [0, 1], atol=0.3)
    # Side by side, not on top of each other.
    first, second = _curves(axes)
    assert first.get_xdata()[0] < 0 < second.get_xdata()[0]
    long = ResultSet(
        result(SCENES[0], {}, {BAD: float(i)}, method=f"a method with a long name {i}")
        for i in range(6)
    )
    crowded = plot_figure(_plot(x="method", y=BAD), long)
    assert {text.get_rotation() for text in crowded.axes[0].get_xticklabels()} == {25}
    _check_drawn(crowded)


@pytest.mark.parametrize("count", [1, 3, 4, 7])
def test_many_panels_are_wrapped(count):
    found = sweep(
        {TRUNCATION: [1, 5]}, lambda scene, t: {BAD: float(t)}, [f"s/{i}" for i in range(count)]
    )
    figure = plot_figure(
        _plot(
            x=TRUNCATION, y=BAD, panels="scene", series="method", title="A title of many words " * 5
        ),
        found,
    )
    assert [axes.get_title() for axes in figure.axes] == [str(i) for i in range(count)]
    columns = len({round(axes.get_position().x0, 2) for axes in figure.axes})
    assert columns <= 3
    _check_drawn(figure)


def test_logarithmic_statistics():
    found = sweep({TRUNCATION: [1, 5, 20]}, lambda scene, t: {"energy": 0.0, BAD: 0.01 * t**2})
    [axes] = plot_figure(
        _plot(x=TRUNCATION, y=BAD, y_scale="log", where={"scene": "tsukuba"}), found[:3]
    ).axes
    low, high = axes.get_ylim()
    assert 0 < low < 0.01 < 4 < high
    shown = [
        text.get_text() for text in axes.get_yticklabels() if low <= text.get_position()[1] <= high
    ]
    assert {"0.01", "0.1", "1"} <= set(shown)


def test_a_logarithmic_axis_has_no_zero():
    found = sweep({TRUNCATION: [1, 5, 20]}, lambda scene, t: {BAD: t - 1.0}, SCENES[:1])
    log = _plot(x=TRUNCATION, y=BAD, y_scale="log")
    figure = plot_figure(log, found)
    assert _curves(figure.axes[0])[0].get_ydata().tolist() == [4, 19]
    assert "not above 0" in figure.texts[-1].get_text().replace("\n", " ")
    with pytest.raises(
        ParameterError, match="no value to draw; without values that are not above 0"
    ):
        plot_figure(log, found[:1])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("count", "words"), [(2, 8), (40, 2), (3, 14)])
def test_long_and_many_names_do_not_touch(count, words):
    methods = [f"{i} {'word > ' * words}" for i in range(count)]
    figure = plot_figure(
        _plot(x="method", y=BAD),
        ResultSet(result(SCENES[0], {}, {BAD: 1.0}, method=name) for name in methods),
    )
    _check_drawn(figure)
    [axes] = figure.axes
    assert axes.get_window_extent().height > 50
    # From one name to the next along the axis, turned into the direction in which the lines of a name follow each other.
    labels = axes.get_xticklabels()
    first, second = (
        axes.transData.transform((label.get_position()[0], 0))[0] for label in labels[:2]
    )
    lines = 1 + labels[0].get_text().count("\n")
    assert (second - first) * math.sin(math.radians(25)) > lines * labels[
        0
    ].get_fontsize() * figure.dpi / 72


def test_a_failed_run_leaves_a_gap():
    found = sweep({TRUNCATION: [1, 5, 20]}, lambda scene, t: {BAD: float(t)}, SCENES[:1])
    failed = result(SCENES[0], found[1].axes, {}, error="no luck")
    with_failure = ResultSet([found[0], failed, found[2]])
    figure = plot_figure(_plot(x=TRUNCATION, y=BAD), with_failure)
    assert _curves(figure.axes[0])[0].get_ydata().tolist() == [1, 20]
    assert "not given: bad_pixels_nonocc of truncation=5" in figure.texts[-1].get_text().replace(
        "\n", " "
    )


def test_nothing_to_draw():
    found = sweep({TRUNCATION: [1]}, lambda scene, t: {BAD: math.nan})
    with pytest.raises(ParameterError, match="no value to draw"):
        plot_figure(_plot(x=TRUNCATION, y=BAD), found)
    with pytest.raises(ParameterError, match=f"no result has {BOX}"):
        plot_figure(_plot(x=BOX, y=BAD), found)
    with pytest.raises(ParameterError, match="x_scale: log: 0 is not above 0"):
        plot_figure(
            _plot(x=TRUNCATION, y=BAD, x_scale="log"),
            sweep({TRUNCATION: [0, 1]}, lambda s, t: {BAD: 1.0}),
        )


def test_the_same_files_every_time(tmp_path):
    plot = _plot(x=TRUNCATION, y=BAD, series="matching_cost", title="$x$ & <y>")
    found = sweep(
        {"matching_cost": ["ad", "sd"], TRUNCATION: [1, None]},
        lambda scene, cost, t: {BAD: t or 9.0},
    )
    first, second = (
        save_figure(plot_figure(plot, found), tmp_path / name / "p", "p: text") for name in "ab"
    )
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()
    assert [path.name for path in first] == ["p.svg", "p.png"]
    assert b"p: text" in first[0].read_bytes()
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be written"):
        save_figure(plot_figure(plot, found), tmp_path / "file" / "p", "")


def test_matplotlib_loads_late_and_pyplot_never(tmp_path):
    program = """
import sys
from pathlib import Path
import numpy as np
from made_results import sweep
from stereo_framework.figures.disparity_figures import disparity_figure, side_by_side_figure
from stereo_framework.figures.roc_plot import roc_figure
from stereo_framework.figures.saving import rendered, svg_text
from stereo_framework.page.report_files import write_reports
assert "matplotlib" not in sys.modules
found = sweep({"seed": [1, 2]}, lambda scene, seed: {"bad_pixels_all": 1.0})
write_reports([(found, {"plots": {"a": {"x": "seed", "y": "bad_pixels_all"}}})], Path(sys.argv[1]))
one = np.ones((20, 30), np.float32)
rendered(side_by_side_figure(one, {"a": one}, (0, 2), one)), svg_text(roc_figure({}))
import matplotlib
assert matplotlib.rcParams["svg.hashsalt"] is None
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run(
        [sys.executable, "-c", program, tmp_path],
        check=True,
        env={"PYTHONPATH": f"tests:{Path.cwd()}"},
    )


# Positions of values -----------------------------------------------------------------------------------------------------


def test_none_stands_apart_at_the_right_end():
    linear = Positions([None, 10, 0], "linear", {})
    assert (linear[0], linear[10]) == (0, 10)
    assert 10 < linear.none < linear[None] < linear.limits[1]
    category = Positions([50, None, 1, 5], "category", {})
    assert [category[v] for v in (1, 5, 50, None)] == [0, 1, 2, 3]
    assert category.none is None
    assert [text for _, text in Positions([None], "log", {}).ticks] == ["none"]


def test_ticks_that_would_touch_are_left_out():
    def texts(values, scale, characters):
        return [text for _, text in Positions(values, scale, {}).ticks_that_fit(characters)]

    assert texts(range(3, 30, 2), "linear", 60) == [str(i) for i in range(3, 30, 2)]
    assert texts(range(3, 30, 2), "linear", 30) == [
        "3",
        "5",
        "7",
        "9",
        "13",
        "17",
        "21",
        "25",
        "29",
    ]
    assert texts([1, 2, 5, 10, 20, 50, None], "linear", 30) == ["1", "5", "10", "20", "50", "none"]
    assert texts(["a long name", "another long name"], "category", 10) == [
        "a long name",
        "another long name",
    ]
    for count, characters in itertools.product((1, 2, 9, 100), (1, 8, 30)):
        chosen = Positions([10**i for i in range(count)], "log", {}).ticks_that_fit(characters)
        assert chosen


def test_texts_make_a_category_in_their_order():
    found = Positions(["b", "a", True], "linear", {"b": "B"})
    assert not found.ordered
    assert found.ticks == [(0, "B"), (1, "a"), (2, "true")]


@pytest.mark.parametrize(
    ("values", "scale", "expected"),
    [
        # The axis begins at 0 if that leaves at most half of it empty.
        ([4, 8], "linear", (0, 8.4)),
        ([4.5, 8], "linear", (4.325, 8.175)),
        ([0, 8], "linear", (0, 8.4)),
        ([-4, 4], "linear", (-4.4, 4.4)),
        ([5, 5], "linear", (2.5, 7.5)),
        ([1, 1e50], "log", (1e-3, 1e53)),
        ([0, 1, 1e50], "log", (1e-3, 1e53)),
        ([2, 2], "log", (2 / 1.5, 3)),
    ],
)
def test_ends_of_the_vertical_axis(values, scale, expected):
    marks = [Mark(0, value) for value in values]
    assert _limits(marks, scale) == pytest.approx(expected)
