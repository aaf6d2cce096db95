"""What notebooks show: short words, pictures, tables, figures; and methods by the names of their stages."""

import re
from dataclasses import replace

import cv2
import numpy as np
import pytest
from made_results import result

from stereo_framework import Pipeline, Scene, load, plot, run, show, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import ParameterError, ScriptError
from stereo_framework.evaluation import resolve
from stereo_framework.figures.disparity_figures import prediction_figure
from stereo_framework.figures.saving import rendered
from stereo_framework.matching_cost import absolute_difference, census

ROWS, COLUMNS = 24, 32
IMAGE = np.random.default_rng(0).integers(0, 255, (ROWS, COLUMNS, 3), np.uint8)
TRUTH = np.full((ROWS, COLUMNS), 3, np.float32)
SCENE = Scene.from_images(IMAGE, np.roll(IMAGE, -3, axis=1), (0, 5), name="made & own", truth=TRUTH)
METHOD = Pipeline(["absolute_difference", "box", "winner_take_all", "left_right_consistency"])


@pytest.fixture(scope="module")
def match():
    return METHOD(SCENE)


@pytest.fixture(scope="module")
def results():
    script = {
        "name": "boxes",
        "include": "window",
        "sweep": {"grid": {"aggregation.box.size": [3, 5]}},
    }
    return run(script, scenes=SCENE)


def test_words_are_short(match, results):
    assert repr(SCENE) == "Scene('made & own', 2 frames, search 0..5 step 1, with truth)"
    # What a repr tells, it knows without reading a file.
    unread = Scene("far", (replace(SCENE.frames[0], load=pytest.fail), SCENE.frames[1]))
    assert repr(unread) == "Scene('far', 2 frames, no search range, without truth)"
    assert re.fullmatch(
        r"Estimate\(100% of 32x24 pixels estimated, search 0..5 step 1, \S+ s\)", repr(match)
    )
    weighted = Pipeline(
        [step(census, weight=0.5), "absolute_difference", step(box, size=5), "winner_take_all"]
    )
    assert (
        repr(weighted)
        == "Pipeline(census(weight=0.5) > absolute_difference > box(size=5) > winner_take_all)"
    )
    assert repr(results[0]).startswith(
        "Result(made & own, boxes, aggregation.box.size=3: bad_pixels_"
    )
    assert repr(results) == "2 results of 1 method on 1 scene"
    assert repr(result("a", {}, {}, error="stage box failed")).endswith("stage box failed)")
    assert (
        repr(resolve("taxonomy2002"))
        == "Protocol('taxonomy2002': bad (percent) = error > 1 px; ...)"
    )


def test_show_puts_pictures_side_by_side(match, results):
    figure = show(SCENE, match, results[0], TRUTH, IMAGE, mask=TRUTH > 2)
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in panels[:3]] == ["made & own", "disparity", "boxes"]
    assert panels[5].get_title() == "mask"
    # Four in a row; maps share their colours, which end at the search range.
    heights = [axes.get_position().y0 for axes in panels]
    assert heights[0] == heights[3] > heights[4] == heights[5]
    assert {axes.images[0].get_clim() for axes in panels[1:4]} == {(0, 5)}
    assert {axes.images[0].get_clim() for axes in (panels[0], *panels[4:])} == {(0, 255)}
    assert show(TRUTH, disparities=(1, 9)).axes[0].images[0].get_clim() == (1, 9)
    assert show(np.float32([[2, np.nan], [7, 4]])).axes[0].images[0].get_clim() == (2, 7)
    with pytest.raises(ParameterError, match="nothing to show"):
        show()
    with pytest.raises(ParameterError, match="^predictions: none given"):
        prediction_figure({})
    with pytest.raises(ParameterError, match="show: size has no picture"):
        show(size=3)


def test_plots(match, results):
    assert [axes.get_title() for axes in show(SCENE).axes[:1]] == ["made & own"]
    assert [axes.get_title() for axes in show(match).axes[:1]] == ["disparity"]
    assert "error: disparity − truth" in [axes.get_title() for axes in show(match, SCENE).axes]
    figure = plot(results, "aggregation.box.size", "bad_pixels_nonocc")
    [line] = figure.axes[0].get_lines()
    assert list(line.get_ydata()) == [r.statistics["bad_pixels_nonocc"] for r in results]
    assert plot(results, "aggregation.box.size").axes[0].get_ylabel() == "bad_pixels_nonocc (%)"
    [line] = (
        plot(results, "aggregation.box.size", where={"aggregation.box.size": [5]})
        .axes[0]
        .get_lines()
    )
    assert list(line.get_ydata()) == [
        r.statistics["bad_pixels_nonocc"] for r in results if r.axes["aggregation.box.size"] == 5
    ]
    with pytest.raises(
        ScriptError,
        match="'lin' is not allowed; allowed: category, linear, log; did you mean 'linear'",
    ):
        plot(results, "scene", x_scale="lin")
    with pytest.raises(ParameterError, match="did you mean 'aggregation.box.size'"):
        plot(results, "scene", series="aggregation.box.siz")
    with pytest.raises(
        ParameterError,
        match="plot: results is a DataFrame; expected the folder of a run, or what run returned",
    ):
        plot(results.frame, "scene")


def test_figures_show_themselves_in_notebooks(match):
    picture = show(match)
    decoded = cv2.imdecode(np.frombuffer(picture._repr_png_(), np.uint8), cv2.IMREAD_COLOR)
    assert decoded.shape == rendered(picture).shape


def test_methods_by_name():
    assert Pipeline(["absolute_difference", "box", "winner_take_all", "median"]) == Pipeline(
        [absolute_difference, box, load("ssd").pipeline.in_slot("optimization"), "median"]
    )
    with pytest.raises(
        ParameterError,
        match="there is no stage 'winner_takes_all'; did you mean 'winner_take_all'. .* lists all",
    ):
        Pipeline(["census", "winner_takes_all"])
    with pytest.raises(
        ParameterError,
        match="aggregation: there is no stage 'median'; .*'median' is a stage of refinement",
    ):
        Pipeline(["census", "aggregation.median", "winner_take_all"])


def test_methods_from_scripts():
    method = load("ssd").pipeline
    assert method.in_slot("aggregation")[0].parameters["size"] == 21
    changed = method.having(truncation=None, **{"aggregation.box.size": 5})
    assert changed.in_slot("aggregation")[0].parameters["size"] == 5
    assert method.having(truncation=30).in_slot("matching_cost")[0].parameters["truncation"] == 30
    message = (
        "the stages aggregation.box and aggregation.min_filter have this parameter; name one stage"
    )
    with pytest.raises(ParameterError, match=f"size: {message}"):
        method.having(size=5)
    with pytest.raises(
        ParameterError,
        match="truncatoin: no stage has this parameter; .* did you mean 'truncation'",
    ):
        method.having(truncatoin=5)
