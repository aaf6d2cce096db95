"""Pictures of the HCI metrics and their subsets."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from figure_parts import legends

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.hci import (
    HCI_METRICS,
    Parameters,
    extract_subsets,
    foreground_fattening,
    offset,
)
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


def _picture(axes):
    """The colours of a picture's own pixels."""
    return np.asarray(axes.images[0].get_array())


def _where(axes, colour):
    return (_picture(axes) == colour).all(axis=2)


def test_subsets_are_drawn_where_they_are_evaluated(scene):
    image, _, _, subsets = scene
    figure = pictures.subsets_figure(image, subsets, "a_scene $1$")
    bands, planes, structures = figure.axes
    counted, pale = subsets.evaluated, _picture(planes)[0, 0]
    # What is drawn later covers what was drawn before.
    drawn = np.zeros((ROWS, COLUMNS), bool)
    for mask, colour in (
        (subsets.edges, pictures.EDGE),
        (subsets.foreground, pictures.FOREGROUND),
        (subsets.background, pictures.BACKGROUND),
    ):
        np.testing.assert_array_equal(_where(bands, colour), mask & counted & ~drawn)
        drawn |= mask & counted
    untouched = _picture(bands)[~drawn]
    np.testing.assert_array_equal(
        untouched,
        np.rint(255 - 0.45 * (255 - image.mean(axis=2)))[~drawn][:, None].repeat(3, axis=1),
    )
    assert pale[0] == pale[1] == pale[2]
    for axes, labels in ((planes, subsets.planes), (structures, subsets.structures)):
        coloured = np.ptp(_picture(axes).astype(int), axis=2) > 0
        np.testing.assert_array_equal(coloured, (labels > 0) & counted)
    beside = subsets.neighbourhood & counted & (subsets.structures == 0)
    np.testing.assert_array_equal(_where(structures, pictures.NEIGHBOURHOOD)[beside], True)
    surfaces = f"planes M_p: 3, {(subsets.planes > 0).mean():.0%} of the image"
    assert [axes.get_title() for axes in figure.axes] == [
        "depth discontinuities",
        surfaces,
        "fine structures M_s: 1",
    ]
    assert legends(figure) == [
        "background M_b",
        "foreground M_f",
        "discontinuity M_d",
        "neighbourhood M_n",
    ]
    assert [text.get_text() for text in figure.texts] == ["a_scene $1$"]
    # Each label has a hue of its own.
    hues = [
        np.median(_picture(planes)[(subsets.planes == label) & counted], axis=0)
        for label in (1, 2, 3)
    ]
    assert min(np.abs(a - b).max() for a, b in itertools.combinations(hues, 2)) > 60


def test_a_share_shows_what_is_counted(scene):
    image, disparity, truth, subsets = scene
    score = foreground_fattening(disparity, truth, subsets)
    figure = pictures.metrics_figure(image, {"hci_foreground_fattening": score})
    (axes,) = figure.axes
    np.testing.assert_array_equal(
        _where(axes, pictures.GOOD), np.isfinite(score.picture) & (score.picture != 1)
    )
    np.testing.assert_array_equal(_where(axes, pictures.BAD), score.picture == 1)
    assert legends(figure) == ["right", "wrong"]
    assert axes.get_title() == "foreground fattening (D_fat)"
    assert [text.get_text() for text in figure.texts] == [f"{score.value:.3g} fraction"]


def test_values_have_a_bar_with_their_unit(scene):
    image, disparity, _, subsets = scene
    axes, bar = pictures.metrics_figure(image, {"hci_offset": offset(disparity, subsets)}).axes
    under, values = axes.images
    assert (bar.get_xlabel(), bar.get_xlim(), values.get_clim()) == ("offset (px)", (0, 2), (0, 2))
    np.testing.assert_allclose(values.get_array()[subsets.planes > 0], 0.5, atol=1e-4)
    np.testing.assert_array_equal(
        values.get_array().mask, np.isnan(offset(disparity, subsets).picture)
    )
    # Elsewhere the image is seen.
    assert values.get_cmap().get_bad()[3] == 0
    assert under.get_array().shape == (ROWS, COLUMNS, 3)


def _all_nine(scene, subsets):
    image, disparity, truth, _ = scene
    seen = np.where(np.arange(ROWS)[:, None] < 50, np.nan, disparity)
    scores = {name: metric.compute(seen, truth, subsets) for name, metric in HCI_METRICS.items()}
    return pictures.metrics_figure(image[..., 0].astype(np.float32), scores, "all")


def test_all_nine(scene, tmp_path):
    subsets = scene[-1]
    figure = _all_nine(scene, subsets)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == [f"{metric.title} ({metric.symbol})" for metric in HCI_METRICS.values()]
    background = subsets.background & subsets.evaluated
    assert (
        figure.texts[0]
        .get_text()
        .endswith(f", {background[50:].sum() / background.sum():.1%} measured")
    )
    bars = [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()]
    assert bars == [
        f"{m.title} ({m.unit})" for m in HCI_METRICS.values() if m.symbol in pictures.LARGEST
    ]
    save_picture(tmp_path / "m.png", figure)
    assert read_image(tmp_path / "m.png").shape[2] == 3
    nothing = replace(subsets, evaluated=np.zeros((ROWS, COLUMNS), bool))
    assert _all_nine(scene, nothing).texts[0].get_text().endswith("nothing to measure")
    save_picture(tmp_path / "s.png", pictures.subsets_figure(scene[0], nothing))


def test_images_of_another_size_are_told(scene):
    image, disparity, _, subsets = scene
    with pytest.raises(
        DataError, match=r"^image is 179x100, subsets is 180x100; pictures need both of one size$"
    ):
        pictures.subsets_figure(image[:, 1:], subsets)
    with pytest.raises(DataError, match="image is 179x100, score is 180x100"):
        pictures.metrics_figure(image[:, 1:], {"hci_offset": offset(disparity, subsets)})
