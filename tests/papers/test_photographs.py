"""The study of photographs: parameters that are chosen on other scenes, sign tests, fractions, and its pages."""

import numpy as np
import pytest
from failing_photographs import PAPER, planted_errors, study
from made_results import result

from stereo_framework.core.scene import Frame, Scene
from stereo_framework.papers.claim import Verdict, verdict
from stereo_framework.papers.paper import Context
from stereo_framework.papers.reproduce import reproduce
from stereo_framework.script import load

PLACES = {"photographs": "middlebury-v3/trainingQ", "roads": "kitti2015"}


def _results(errors, group="photographs", method="m"):
    """Results by size and scene."""
    return [
        result(
            f"{PLACES[group]}/{scene}",
            {"box.size": size},
            {"bad_pixels_nonocc": e, "bad_pixels_all": e + 1, "bad3_all": e / 2},
            method=method,
        )
        for size, own in errors.items()
        for scene, e in own.items()
    ]


def test_parameters_are_never_chosen_on_the_scene_itself():
    # On each scene the other size is best; on the other two the sum decides.
    errors = {5: {"a": 1.0, "b": 9.0, "c": 9.5}, 9: {"a": 8.0, "b": 2.0, "c": 3.0}}
    rows = study.errors_with_chosen_settings(_results(errors)).set_index("scene")
    assert rows[["error", "setting"]].T.to_dict("list") == {
        "a": [8.0, "size 9"],  # 5 has 18.5 on b and c, 9 has 5
        "b": [9.0, "size 5"],  # 10.5 against 11
        "c": [9.5, "size 5"],  # 10 against 10
    }


def test_settings_of_roads_are_chosen_by_errors_above_3_pixels():
    def road(scene, size, above_1, above_3):
        statistics = {"bad_pixels_all": above_1, "bad3_all": above_3}
        return result(f"kitti2015/{scene}", {"box.size": size}, statistics)

    # Size 5 is best above 1 pixel, size 9 above 3 pixels.
    results = [road(scene, 5, 10.0, 4.0) for scene in "ab"]
    results += [road(scene, 9, 20.0, 2.0) for scene in "ab"]
    rows = study.errors_with_chosen_settings(results)
    columns = ["group", "setting", "error", "error_at_1_px"]
    assert rows[columns].to_numpy().tolist() == [["roads", "size 9", 2.0, 20.0]] * 2


def test_of_roads_all_pixels_count():
    errors = {5: {"a": 1.0, "b": 2.0}}
    both = study.errors_with_chosen_settings([*_results(errors), *_results(errors, "roads")])
    assert both[["group", "error", "error_at_1_px"]].to_numpy().tolist() == [
        ["photographs", 1, 1],
        ["photographs", 2, 2],
        ["roads", 0.5, 2],
        ["roads", 1, 3],
    ]
    all_pixels = study.errors_with_chosen_settings(_results(errors), region="all")
    assert all_pixels["error"].tolist() == [2.0, 3.0]


def test_a_setting_that_failed_on_another_scene_is_not_chosen():
    errors = {5: {"a": 1.0, "b": 1.0, "c": 1.0}, 9: {"a": 8.0, "b": 8.0, "c": 8.0}}
    results = _results(errors)
    # Size 5 has no result on c, so its sum over the other scenes would be the lowest.
    results = [r for r in results if not (r.scene.endswith("c") and r.axes["box.size"] == 5)]
    rows = study.errors_with_chosen_settings(results).set_index("scene")["setting"]
    assert rows.to_dict() == {"a": "size 9", "b": "size 9"}


def _verdict_on(errors):
    return verdict(study._judge_of_fewer_errors(["a"], ["b"])(errors))


@pytest.mark.parametrize(
    ("worse", "expected"),
    # Two-sided: 2 / 2**10 and 22 / 2**10 on photographs, 2 / 2**8 and 18 / 2**8 on roads.
    [
        (0, Verdict.HOLDS),
        (1, Verdict.NOT_DECIDED),
        (2, Verdict.NOT_DECIDED),
        (7, Verdict.NOT_DECIDED),
        # Nine of ten photographs are against it: 0.021 for one test, 0.043 for two.
        (8, Verdict.FAILS),
    ],
)
def test_a_sign_test_decides(worse, expected):
    assert _verdict_on(planted_errors(worse, a=1, b=2)).verdict is expected


def test_missing_groups_and_few_scenes_leave_a_sentence_undecided():
    errors = planted_errors(a=1, b=2)
    photographs = errors[errors["group"] == "photographs"]
    decision = _verdict_on(photographs)
    assert decision.verdict is Verdict.NOT_DECIDED
    assert "a and b, roads: 0 scenes, and a sign test needs at least 6" in decision.figures
    against = photographs.replace({"method": {"a": "b", "b": "a"}})
    assert _verdict_on(against).verdict is Verdict.FAILS
    few = errors[errors["scene"].isin([f"scene{i}" for i in range(5)])]
    assert _verdict_on(few).figures.count("5 scenes, and a sign test needs at least 6") == 2
    assert _verdict_on(errors[errors["method"] == "a"]).verdict is Verdict.NOT_DECIDED


def test_errors_below_a_pixel_are_decided_by_photographs_alone():
    judge = study._judge_of_lower_rms([("a", "b")])
    errors = planted_errors(a=1, b=2)
    roads = errors["group"] == "roads"
    errors.loc[roads & (errors["method"] == "a"), "error"] = 50.0
    decision = verdict(judge(errors))
    assert decision.verdict is Verdict.HOLDS
    assert "px, fewer on 10 of 10, p = 0.002 (roads, which do not count here: 50.000 px and" in (
        decision.figures
    )


@pytest.mark.parametrize(
    ("half", "expected"),
    [(103, Verdict.HOLDS), (107, Verdict.FAILS)],
)
def test_half_pixels_may_lose_a_twentieth(half, expected):
    errors = planted_errors(half_parabola=half, quarter_parabola=100)
    errors["error"] = errors.groupby("method")["error"].transform("first")
    assert verdict(study.half_pixels_adequate(errors)).verdict is expected


def _scene_with_texture():
    rng = np.random.default_rng(0)
    image = rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)
    image[:, 30:] = 100  # without texture
    truth = np.full((40, 60), 4.25, np.float32)
    frames = (Frame("left", lambda: image, 0), Frame("right", lambda: image, 1))
    return Scene("middlebury-v3/made", frames, truths={(0, 1): lambda: truth}), truth


def test_rms_errors_are_those_of_the_same_textured_pixels_for_all_methods():
    scene, truth = _scene_with_texture()
    first, second = truth + 0.5, truth + 0.1
    first[:, 33:] = 20  # wrong without texture: does not count
    first[5:10, 10:20] = np.nan
    second[5:10, 10:20] = 9  # wrong where the first has no estimate: does not count
    second[20, 10] = 8.25  # gross error: counts for textured pixels only
    measured = study.sub_pixel_errors(scene, {"first": first, "second": second})
    assert measured.textured_rms["first"] == pytest.approx(0.5)
    assert measured.textured_rms["second"] > 0.12
    assert measured.close_rms == pytest.approx({"first": 0.5, "second": 0.1}, abs=1e-5)
    assert 0.9 < measured.textured_share < 1
    assert {len(values) for values in measured.fractions.values()} == {
        len(measured.fractions["truth"])
    }


def test_the_settings_stand_in_a_table_with_their_numbers_of_scenes():
    errors = {5: {"a": 1.0, "b": 9.0, "c": 9.5}, 9: {"a": 8.0, "b": 2.0, "c": 3.0}}
    fixed = [result("middlebury-v3/trainingQ/a", {}, {"bad_pixels_nonocc": 1.0}, method="fixed")]
    rows = study.errors_with_chosen_settings([*_results(errors), *fixed])
    note = study._note_on_grid("costs", rows, study._BAD_PIXELS)
    table = study.settings_table("Settings", {"photographs": rows}, note)
    assert table.texts() == [["m", "size 5 (2); size 9 (1)"]]
    [text] = table.notes
    assert "lowest mean error on the other scenes of its group" in text
    assert "stand in configs/photographs/costs.yaml" in text
    assert "Without a grid: fixed." in text
    note = study._note_on_grid("methods", rows[rows["setting"] == ""], study._BAD_PIXELS)
    assert note.startswith("Nothing was chosen")


def test_locking_is_what_must_move():
    truth = np.arange(1600, dtype=np.float32) / 1600
    moved = study.locking_percentage(
        {"a": study.fraction_of(truth + 7)}, {"a": study.fraction_of(truth)}
    )
    assert moved == pytest.approx(0, abs=1)  # of float32, at the ends of bins
    # All in one of sixteen bins: fifteen sixteenths must leave it.
    locked = {"b": np.zeros(50, np.float32)}
    # The scene "a" has no map of the method, and its ground truth does not count.
    truths = {"a": np.full(50, 0.5, np.float32), "b": truth}
    assert study.locking_percentage(locked, truths) == pytest.approx(100 * 15 / 16, abs=0.1)


def test_the_name_of_a_light():
    for changed, told in (
        ({"exposure": 0.6}, "exposure .6"),
        ({"noise": 6}, "noise 6"),
        ({}, "as it is"),
    ):
        values = {"exposure": 1, "gamma": 1, "vignetting": 0, "noise": 0} | changed
        axes = {f"preprocessing.radiometric_change.{name}": value for name, value in values.items()}
        assert study.light_of(result("s", axes, {})) == told


def test_dots_lie_at_the_means():
    groups = {"photographs": {"b": [1.0, 3.0], "a": [4.0, 6.0]}, "roads": {"a": [7.0], "b": []}}
    first, second = study.ranked_dots_figure(groups, "bad pixels (%)", "Costs").axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["b", "a"]
    dots = [
        [line.get_xydata()[0].tolist() for line in axes.lines if line.get_markersize() == 5]
        for axes in (first, second)
    ]
    assert dots == [[[2.0, 0.0], [5.0, 1.0]], [[7.0, 1.0]]]
    rings = [line.get_xdata().tolist() for line in first.lines if line.get_markersize() == 3]
    assert rings == [[1.0, 3.0], [4.0, 6.0]]


def test_pages_of_made_results(monkeypatch, tmp_path):
    """Every experiment with results of its own settings on as many scenes as a sign test needs, so that all tables, charts and files are there."""

    def made(context, name, **_):
        script = load(f"photographs/{name}")
        folders = [
            folder
            for folder in PLACES.values()
            if any(scene.startswith(folder) for scene in script.scenes)
        ]
        scenes = [f"{folder}/{i}" for folder in folders for i in range(6)]
        return [
            result(
                scene,
                dict(one.axes),
                {"bad_pixels_nonocc": 10.0 + k, "bad_pixels_all": 12.0 + k, "bad3_all": 5.0 + k},
                method=one.method,
            )
            for k, one in enumerate(script.settings)
            for scene in scenes
        ]

    monkeypatch.setattr(Context, "run", made)
    for item in ("costs", "light", "aggregation", "optimizers", "post_processing", "methods"):
        done = reproduce(PAPER, tmp_path, item=item)
        assert item == "light" or (tmp_path / "figures" / f"{item}.svg").stat().st_size > 2000
        assert (tmp_path / "tables" / f"{item}_0.csv").read_text().count("\n") > 8
        assert all(s.verdict != "no verdict" for s in done.statements), item
    assert (tmp_path / "figures" / "methods_time.svg").is_file()
    methods_table = (tmp_path / "tables" / "methods_0.md").read_text()
    assert "| fine\\* |" in methods_table
    assert "| roads | roads, 1 px |" in methods_table
    settings = (tmp_path / "tables" / "costs_1.md").read_text()
    assert "| ad_census_window | size 5 (6) | size 5 (6) |" in settings
    assert not (tmp_path / "tables" / "methods_1.md").exists()


@pytest.mark.slow
def test_quick_on_real_scenes(data, tmp_path):
    done = reproduce(PAPER, tmp_path, data=data, quick=True)
    assert len(done.outcomes) == 7
    names = (
        "costs",
        "aggregation",
        "optimizers",
        "sub_pixel",
        "post_processing",
        "methods",
        "methods_time",
    )
    assert {path.stem for path in (tmp_path / "figures").glob("*.svg")} == {
        f"{name}_quick" for name in names
    }


def test_the_scenes_are_those_of_the_groups():
    scenes = load("photographs/costs").scenes
    assert [sum(s.startswith(group.folder) for s in scenes) for group in study.GROUPS.values()] == [
        10,
        8,
        4,
        4,
    ]
