"""Comparisons of maps: figures by their parts."""

import numpy as np
import pytest
from figure_parts import bars, check_layout, legends, titles

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.figures.saving import save_picture
from stereo_framework.figures.side_by_side import side_by_side_figure
from stereo_framework.io import read_image

NAN = np.nan
SHAPE = (30, 40)
IMAGE = np.random.default_rng(0).integers(0, 256, (*SHAPE, 3), dtype=np.uint8)
TRUTH = np.random.default_rng(1).uniform(1, 8, SHAPE).astype(np.float32)


def _maps(count):
    return {f"map {i}": TRUTH + np.float32(i) / 4 for i in range(count)}


def _panels(figure):
    return {(round(box.x0), round(box.y1)): axes for axes in figure.axes if axes.images for box in [axes.get_window_extent()]}


def _columns(figure):
    """Titles of the panels, column by column from top to bottom, rows of columns one after the other."""
    panels = _panels(figure)
    across = sorted({x for x, _ in panels})
    return [[panels[x, y].get_title() for y in sorted({y for _, y in panels}, reverse=True) if (x, y) in panels] for x in across]


def test_each_map_stands_above_its_error():
    figure = side_by_side_figure(IMAGE, _maps(3), (0, 9), TRUTH, "a scene")
    error = "error: disparity − truth"
    assert _columns(figure) == [["reference image", "truth"], *([f"map {i}", error] for i in range(3))]
    images = {axes.get_title(): axes.images[0] for axes in figure.axes if axes.images}
    np.testing.assert_array_equal(images["truth"].get_array(), TRUTH)
    np.testing.assert_array_equal(images["map 2"].get_array(), TRUTH + np.float32(0.5))
    errors = [axes.images[0] for axes in figure.axes if axes.get_title() == error]
    for i, picture in enumerate(errors):
        np.testing.assert_allclose(picture.get_array(), i / 4, atol=1e-6)
    assert {images[name].get_clim() for name in ("truth", "map 0", "map 1", "map 2")} == {(0, 9)}
    [limits] = {picture.get_clim() for picture in errors}
    assert limits[0] == -limits[1] < 0
    assert bars(figure) == ["disparity (pixels)", "disparity error (pixels)"]
    assert [text.get_text() for text in figure.texts] == ["a scene"]
    assert legends(figure) == []


def test_without_truth_maps_are_compared_with_the_first():
    figure = side_by_side_figure(IMAGE, _maps(3), (0, 9), None, "")
    below = "difference from map 0"
    assert _columns(figure) == [["reference image"], ["map 0"], ["map 1", below], ["map 2", below]]
    differences = [axes.images[0].get_array() for axes in figure.axes if axes.get_title() == below]
    for i, difference in enumerate(differences, 1):
        np.testing.assert_allclose(difference, i / 4, atol=1e-6)
    assert bars(figure) == ["disparity (pixels)", "difference (pixels)"]


def test_two_maps_without_truth_make_one_row():
    figure = side_by_side_figure(IMAGE, _maps(2), (0, 9), None, "")
    assert _columns(figure) == [["reference image"], ["map 0"], ["map 1"], ["difference from map 0"]]


def test_many_maps_make_several_rows():
    figure = side_by_side_figure(IMAGE, _maps(8), (0, 9), TRUTH, "")
    columns = _columns(figure)
    assert len(columns) == 5  # nine columns in two rows
    assert [c[0] for c in columns] == ["reference image", *(f"map {i}" for i in range(4))]
    assert [c[2] for c in columns if len(c) > 2] == [f"map {i}" for i in range(4, 8)]
    assert side_by_side_figure(IMAGE, _maps(12), (0, 9), None, "").bbox.width <= 1900


@pytest.mark.parametrize("shape", [SHAPE, (375, 1242), (500, 200), pytest.param((288, 384), marks=pytest.mark.slow)])
@pytest.mark.parametrize("count", [2, 7, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4))])
@pytest.mark.parametrize("known", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_nothing_overlaps(shape, count, known):
    truth = np.full(shape, NAN, np.float32)
    maps = {f"graph_cut optimization.penalty={i} and what else was swept": truth for i in range(count)}
    check_layout(
        side_by_side_figure(np.zeros(shape, np.uint8), maps, (0, 19), truth if known else None, "a scene with a long name " * 9)
    )


def test_long_names_keep_both_ends():
    name = "dynamic_programming " + "x" * 200 + " penalty=20"
    shown = titles(side_by_side_figure(IMAGE, {"a": TRUTH, name: TRUTH}, (0, 9), TRUTH, ""))[-2]
    assert len(shown) < 60
    assert shown.startswith("dynamic_pr")
    assert shown.endswith("penalty=20")
    assert "…" in shown
    money = {"$a$": TRUTH, "$\\b": TRUTH}  # no formulas
    assert [t for t in titles(side_by_side_figure(IMAGE, money, (0, 9), TRUTH, "")) if "$" in t] == list(money)


def test_grey_is_explained():
    maps = _maps(2)
    maps["map 1"][3, 4] = NAN
    assert legends(side_by_side_figure(IMAGE, maps, (0, 9), TRUTH, "")) == ["no estimate"]
    unknown = TRUTH.copy()
    unknown[0, 0] = NAN
    assert legends(side_by_side_figure(IMAGE, _maps(2), (0, 9), unknown, "")) == ["truth unknown"]


def test_the_picture_shows_the_image(tmp_path):
    large = np.random.default_rng(0).integers(0, 256, (201, 500, 3), dtype=np.uint8)
    maps = {name: np.ones((201, 500), np.float32) for name in "ab"}
    save_picture(tmp_path / "c.png", side_by_side_figure(large, maps, (0, 2), maps["a"]))
    picture = read_image(tmp_path / "c.png")
    box = side_by_side_figure(large, maps, (0, 2), maps["a"], "").axes[0].get_window_extent()
    top, left = picture.shape[0] - round(box.y1), round(box.x0)
    # The frame covers the outermost pixels.
    np.testing.assert_array_equal(picture[top + 1 : top + 200, left + 1 : left + 499], large[1:-1, 1:-1])


def test_mistakes_are_one_line():
    maps = _maps(2)
    with pytest.raises(ParameterError, match="^maps: 1 given; a comparison needs two or more$"):
        side_by_side_figure(IMAGE, _maps(1), (0, 9))
    with pytest.raises(DataError, match="^image is 40x30, map 1 is 39x30; pictures need both of one size$"):
        side_by_side_figure(IMAGE, maps | {"map 1": TRUTH[:, 1:]}, (0, 9))
    with pytest.raises(DataError, match="image is 40x30, truth is 40x29"):
        side_by_side_figure(IMAGE[..., 0], maps, (0, 9), TRUTH[1:])
    with pytest.raises(ParameterError, match="is not a range of disparities"):
        side_by_side_figure(IMAGE, maps, (9, 0))
