"""Pictures of the HCI metrics and their subsets."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.evaluation.hci import HCI_METRICS, Parameters, extract_subsets, foreground_fattening, offset
from stereo_framework.figures import hci_pictures
from stereo_framework.figures.hci_pictures import (
    metrics_figure,
    subsets_figure,
)
from stereo_framework.figures.saving import save_picture
from stereo_framework.io import read_image

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


def _panel(axes):
    """What a panel shows, at the image's own size."""
    shown = np.asarray(axes.images[0].get_array()).astype(int)
    if len(axes.images) > 1:
        values = axes.images[1].get_array()
        shown[~values.mask] = (axes.images[1].to_rgba(values, bytes=True)[..., :3])[~values.mask]
    return shown


def _legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_subsets_are_drawn_where_they_are_evaluated(scene):
    image, _, _, subsets = scene
    figure = subsets_figure(image, subsets, "a_scene $1$")
    bands, planes, structures = map(_panel, figure.axes)
    base = hci_pictures._dimmed(image).astype(int)
    counted, edges = subsets.evaluated, subsets.edges
    for mask, colour in (
        (edges, hci_pictures._EDGE),
        (subsets.foreground & ~edges, hci_pictures._FOREGROUND),
        (subsets.background & ~edges, hci_pictures._BACKGROUND),
    ):
        assert (bands[mask & counted] == colour).all()
        assert (bands[mask & ~counted] == base[mask & ~counted]).all()
    changed = (planes != base).any(axis=2)
    np.testing.assert_array_equal(changed, subsets.planes > 0)
    changed = (structures != base).any(axis=2)
    np.testing.assert_array_equal(changed, (subsets.structures > 0) | subsets.neighbourhood)
    assert [axes.get_title() for axes in figure.axes] == [
        "depth discontinuities",
        f"planar surfaces: 3, {(subsets.planes > 0).mean():.0%} of the image",
        "fine structures: 1",
    ]
    assert _legend(figure.axes[0]) == ["background M_b", "foreground M_f", "discontinuity M_d"]
    assert [text.get_text() for text in figure.texts] == ["a_scene $1$"]


def test_every_label_has_a_colour_of_its_own():
    colours = [hci_pictures._colour(i) for i in range(1, 33)]
    assert len(set(colours)) == 32
    assert min(abs(np.subtract(a, b)).max() for a, b in pairwise(colours)) > 60


def test_a_share_shows_what_is_counted(scene):
    image, disparity, truth, subsets = scene
    score = foreground_fattening(disparity, truth, subsets)
    (axes,) = metrics_figure(image, {"hci_foreground_fattening": score}).axes
    shown = _panel(axes)
    assert (shown[score.picture == 1] == hci_pictures._BAD).all()
    assert (shown[score.picture == 0] == hci_pictures._GOOD).all()
    assert (shown[np.isnan(score.picture)] == hci_pictures._dimmed(image)[np.isnan(score.picture)]).all()
    assert _legend(axes) == ["rest of M_b", "foreground fattening"]
    assert axes.get_title() == f"foreground fattening (D_fat): {score.value:.3g} fraction"


@pytest.mark.parametrize(("largest", "extend"), [(None, "neither"), (0.5, "neither"), (0.25, "max")])
def test_values_have_a_bar_with_their_unit(scene, largest, extend):
    from matplotlib import colormaps

    image, disparity, _, subsets = scene
    score = offset(disparity, subsets)
    figure = metrics_figure(image, {"hci_offset": score}, largest=largest and {"hci_offset": largest})
    axes, bar = figure.axes
    assert bar.get_xlabel() == "offset (px)"
    high = largest or hci_pictures._SHOWN["hci_offset"]
    colour = colormaps["inferno_r"](min(0.5 / high, 1.0), bytes=True)[:3]
    np.testing.assert_allclose(_panel(axes)[subsets.planes > 0], np.tile(colour, ((subsets.planes > 0).sum(), 1)), atol=1)
    assert bar.get_xlim() == (0, high)
    assert (len(bar.patches) > 0) == (extend == "max")
    assert axes.get_title().startswith("offset (P_off): 0.5 px")


def _all_nine(disparity, truth, subsets):
    return {name: metric.measure(disparity, truth, subsets) for name, metric in HCI_METRICS.items()}


def test_all_nine(scene, tmp_path):
    image, disparity, truth, subsets = scene
    holes = disparity.copy()
    holes[:50] = np.nan
    figure = metrics_figure(image, _all_nine(holes, truth, subsets), "all")
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert [title.split(" (")[0] for title in titles] == [metric.title for metric in HCI_METRICS.values()]
    background = subsets.background & subsets.evaluated
    assert titles[0].endswith(f", {background[50:].sum() / background.sum():.1%} measured")
    bars = [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()]
    assert bars == [f"{HCI_METRICS[name].title} ({HCI_METRICS[name].unit})" for name in hci_pictures._SHOWN]
    save_picture(tmp_path / "m.png", figure)
    assert read_image(tmp_path / "m.png").shape[2] == 3


def test_scenes_without_a_kind_of_part(scene, tmp_path):
    image, _, _, subsets = scene
    nothing = replace(subsets, evaluated=np.zeros((ROWS, COLUMNS), bool))
    save_picture(tmp_path / "s.png", subsets_figure(image, nothing))
    flat = np.ones((ROWS, COLUMNS), np.float32)
    figure = metrics_figure(image, _all_nine(flat, flat, nothing))
    assert sum("nothing to measure" in axes.get_title() for axes in figure.axes) == 9


def test_grey_and_float_images_and_any_size(tmp_path):
    for shape in ((60, 70), (12, 2000, 3), (300, 40)):
        image = np.full(shape, 128, np.float32)
        truth = np.ones(shape[:2], np.float32)
        subsets = extract_subsets(truth, parameters=Parameters(border=0))
        save_picture(tmp_path / "s.png", subsets_figure(image, subsets))
        save_picture(tmp_path / "m.png", metrics_figure(image, {"hci_offset": offset(truth, subsets)}))
        assert read_image(tmp_path / "m.png").shape[0] > 80


def test_mistakes_are_one_line(scene):
    image, disparity, _, subsets = scene
    with pytest.raises(DataError, match=r"^image is 179x100, subsets is 180x100; pictures need both of one size$"):
        subsets_figure(image[:, 1:], subsets)
    with pytest.raises(DataError, match="image is 179x100, score is 180x100"):
        metrics_figure(image[:, 1:], {"hci_offset": offset(disparity, subsets)})
    with pytest.raises(ParameterError, match="no such metric: 'hci_ofset'; .*did you mean 'hci_offset'"):
        metrics_figure(image, {"hci_ofset": offset(disparity, subsets)})
