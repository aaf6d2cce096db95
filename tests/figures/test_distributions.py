"""Histograms of maps as curves."""

import numpy as np
import pytest

from stereo_framework.core.errors import ParameterError
from stereo_framework.figures.plots import distributions_figure


def test_shares_by_bin():
    values = np.array([[0.0, 0.05, 0.26], [np.nan, -0.24, 0.24]])
    figure = distributions_figure(
        {"error (px)": {"fitted": values, "none": np.array([np.nan])}}, 0.25, title="t"
    )
    [axes] = figure.axes
    [line, *_] = [line for line in axes.lines if len(line.get_xdata()) == 3]
    np.testing.assert_allclose(line.get_xdata(), [-0.25, 0, 0.25])
    np.testing.assert_allclose(line.get_ydata(), [20, 40, 40])
    assert axes.get_xlabel() == "error (px)"
    assert axes.get_ylabel() == "pixels (%)"


@pytest.mark.parametrize(
    "panels", [{}, {"error (px)": {}}, {"error (px)": {"none": np.array([np.nan])}}]
)
def test_nothing_to_draw_is_one_line(panels):
    with pytest.raises(ParameterError, match="^distributions: no map has a value to draw$"):
        distributions_figure(panels, 0.25)
