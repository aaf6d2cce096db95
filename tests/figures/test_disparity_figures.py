"""Pictures: grey levels against arithmetic, colours against the colour maps' known ends, figures by their parts."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from figure_parts import bars, check_layout, legends, titles
from matplotlib.backends.backend_agg import FigureCanvasAgg

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.figures._drawing import Sheet
from stereo_framework.figures.disparity_figures import (
    bad_pixel_picture,
    disparity_figure,
    error_picture,
    overview_figure,
)
from stereo_framework.figures.saving import save_picture
from stereo_framework.io import read_image

NAN, INF = np.nan, np.inf
DARK, BRIGHT = (68, 1, 84), (253, 231, 37)  # the ends of viridis


def _map(*rows):
    return np.array(rows, np.float32)


def test_error_levels(tmp_path):
    truth = np.full((1, 9), 10, np.float32)
    disparity = _map([10, 10.25, 9.75, 9.25, 9, 11, 13.5, 110, -90])
    error_picture(tmp_path / "e.png", disparity, truth, scale=2)
    # error * 2 + 0.5 = 0.5, 1, 0, -1, -1.5, 2.5, 7.5, far out; what is left of the point counts.
    np.testing.assert_array_equal(read_image(tmp_path / "e.png"), [[128, 129, 128, 127, 127, 130, 135, 255, 0]])


def test_error_default_scale(tmp_path):
    error_picture(tmp_path / "e.png", _map([1, 2, 9]), _map([2, 1, 1]))
    np.testing.assert_array_equal(read_image(tmp_path / "e.png"), [[128 - 15, 128 + 16, 255]])


def test_error_border_and_unknown_truth_are_128(tmp_path):
    disparity, truth = np.full((4, 6), 3, np.float32), np.ones((4, 6), np.float32)
    disparity[0, 0] = NAN
    disparity[1, 2], truth[1, 2] = NAN, NAN
    truth[2, 3] = INF
    error_picture(tmp_path / "e.png", disparity, truth, scale=10, border=1)
    expected = np.full((4, 6), 128)
    expected[1:3, 1:5] = 148
    expected[1, 2] = expected[2, 3] = 128
    np.testing.assert_array_equal(read_image(tmp_path / "e.png"), expected)


def test_missing_estimates_are_magenta(tmp_path):
    error_picture(tmp_path / "e.png", _map([NAN, INF, -INF, 2]), _map([1, 1, 1, 1]), scale=1)
    magenta = (255, 0, 255)
    np.testing.assert_array_equal(read_image(tmp_path / "e.png"), [[magenta, magenta, magenta, (129, 129, 129)]])


def test_bad_pixel_levels(tmp_path):
    truth = _map([5, 5, 5, 5, 5, 5, 5, NAN, INF])
    disparity = _map([5, 6, 6.01, 3.9, 3.9, NAN, NAN, 0, NAN])
    occluded = np.array([[1, 0, 0, 0, 1, 0, 1, 1, 1]], bool)
    bad_pixel_picture(tmp_path / "b.png", disparity, truth, threshold=1, occluded=occluded)
    np.testing.assert_array_equal(read_image(tmp_path / "b.png"), [[255, 255, 0, 0, 200, 0, 200, 255, 255]])
    bad_pixel_picture(tmp_path / "b.png", disparity, truth, threshold=1.05)
    np.testing.assert_array_equal(read_image(tmp_path / "b.png"), [[255, 255, 255, 0, 0, 0, 0, 255, 255]])


@pytest.mark.parametrize("border", [1, 2, 9])
def test_bad_pixel_border_is_white(tmp_path, border):
    disparity, truth = np.zeros((5, 7), np.float32), np.full((5, 7), 4, np.float32)
    bad_pixel_picture(tmp_path / "b.png", disparity, truth, threshold=1, occluded=disparity > 0, border=border)
    expected = np.full((5, 7), 255)
    for y in range(5):
        for x in range(7):
            if min(y, x, 4 - y, 6 - x) >= border:
                expected[y, x] = 0
    np.testing.assert_array_equal(read_image(tmp_path / "b.png"), expected)


@pytest.mark.parametrize("shape", [(7, 13), (121, 83), (30, 501), (703, 11)])
def test_disparity_picture_is_sharp_at_a_whole_multiple(tmp_path, shape):
    levels = np.random.default_rng(0).integers(0, 3, shape)
    disparity = np.choose(levels, [np.float32(-2), np.float32(6), np.float32(NAN)])
    save_picture(tmp_path / "d.png", disparity_figure(disparity, (-2, 6), r"a scene, not a $\formula$"))
    picture = read_image(tmp_path / "d.png")
    box = disparity_figure(disparity, (-2, 6), "a scene").axes[0].get_window_extent()
    factor = round(box.height) // shape[0]
    assert (round(box.height), round(box.width)) == (factor * shape[0], factor * shape[1])
    top, left = picture.shape[0] - round(box.y1), round(box.x0)
    shown = picture[top : top + round(box.height), left : left + round(box.width)]
    grey = shown[factor * np.argwhere(levels == 2)[0][0], factor * np.argwhere(levels == 2)[0][1]]
    assert grey[0] == grey[1] == grey[2]
    expected = np.array([DARK, BRIGHT, grey], float)[levels].repeat(factor, 0).repeat(factor, 1)
    np.testing.assert_allclose(shown, expected, atol=1)  # the map is defined in fractions


def test_figures_have_the_size_asked_for():
    for width in range(150, 2000, 3):
        assert FigureCanvasAgg(Sheet(width, width + 1).figure).get_width_height() == (width, width + 1)


def test_disparity_figure_labels():
    disparity = _map([0, 3], [1, 2])
    figure = disparity_figure(disparity, (0, 3), "a_scene $1$")
    axes, bar = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel()) == ("x (pixels)", "y (pixels)", "disparity (pixels)")
    assert [text.get_text() for text in figure.texts] == ["a_scene $1$"]
    assert legends(figure) == []
    disparity[0, 0] = NAN
    assert legends(disparity_figure(disparity, (0, 3), "")) == ["no estimate"]


@pytest.mark.parametrize(
    ("shown", "extend"), [((0, 3), "neither"), ((0.5, 3), "min"), ((0, 2.5), "max"), ((1, 2), "both"), ((-9, 9), "neither")]
)
def test_the_bar_tells_what_lies_beyond(shown, extend):
    figure = disparity_figure(_map([0, 3], [1, NAN]), shown, "")
    assert figure.axes[0].images[0].colorbar.extend == extend
    assert figure.axes[0].images[0].get_clim() == shown


def test_a_range_of_one_value_still_tells_values_apart():
    picture = disparity_figure(_map([3, 5]), (3, 3), "").axes[0].images[0]
    np.testing.assert_allclose(255 * picture.to_rgba(picture.get_array())[0, :, :3], [DARK, BRIGHT], atol=1)


def test_a_map_without_estimates(tmp_path):
    save_picture(tmp_path / "d.png", disparity_figure(np.full((5, 5), NAN, np.float32), (3, 3)))
    picture = read_image(tmp_path / "d.png").astype(int)
    for end in (DARK, BRIGHT):  # of the bar
        assert (abs(picture - end) <= 1).all(2).any()


def test_overview_parts():
    image = np.zeros((30, 40, 3), np.uint8)
    truth = np.random.default_rng(0).uniform(1, 8, (30, 40)).astype(np.float32)
    figure = overview_figure(image, truth + 1.5, (0, 9), truth, "a scene")
    assert titles(figure) == ["reference image", "truth", "disparity", "error: disparity − truth"]
    assert bars(figure) == ["disparity (pixels)", "disparity error (pixels)"]
    panels = [axes.images[0] for axes in figure.axes if axes.images]
    assert panels[1].get_clim() == panels[2].get_clim() == (0, 9)
    np.testing.assert_array_equal(panels[1].get_array(), truth)
    np.testing.assert_allclose(panels[3].get_array(), 1.5, atol=1e-6)
    low, high = panels[3].get_clim()
    assert low == -high
    red, _, blue, _ = panels[3].to_rgba(np.array([1.5]))[0]
    assert red > blue  # too near
    assert figure.axes[0].get_window_extent().width / 40 == pytest.approx(figure.axes[0].get_window_extent().height / 30)
    assert legends(figure) == []


@pytest.mark.parametrize("shape", [(30, 40), (288, 384), (375, 1242), (500, 250)])
def test_nothing_overlaps_in_an_overview(shape):
    disparity = np.full(shape, NAN, np.float32)
    check_layout(overview_figure(np.zeros(shape, np.uint8), disparity, (0, 19), disparity, "a scene with a long name " * 9))
    check_layout(overview_figure(np.zeros(shape, np.uint8), disparity, (0, 19), None, "a scene"))


def test_overview_without_truth():
    figure = overview_figure(np.zeros((30, 40), np.uint8), np.ones((30, 40), np.float32), (0, 9), None, "")
    assert titles(figure) == ["reference image", "disparity"]
    assert bars(figure) == ["disparity (pixels)"]


@pytest.mark.parametrize(
    ("estimate", "true", "told"),
    [(NAN, 1, ["no estimate"]), (1, NAN, ["truth unknown"]), (INF, INF, ["no estimate or\ntruth unknown"])],
)
def test_overview_tells_what_grey_means(estimate, true, told):
    disparity, truth = np.ones((2, 20, 30), np.float32)
    disparity[3, 4], truth[5, 6] = estimate, true
    truth[3, 4] = true
    figure = overview_figure(np.zeros((20, 30), np.uint8), disparity, (0, 2), truth, "")
    assert legends(figure) == told
    error = next(axes.images[0] for axes in figure.axes if axes.get_title().startswith("error"))
    assert error.get_array().mask[3, 4]


def test_the_overview_shows_the_image(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (201, 300, 3), dtype=np.uint8)
    truth = np.ones((201, 300), np.float32)
    for given in (image, image.astype(np.float32)):
        save_picture(tmp_path / "o.png", overview_figure(given, truth, (0, 2), truth))
        picture = read_image(tmp_path / "o.png")
        assert 1200 <= picture.shape[1] <= 1600
        box = overview_figure(image, truth, (0, 2), truth, "").axes[0].get_window_extent()
        top, left = picture.shape[0] - round(box.y1), round(box.x0)
        # The frame covers the outermost pixels.
        np.testing.assert_array_equal(picture[top + 1 : top + 200, left + 1 : left + 299], image[1:-1, 1:-1])


def test_threads_draw_the_same(tmp_path):
    random = np.random.default_rng(0)
    maps = [random.uniform(0, 9, (20, 30)).astype(np.float32) for _ in range(4)]
    for i, disparity in enumerate(maps):
        save_picture(tmp_path / f"serial{i}.png", disparity_figure(disparity, (0, 9), str(i)))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: save_picture(tmp_path / f"thread{i}.png", disparity_figure(maps[i], (0, 9), str(i))), range(4)))
    for i in range(4):
        assert (tmp_path / f"serial{i}.png").read_bytes() == (tmp_path / f"thread{i}.png").read_bytes()


def test_matplotlib_loads_late_and_pyplot_never(tmp_path):
    code = """
import sys
import numpy as np
from stereo_framework.figures.disparity_figures import disparity_figure, overview_figure
from stereo_framework.figures.saving import save_picture
assert "matplotlib" not in sys.modules
one = np.ones((20, 30), np.float32)
save_picture(sys.argv[1], disparity_figure(one, (0, 2)))
save_picture(sys.argv[1], overview_figure(one, one, (0, 2), one))
print("matplotlib.figure" in sys.modules, "matplotlib.pyplot" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "p.png"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_mistakes_are_one_line(tmp_path):
    path, small, large = tmp_path / "p.png", np.ones((20, 30), np.float32), np.ones((20, 31), np.float32)
    with pytest.raises(DataError, match=r"^disparity is 30x20, truth is 31x20; pictures need both of one size$"):
        error_picture(path, small, large)
    with pytest.raises(DataError, match="disparity is 31x20, truth is 30x20"):
        bad_pixel_picture(path, large, small, threshold=1)
    with pytest.raises(DataError, match="mask of occluded pixels is 31x20"):
        bad_pixel_picture(path, small, small, threshold=1, occluded=large > 2)
    with pytest.raises(DataError, match="image is 31x20, disparity is 30x20"):
        overview_figure(np.zeros((20, 31, 3), np.uint8), small, (0, 2))
    with pytest.raises(DataError, match=r"disparity has shape \(20,\)"):
        disparity_figure(small[:, 0], (0, 2))
    for shown in ((2, 1), (0, NAN), (-INF, 1)):
        with pytest.raises(ParameterError, match="is not a range of disparities"):
            disparity_figure(small, shown)
    with pytest.raises(DataError, match="cannot be written: File name too long"):
        save_picture(tmp_path / f"{'p' * 300}.png", disparity_figure(small, (0, 2)))
