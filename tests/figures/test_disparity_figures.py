"""Pictures: grey levels against arithmetic, colours against the colour maps' known ends, figures by their parts."""

from dataclasses import replace

import numpy as np
import pytest
from figure_parts import bars, check_layout, legends, titles

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.scene import Scene
from stereo_framework.evaluation import resolve
from stereo_framework.figures import disparity_figures
from stereo_framework.figures.disparity_figures import (
    bad_pixel_picture,
    disparity_figure,
    error_picture,
    shown_range,
    side_by_side_figure,
)
from stereo_framework.figures.grid import colour_table
from stereo_framework.figures.saving import save_picture
from stereo_framework.io import read_image

NAN, INF = np.nan, np.inf
SHAPE = (30, 40)
IMAGE = np.random.default_rng(0).integers(0, 256, (*SHAPE, 3), dtype=np.uint8)
TRUTH = np.random.default_rng(1).uniform(1, 8, SHAPE).astype(np.float32)
DARK, BRIGHT = (68, 1, 84), (253, 231, 37)  # the ends of viridis


def _map(*rows):
    return np.array(rows, np.float32)


MAGENTA = (255, 0, 255)


@pytest.mark.parametrize(
    ("disparity", "truth", "options", "levels"),
    [
        # error * 2 + 0.5 = 0.5, 1, 0, -1, -1.5, 2.5, 7.5, far out; what is left of the point counts.
        (
            [[10, 10.25, 9.75, 9.25, 9, 11, 13.5, 110, -90]],
            [[10] * 9],
            {"scale": 2},
            [[128, 129, 128, 127, 127, 130, 135, 255, 0]],
        ),
        ([[1, 2, 9]], [[2, 1, 1]], {}, [[128 - 15, 128 + 16, 255]]),
        # The border and unknown truth are 128, whatever stands there; a missing estimate elsewhere has a colour.
        (
            [[NAN, 3, 3, 3], [3, 3, NAN, 3], [3, 3, 3, 3], [3, 3, 3, 3]],
            [[1, 1, 1, 1], [1, 1, NAN, 1], [1, 1, INF, 1], [1, 1, 1, 1]],
            {"scale": 10, "border": 1},
            [[128] * 4, [128, 148, 128, 128], [128, 148, 128, 128], [128] * 4],
        ),
        (
            [[NAN, INF, -INF, 2]],
            [[1] * 4],
            {"scale": 1},
            [[MAGENTA, MAGENTA, MAGENTA, (129, 129, 129)]],
        ),
    ],
)
def test_error_levels(tmp_path, disparity, truth, options, levels):
    error_picture(tmp_path / "e.png", _map(*disparity), _map(*truth), **options)
    np.testing.assert_array_equal(read_image(tmp_path / "e.png"), levels)


def test_bad_pixel_levels(tmp_path):
    truth = _map([5, 5, 5, 5, 5, 5, 5, NAN, INF])
    disparity = _map([5, 6, 6.01, 3.9, 3.9, NAN, NAN, 0, NAN])
    occluded = np.array([[1, 0, 0, 0, 1, 0, 1, 1, 1]], bool)
    bad_pixel_picture(tmp_path / "b.png", disparity, truth, threshold=1, occluded=occluded)
    np.testing.assert_array_equal(
        read_image(tmp_path / "b.png"), [[255, 255, 0, 0, 200, 0, 200, 255, 255]]
    )
    bad_pixel_picture(tmp_path / "b.png", disparity, truth, threshold=1.05)
    np.testing.assert_array_equal(
        read_image(tmp_path / "b.png"), [[255, 255, 255, 0, 0, 0, 0, 255, 255]]
    )
    # A missing estimate is bad however large the share.
    bad_pixel_picture(tmp_path / "b.png", disparity, truth, threshold=1, relative=0.21)
    np.testing.assert_array_equal(
        read_image(tmp_path / "b.png"), [[255, 255, 255, 0, 0, 0, 0, 255, 255]]
    )


@pytest.mark.parametrize("shape", [(7, 13), (121, 83), (30, 501), (703, 11)])
def test_disparity_picture_is_sharp_at_a_whole_multiple(tmp_path, shape):
    levels = np.random.default_rng(0).integers(0, 3, shape)
    disparity = np.choose(levels, [np.float32(-2), np.float32(6), np.float32(NAN)])
    save_picture(
        tmp_path / "d.png", disparity_figure(disparity, (-2, 6), r"a scene, not a $\formula$")
    )
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


@pytest.mark.parametrize(
    ("search", "truth", "disparity", "expected"),
    [
        # The search range has priority over the ground truth, and the ground truth over
        # the map.
        ((-2, 30), [5, 9], [0, 200], (-2, 30)),
        ((-2, 30), None, [0, 200], (-2, 30)),
        (None, [5, 9], [0, 200], (5, 9)),
        (None, [5, NAN, INF, 9], [0, 0, 0, 200], (5, 9)),
        (None, None, [3, 200, NAN, -INF], (3, 200)),
        (None, None, [NAN, INF], (0, 1)),
    ],
)
def test_colours_span_the_search_range_or_the_known_disparities(search, truth, disparity, expected):
    image = np.zeros((1, len(disparity)), np.uint8)
    truth = None if truth is None else _map(truth)
    scene = Scene.from_images(image, image, search, truth=truth)
    assert shown_range(_map(disparity), scene) == expected


@pytest.mark.parametrize(
    ("name", "lowest", "middle", "highest"),
    [
        ("viridis", (68, 1, 84), (33, 145, 140), (253, 231, 37)),
        ("RdBu_r", (5, 48, 97), (247, 247, 247), (103, 0, 31)),
    ],
)
def test_colour_tables_of_the_viewer_run_from_the_lower_to_the_upper_end(
    name, lowest, middle, highest
):
    table = colour_table(name)
    assert table.shape == (256, 3)
    assert tuple(table[0]) == lowest
    assert tuple(table[255]) == highest
    np.testing.assert_allclose(table[128], middle, atol=1)


def test_disparity_figure_labels():
    disparity = _map([0, 3], [1, 2])
    figure = disparity_figure(disparity, (0, 3), "a_scene $1$")
    assert bars(figure) == ["disparity (pixels)"]
    assert [text.get_text() for text in figure.texts] == ["a_scene $1$"]
    assert legends(figure) == []
    disparity[0, 0] = NAN
    assert legends(disparity_figure(disparity, (0, 3), "")) == ["no estimate"]


@pytest.mark.parametrize(
    ("shown", "extend"),
    [
        ((0, 3), "neither"),
        ((0.5, 3), "min"),
        ((0, 2.5), "max"),
        ((1, 2), "both"),
        ((-9, 9), "neither"),
    ],
)
def test_the_bar_tells_what_lies_beyond(shown, extend):
    figure = disparity_figure(_map([0, 3], [1, NAN]), shown, "")
    # The arrows at the ends of a bar are its patches.
    assert len(figure.axes[1].patches) == {"neither": 0, "both": 2}.get(extend, 1)
    assert figure.axes[0].images[0].get_clim() == shown


def test_ranges_of_one_value_and_maps_without_estimates(tmp_path):
    picture = disparity_figure(_map([3, 5]), (3, 3), "").axes[0].images[0]
    np.testing.assert_allclose(
        255 * picture.to_rgba(picture.get_array())[0, :, :3], [DARK, BRIGHT], atol=1
    )
    save_picture(tmp_path / "d.png", disparity_figure(np.full((5, 5), NAN, np.float32), (3, 3)))
    for end in (DARK, BRIGHT):  # of the bar
        assert (abs(read_image(tmp_path / "d.png").astype(int) - end) <= 1).all(2).any()


def test_one_map_stands_in_a_row_with_its_error():
    figure = side_by_side_figure(IMAGE, {"disparity": TRUTH + 1.5}, (0, 9), TRUTH, "a scene")
    assert titles(figure) == ["reference image", "truth", "disparity", "error: disparity − truth"]
    assert bars(figure) == ["disparity (pixels)", "disparity error (pixels)"]
    panels = [axes.images[0] for axes in figure.axes if axes.images]
    assert panels[1].get_clim() == panels[2].get_clim() == (0, 9)
    np.testing.assert_array_equal(panels[1].get_array(), TRUTH)
    np.testing.assert_allclose(panels[3].get_array(), 1.5, atol=1e-6)
    low, high = panels[3].get_clim()
    assert low == -high
    red, _, blue, _ = panels[3].to_rgba(np.array([1.5]))[0]
    assert red > blue  # too near
    assert figure.axes[0].get_window_extent().width / 40 == pytest.approx(
        figure.axes[0].get_window_extent().height / 30
    )
    assert legends(figure) == []
    alone = side_by_side_figure(IMAGE, {"disparity": TRUTH}, (0, 9))
    assert (titles(alone), bars(alone)) == (
        ["reference image", "disparity"],
        ["disparity (pixels)"],
    )


@pytest.mark.parametrize(
    ("estimate", "true", "told"),
    [
        (NAN, 1, ["no estimate"]),
        (1, NAN, ["truth unknown"]),
        (INF, INF, ["truth unknown or no estimate"]),
    ],
)
def test_grey_is_explained(estimate, true, told):
    disparity, truth = np.ones((2, 20, 30), np.float32)
    disparity[3, 4], truth[5, 6] = estimate, true
    truth[3, 4] = true
    figure = side_by_side_figure(np.zeros((20, 30), np.uint8), {"a": disparity}, (0, 2), truth)
    assert legends(figure) == told
    error = next(axes.images[0] for axes in figure.axes if axes.get_title().startswith("error"))
    assert error.get_array().mask[3, 4]


@pytest.mark.parametrize(("count", "kind"), [(1, np.uint8), (2, np.float32)])
def test_the_picture_shows_the_image(tmp_path, count, kind):
    image = np.random.default_rng(0).integers(0, 256, (201, 300, 3), dtype=np.uint8)
    maps = {str(i): np.ones((201, 300), np.float32) for i in range(count)}
    figure = side_by_side_figure(image.astype(kind), maps, (0, 2), maps["0"])
    save_picture(tmp_path / "o.png", figure)
    picture = read_image(tmp_path / "o.png")
    box = figure.axes[0].get_window_extent()
    factor = round(box.width) // 300
    top, left = picture.shape[0] - round(box.y1), round(box.x0)
    shown = picture[top : top + round(box.height), left : left + round(box.width)]
    np.testing.assert_array_equal(shown[::factor, ::factor], image)


def _maps(count):
    return {f"map {i}": TRUTH + np.float32(i) / 4 for i in range(count)}


def _columns(figure):
    """Titles of the panels, column by column from top to bottom, rows of columns one after the other."""
    panels = {
        (round(box.x0), round(box.y1)): axes
        for axes in figure.axes
        if axes.images
        for box in [axes.get_window_extent()]
    }
    across = sorted({x for x, _ in panels})
    return [
        [
            panels[x, y].get_title()
            for y in sorted({y for _, y in panels}, reverse=True)
            if (x, y) in panels
        ]
        for x in across
    ]


def test_each_map_stands_above_its_error():
    figure = side_by_side_figure(IMAGE, _maps(3), (0, 9), TRUTH, "a scene")
    error = "error: disparity − truth"
    assert _columns(figure) == [
        ["reference image", "truth"],
        *([f"map {i}", error] for i in range(3)),
    ]
    images = {axes.get_title(): axes.images[0] for axes in figure.axes if axes.images}
    np.testing.assert_array_equal(images["map 2"].get_array(), TRUTH + np.float32(0.5))
    errors = [axes.images[0] for axes in figure.axes if axes.get_title() == error]
    for i, picture in enumerate(errors):
        np.testing.assert_allclose(picture.get_array(), i / 4, atol=1e-6)
    assert {images[name].get_clim() for name in ("truth", "map 0", "map 1", "map 2")} == {(0, 9)}
    [limits] = {picture.get_clim() for picture in errors}
    assert limits[0] == -limits[1] < 0
    assert bars(figure) == ["disparity (pixels)", "disparity error (pixels)"]
    assert [text.get_text() for text in figure.texts] == ["a scene"]


def test_without_truth_maps_are_compared_with_the_first():
    figure = side_by_side_figure(IMAGE, _maps(3), (0, 9))
    below = "difference from map 0"
    assert _columns(figure) == [["reference image"], ["map 0"], ["map 1", below], ["map 2", below]]
    differences = [axes.images[0].get_array() for axes in figure.axes if axes.get_title() == below]
    for i, difference in enumerate(differences, 1):
        np.testing.assert_allclose(difference, i / 4, atol=1e-6)
    assert bars(figure) == ["disparity (pixels)", "difference (pixels)"]
    two = side_by_side_figure(IMAGE, _maps(2), (0, 9))
    assert _columns(two) == [["reference image"], ["map 0"], ["map 1"], ["difference from map 0"]]


def test_many_maps_make_several_rows():
    columns = _columns(side_by_side_figure(IMAGE, _maps(8), (0, 9), TRUTH))
    assert len(columns) == 5  # nine columns in two rows
    assert [c[0] for c in columns] == ["reference image", *(f"map {i}" for i in range(4))]
    assert [c[2] for c in columns if len(c) > 2] == [f"map {i}" for i in range(4, 8)]
    assert side_by_side_figure(IMAGE, _maps(12), (0, 9)).bbox.width <= 1900


@pytest.mark.parametrize(
    "shape", [SHAPE, (375, 1242), (500, 200), pytest.param((288, 384), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("known", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_nothing_overlaps(shape, count, known):
    truth = np.full(shape, NAN, np.float32)
    maps = {
        f"graph_cut optimization.penalty={i} and what else was swept": truth for i in range(count)
    }
    check_layout(
        side_by_side_figure(
            np.zeros(shape, np.uint8),
            maps,
            (0, 19),
            truth if known else None,
            "a scene with a long name " * 9,
        )
    )


def test_long_names_keep_both_ends():
    name = "dynamic_programming " + "x" * 200 + " penalty=20"
    shown = titles(side_by_side_figure(IMAGE, {"a": TRUTH, name: TRUTH}, (0, 9), TRUTH))[2]
    assert len(shown) < 80
    assert shown.startswith("dynamic_pr")
    assert shown.endswith("penalty=20")
    assert "…" in shown
    money = {"$a$": TRUTH, "$\\b": TRUTH}  # no formulas
    assert [
        t for t in titles(side_by_side_figure(IMAGE, money, (0, 9), TRUTH)) if "$" in t
    ] == list(money)


def test_mistakes_are_one_line(tmp_path):
    path, small, large = (
        tmp_path / "p.png",
        np.ones((20, 30), np.float32),
        np.ones((20, 31), np.float32),
    )
    for fault, draw in (
        (
            r"^disparity is 30x20, truth is 31x20; pictures need both of one size$",
            lambda: error_picture(path, small, large),
        ),
        (
            "disparity is 31x20, truth is 30x20",
            lambda: bad_pixel_picture(path, large, small, threshold=1),
        ),
        (
            "mask of occluded pixels is 31x20",
            lambda: bad_pixel_picture(path, small, small, threshold=1, occluded=large > 2),
        ),
        ("image is 31x20, a is 30x20", lambda: side_by_side_figure(large, {"a": small}, (0, 2))),
        (
            "image is 30x20, truth is 31x20",
            lambda: side_by_side_figure(small, {"a": small}, (0, 2), large),
        ),
        (r"disparity has shape \(20,\)", lambda: disparity_figure(small[:, 0], (0, 2))),
        (
            "cannot be written: File name too long",
            lambda: error_picture(tmp_path / ("x" * 300 + ".png"), small, small),
        ),
    ):
        with pytest.raises(DataError, match=fault):
            draw()
    for shown in ((2, 1), (0, NAN), (-INF, 1)):
        with pytest.raises(ParameterError, match="is not a range of disparities"):
            disparity_figure(small, shown)


@pytest.mark.parametrize(
    ("estimate", "level"), [(105, 255), (95, 255), (105.5, 0), (94.5, 0), (103, 255)]
)
def test_an_error_of_exactly_the_relative_threshold_is_shown_as_good(tmp_path, estimate, level):
    path = tmp_path / "bad.png"
    bad_pixel_picture(path, _map([estimate]), _map([100]), threshold=3, relative=1 / 20)
    assert read_image(path).tolist() == [[level]]


def test_the_first_of_several_maps_decides_about_their_colours(tmp_path, monkeypatch):
    ranges = []

    def draw(image, maps, shown, *others):
        ranges.append(shown)
        return disparity_figure(next(iter(maps.values())), shown)

    monkeypatch.setattr(disparity_figures, "side_by_side_figure", draw)
    image = np.zeros((1, 2), np.uint8)
    maps = {"first": _map([3, 9]), "second": _map([0, 200])}
    disparity_figures.write_comparison(tmp_path / "a.png", maps, Scene.from_images(image, image))
    assert ranges == [(3, 9)]


@pytest.mark.parametrize(("border", "expected"), [(None, 2), (0, 0), (3, 3)])
def test_the_border_of_a_protocol_replaces_that_of_the_scene(
    tmp_path, monkeypatch, border, expected
):
    borders = []
    for name in ("error_picture", "bad_pixel_picture"):
        monkeypatch.setattr(
            disparity_figures, name, lambda *maps, border, **others: borders.append(border)
        )
    image = np.zeros((12, 16), np.uint8)
    truth = np.full((12, 16), 2, np.float32)
    scene = replace(Scene.from_images(image, image, (0, 5), truth=truth), border=2)
    protocol = {"base": "taxonomy2002", "prediction": "none", "border": border}
    disparity_figures.write_pictures(tmp_path / "a", truth, scene, resolve(protocol))
    assert borders == [expected, expected]


@pytest.mark.parametrize(
    ("protocol", "reduction", "threshold", "relative", "has_occluded"),
    [
        ({"base": "taxonomy2002", "prediction": "none"}, 1, 1, 0, True),
        ({"base": "taxonomy2002", "prediction": "none", "regions": ["all"]}, 1, 1, 0, False),
        ({"base": "kitti2015"}, 1, 3, 0.05, False),
        # Errors of 2 pixels of the original images are errors of 1 in images of half
        # size.
        ({"base": "middlebury-v3"}, 2, 1, 0, False),
        ({"base": "taxonomy2002", "prediction": "none", "thresholds": [0.5, 4]}, 1, 0.5, 0, True),
    ],
)
def test_the_picture_of_bad_pixels_follows_the_protocol(
    tmp_path, monkeypatch, protocol, reduction, threshold, relative, has_occluded
):
    options = []
    monkeypatch.setattr(
        disparity_figures, "bad_pixel_picture", lambda *maps, **others: options.append(others)
    )
    image = np.zeros((12, 16), np.uint8)
    truth = np.full((12, 16), 2, np.float32)
    scene = Scene.from_images(image, image, (0, 5), truth=truth)
    scene = replace(scene, reduction=reduction)
    disparity_figures.write_pictures(tmp_path / "a", truth, scene, resolve(protocol))
    [given] = options
    assert (given["threshold"], given["relative"]) == (threshold, relative)
    assert (given["occluded"] is not None) == has_occluded
