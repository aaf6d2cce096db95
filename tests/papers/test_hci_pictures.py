"""Pictures of the HCI metrics and their subsets."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.hci import HCI_METRICS, Parameters, extract_subsets, foreground_fattening, offset
from stereo_framework.figures.saving import save_picture
from stereo_framework.io import read_image
from stereo_framework.papers.hci2015 import metric_pictures as pictures

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


def _shown(axes):
    return np.asarray(axes.images[0].get_array()).astype(int)


def _legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_subsets_are_drawn_where_they_are_evaluated(scene):
    image, _, _, subsets = scene
    figure = pictures.subsets_figure(image, subsets, "a_scene $1$")
    bands, planes, structures = map(_shown, figure.axes)
    base = pictures.dimmed(image).astype(int)
    counted, edges = subsets.evaluated, subsets.edges
    for mask, colour in (
        (edges, pictures.EDGE),
        (subsets.foreground & ~edges, pictures.FOREGROUND),
        (subsets.background & ~edges, pictures.BACKGROUND),
    ):
        assert (bands[mask & counted] == colour).all()
        assert (bands[mask & ~counted] == base[mask & ~counted]).all()
    np.testing.assert_array_equal((planes != base).any(axis=2), subsets.planes > 0)
    np.testing.assert_array_equal((structures != base).any(axis=2), (subsets.structures > 0) | subsets.neighbourhood)
    surfaces = f"planar surfaces: 3, {(subsets.planes > 0).mean():.0%} of the image"
    assert [axes.get_title() for axes in figure.axes] == ["depth discontinuities", surfaces, "fine structures: 1"]
    assert _legend(figure.axes[0]) == ["background M_b", "foreground M_f", "discontinuity M_d"]
    assert [text.get_text() for text in figure.texts] == ["a_scene $1$"]


def test_every_label_has_a_colour_of_its_own():
    colours = [pictures.colour(i) for i in range(1, 33)]
    assert len(set(colours)) == 32
    assert min(abs(np.subtract(a, b)).max() for a, b in pairwise(colours)) > 60


def test_a_share_shows_what_is_counted(scene):
    image, disparity, truth, subsets = scene
    score = foreground_fattening(disparity, truth, subsets)
    (axes,) = pictures.metrics_figure(image, {"hci_foreground_fattening": score}).axes
    shown = _shown(axes)
    assert (shown[score.picture == 1] == pictures.BAD).all()
    assert (shown[score.picture == 0] == pictures.GOOD).all()
    assert (shown[np.isnan(score.picture)] == pictures.dimmed(image)[np.isnan(score.picture)]).all()
    assert _legend(axes) == ["rest of M_b", "foreground fattening"]
    assert axes.get_title() == f"foreground fattening (D_fat): {score.value:.3g} fraction"


@pytest.mark.parametrize(("raised", "extend"), [(0, "neither"), (3, "max")])
def test_values_have_a_bar_with_their_unit(scene, raised, extend):
    image, disparity, _, subsets = scene
    axes, bar = pictures.metrics_figure(image, {"hci_offset": offset(disparity + np.float32(raised), subsets)}).axes
    values = axes.images[1]
    assert (bar.get_xlabel(), bar.get_xlim(), values.get_clim()) == ("offset (px)", (0, 2), (0, 2))
    np.testing.assert_allclose(values.get_array()[subsets.planes > 0], 0.5 + raised, atol=1e-4)
    np.testing.assert_array_equal(values.get_array().mask, np.isnan(offset(disparity, subsets).picture))
    assert (len(bar.patches) > 0) == (extend == "max")


@pytest.mark.parametrize("holes", ["some", "all"])
def test_all_nine(scene, tmp_path, holes):
    image, disparity, truth, subsets = scene
    seen = disparity.copy()
    if holes == "all":
        subsets = replace(subsets, evaluated=np.zeros((ROWS, COLUMNS), bool))
        save_picture(tmp_path / "s.png", pictures.subsets_figure(image, subsets))
    seen[:50] = np.nan
    scores = {name: metric.measure(seen, truth, subsets) for name, metric in HCI_METRICS.items()}
    figure = pictures.metrics_figure(image[..., 0].astype(np.float32), scores, "all")
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert [title.split(" (")[0] for title in titles] == [metric.title for metric in HCI_METRICS.values()]
    background = subsets.background & subsets.evaluated
    measured = f", {background[50:].sum() / background.sum():.1%} measured" if holes == "some" else "nothing to measure"
    assert titles[0].endswith(measured)
    bars = [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()]
    assert bars == [f"{HCI_METRICS[name].title} ({HCI_METRICS[name].unit})" for name in pictures.LARGEST]
    save_picture(tmp_path / "m.png", figure)
    assert read_image(tmp_path / "m.png").shape[2] == 3


def test_images_of_another_size_are_told(scene):
    image, disparity, _, subsets = scene
    with pytest.raises(DataError, match=r"^image is 179x100, subsets is 180x100; pictures need both of one size$"):
        pictures.subsets_figure(image[:, 1:], subsets)
    with pytest.raises(DataError, match="image is 179x100, score is 180x100"):
        pictures.metrics_figure(image[:, 1:], {"hci_offset": offset(disparity, subsets)})
