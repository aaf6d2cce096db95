"""Plots of ROC curves by their parts."""

import numpy as np

from stereo_framework.evaluation.roc import Point, roc_curve
from stereo_framework.figures.roc_plot import roc_figure

METHODS = {
    "dense": [Point(0, 0.125)],
    "sparse $x": [Point(0.25, 0.25), Point(0.5, 0.0625), Point(0.5, 0.5), Point(1, 0)],
}


def _lines(figure):
    [axes] = figure.axes
    return axes, {
        line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")
    }


def test_curves_markers_and_boundary():
    boundary = [*METHODS["dense"], METHODS["sparse $x"][1]]
    figure = roc_figure(METHODS, boundary=boundary, title="cones")
    axes, named = _lines(figure)
    assert (axes.get_xlabel(), axes.get_ylabel(), figure.get_suptitle()) == (
        "sparsity rate",
        "error rate",
        "cones",
    )
    assert list(named) == ["zero-algorithm", "feasibility boundary", *METHODS]
    band = named["feasibility boundary"]
    x, y = band.get_data()
    np.testing.assert_allclose(y, np.interp(x, x, roc_curve(boundary)(x)), atol=0.125)
    assert {(0, 0.125), (0.5, 0.125), (0.5, 0.0625), (0.9375, 0.0625)} <= set(
        zip(x.tolist(), y.tolist(), strict=True)
    )
    assert band.get_linewidth() > 2 * named["dense"].get_linewidth()
    drawn = [set(map(tuple, line.get_xydata().tolist())) for line in axes.lines]
    # All settings, and those of the ROC set.
    assert {p.rates for p in METHODS["sparse $x"]} in drawn
    assert {(0.25, 0.25), (0.5, 0.0625), (1, 0)} in drawn
    texts = [text.get_text() for text in roc_figure(METHODS).legends[0].get_texts()]
    assert texts == ["zero-algorithm", *METHODS]


def test_axes_are_logarithms_of_shifted_rates():
    axes, _ = _lines(roc_figure(METHODS))
    places = axes.transData.transform([(0, 0), (0.009, 0.009), (0.099, 0.099), (0.999, 0.999)])
    # 0.001, 0.01, 0.1 and 1 after the shift: equal steps.
    np.testing.assert_allclose(np.diff(places, n=2, axis=0), 0, atol=1e-6 * np.ptp(places))
    inside = axes.get_window_extent()
    assert inside.contains(*places[0])
    assert inside.contains(*axes.transData.transform((1, 1)))


def test_a_curve_is_drawn_as_it_is():
    curve = roc_curve(METHODS["sparse $x"])
    _, named = _lines(roc_figure({}, boundary=curve))
    x, y = named["feasibility boundary"].get_data()
    assert (x[0], y[0], x[-1], y[-1]) == (0, 1, 1, 0)
    beside = (np.abs(x[:, None] - curve.x) > 1e-9).all(axis=1)
    np.testing.assert_allclose(y[beside], curve(x[beside]), atol=1e-12)
