"""Pictures of the HCI metrics and their subsets."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.hci import HCI_METRICS, Parameters, extract_subsets, foreground_fattening, offset
from stereo_framework.figures.saving import save_picture
from stereo_framework.io import read_image
from stereo_framework.papers.hci2015 import pictures

ROWS, COLUMNS = 100, 180


@pytest.fixture(scope="module")
def scene():
    """Image, a fattened and raised map, truth, subsets."""
    truth = np.full((ROWS, COLUMNS), 10, np.float32)
    truth[:, 60:100] = 20
    truth[40:70, 130:133] = 20
    disparity = truth.copy()
    disparity[:, 58:60] = 20
    disparity += np.float32(0.5)
    image = np.random.default_rng(0).integers(0, 256, (ROWS, COLUMNS, 3), dtype=np.uint8)
    return image, disparity, truth, extract_subsets(truth, parameters=Parameters(border=10))


def _layers(axes):
    """What is drawn over the image: where, and in which colour."""
    return [(np.asarray(image.get_array())[..., 3] > 0, image.get_array().max(axis=(0, 1))) for image in axes.images[1:]]


def _legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_subsets_are_drawn_where_they_are_evaluated(scene):
    image, _, _, subsets = scene
    figure = pictures.subsets_figure(image, subsets, "a_scene $1$")
    bands, planes, structures = figure.axes
    wanted = (subsets.background, pictures.BACKGROUND), (subsets.foreground, pictures.FOREGROUND), (subsets.edges, pictures.EDGE)
    for (where, colour), (mask, named) in zip(_layers(bands), wanted, strict=True):
        np.testing.assert_array_equal(where, mask & subsets.evaluated)
        np.testing.assert_allclose(colour, to_rgba(named))
    np.testing.assert_array_equal(~planes.images[1].get_array().mask, subsets.planes > 0)
    [(beside, _)] = _layers(SimpleNamespace(images=structures.images[:2]))
    np.testing.assert_array_equal(beside, subsets.neighbourhood & subsets.evaluated)
    np.testing.assert_array_equal(~structures.images[2].get_array().mask, subsets.structures > 0)
    surfaces = f"planes M_p: 3, {(subsets.planes > 0).mean():.0%} of the image"
    assert [axes.get_title() for axes in figure.axes] == ["depth discontinuities", surfaces, "fine structures M_s: 1"]
    assert _legend(bands) == ["background M_b", "foreground M_f", "discontinuity M_d"]
    assert [text.get_text() for text in figure.texts] == ["a_scene $1$"]
    # Each label has a hue of its own.
    assert len(np.unique(planes.images[1].get_array().compressed().round(3))) == 3


def test_a_share_shows_what_is_counted(scene):
    image, disparity, truth, subsets = scene
    score = foreground_fattening(disparity, truth, subsets)
    (axes,) = pictures.metrics_figure(image, {"hci_foreground_fattening": score}).axes
    (measured, good), (wrong, bad) = _layers(axes)
    np.testing.assert_array_equal(measured, np.isfinite(score.picture))
    np.testing.assert_array_equal(wrong, score.picture == 1)
    np.testing.assert_allclose([good, bad], [to_rgba(pictures.GOOD), to_rgba(pictures.BAD)])
    assert _legend(axes) == ["rest of M_b", "foreground fattening"]
    assert axes.get_title() == f"foreground fattening (D_fat): {score.value:.3g} fraction"


def test_values_have_a_bar_with_their_unit(scene):
    image, disparity, _, subsets = scene
    axes, bar = pictures.metrics_figure(image, {"hci_offset": offset(disparity, subsets)}).axes
    values = axes.images[1]
    assert (bar.get_xlabel(), bar.get_xlim(), values.get_clim()) == ("offset (px)", (0, 2), (0, 2))
    np.testing.assert_allclose(values.get_array()[subsets.planes > 0], 0.5, atol=1e-4)
    np.testing.assert_array_equal(values.get_array().mask, np.isnan(offset(disparity, subsets).picture))


def _all_nine(scene, subsets):
    image, disparity, truth, _ = scene
    seen = np.where(np.arange(ROWS)[:, None] < 50, np.nan, disparity)
    scores = {name: metric.measure(seen, truth, subsets) for name, metric in HCI_METRICS.items()}
    return pictures.metrics_figure(image[..., 0].astype(np.float32), scores, "all")


def test_all_nine(scene, tmp_path):
    subsets = scene[-1]
    figure = _all_nine(scene, subsets)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert [title.split(" (")[0] for title in titles] == [metric.title for metric in HCI_METRICS.values()]
    background = subsets.background & subsets.evaluated
    assert titles[0].endswith(f", {background[50:].sum() / background.sum():.1%} measured")
    bars = [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()]
    assert bars == [f"{m.title} ({m.unit})" for m in HCI_METRICS.values() if m.symbol in pictures.LARGEST]
    save_picture(tmp_path / "m.png", figure)
    assert read_image(tmp_path / "m.png").shape[2] == 3
    nothing = replace(subsets, evaluated=np.zeros((ROWS, COLUMNS), bool))
    assert _all_nine(scene, nothing).axes[0].get_title().endswith("nothing to measure")
    save_picture(tmp_path / "s.png", pictures.subsets_figure(scene[0], nothing))


def test_images_of_another_size_are_told(scene):
    image, disparity, _, subsets = scene
    with pytest.raises(DataError, match=r"^image is 179x100, subsets is 180x100; pictures need both of one size$"):
        pictures.subsets_figure(image[:, 1:], subsets)
    with pytest.raises(DataError, match="image is 179x100, score is 180x100"):
        pictures.metrics_figure(image[:, 1:], {"hci_offset": offset(disparity, subsets)})
