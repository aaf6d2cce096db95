"""Methods that run on some scenes only, and values on single scenes."""

import pytest
import yaml
from cli_parts import call

import stereo_framework
from stereo_framework import step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import ParameterError, ScriptError
from stereo_framework.datasets import scene_fits
from stereo_framework.script import load

PLANES, SLANTED, OCCLUSIONS = (f"synthetic/{name}" for name in ("planes", "slanted", "occlusions"))


def window(**keys):
    """Return a script of a window method."""
    return {"include": "window", "scenes": [PLANES, SLANTED], **keys}


def sizes(script, scene):
    """Return the window size of each setting on a scene."""
    steps = [setting.pipeline.in_slot("aggregation")[0] for setting in script.settings_on(scene)]
    return [one.value_at("size") for one in steps]


# --- scenes of a method ---------------------------------------------------------------


def runs_of(script, **options):
    """Return the scene and the method of each run."""
    return [(result.scene, result.method) for result in stereo_framework.run(script, **options)]


def test_a_method_runs_on_its_own_scenes_only(small_scenes):
    script = window(methods={"all": {}, "own": {"scenes": OCCLUSIONS}, "one": {"scenes": PLANES}})
    assert load(script).scenes == (PLANES, SLANTED, OCCLUSIONS)
    assert runs_of(script) == [
        (PLANES, "all"),
        (PLANES, "one"),
        (SLANTED, "all"),
        (OCCLUSIONS, "own"),
    ]


def test_scenes_of_the_user_are_those_of_methods_without_own_scenes(small_scenes):
    script = window(methods={"all": {}, "own": {"scenes": OCCLUSIONS}})
    assert runs_of(script, scenes=[OCCLUSIONS]) == [(OCCLUSIONS, "all"), (OCCLUSIONS, "own")]
    assert runs_of(script, scenes=[PLANES]) == [(PLANES, "all")]
    only_own = window(methods={"own": {"scenes": OCCLUSIONS}})
    message = "no method runs on synthetic/planes, because the script restricts each method"
    with pytest.raises(ScriptError, match=message):
        runs_of(only_own, scenes=[PLANES])


def test_scenes_of_an_included_script_are_not_those_of_a_method(write, tmp_path):
    write(alone=f"include: window\nscenes: {OCCLUSIONS}\n")
    script = load(window(methods={"a": {"include": str(tmp_path / "alone.yaml")}}))
    assert script.expansions[0].method.scenes == ()
    assert script.scenes == (PLANES, SLANTED)


def test_the_resolved_script_has_the_same_runs(small_scenes):
    methods = {"all": {}, "own": {"scenes": OCCLUSIONS, "by_scene": {OCCLUSIONS: {"seed": 3}}}}
    script = window(methods=methods, by_scene={SLANTED: {"aggregation.box.size": 3}})
    resolved = load(script).resolved
    again = yaml.safe_load(yaml.safe_dump(resolved, sort_keys=False))
    assert load(again).resolved == resolved
    ids = [result.id for result in stereo_framework.run(script)]
    assert [result.id for result in stereo_framework.run(again)] == ids


def test_tables_mark_cells_that_are_empty_on_purpose(small_scenes, tmp_path):
    script = window(methods={"all": {}, "one": {"scenes": PLANES}})
    table = {"rows": "method", "columns": "scene", "value": "bad_pixels_all"}
    script["report"] = {"tables": {"scenes": table}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(script))
    result = call("run", tmp_path / "mine.yaml", "--out", tmp_path / "out")
    assert "without slanted, on which it does not run" in result.stderr
    rows = (tmp_path / "out/tables/scenes.md").read_text().splitlines()
    [row] = [row for row in rows if row.startswith("| one |")]
    assert row.endswith("| not run |")
    assert "not run: the script restricts the method to other scenes" in rows


def test_tuning_compares_methods_on_the_same_scenes(tmp_path):
    from stereo_framework.sweep.tune import tune

    axes = {"grid": {"aggregation.box.size": [3, 5]}}
    script = window(methods={"a": {"sweep": axes}, "b": {"scenes": PLANES}})
    with pytest.raises(ParameterError, match="method 'b' has the key 'scenes'"):
        tune(script, "bad_pixels_all", PLANES, trials=2)


# --- values on single scenes ----------------------------------------------------------


def test_values_on_a_scene_change_only_its_runs(small_scenes):
    plain = {result.scene: result for result in stereo_framework.run(window())}
    values = {SLANTED: {"aggregation.box.size": 3, "search.maximum": 12}}
    changed = {result.scene: result for result in stereo_framework.run(window(by_scene=values))}
    assert changed[PLANES].id == plain[PLANES].id
    assert changed[SLANTED].id != plain[SLANTED].id
    assert changed[SLANTED].parameters["aggregation.box.size"] == 3
    assert changed[SLANTED].parameters["search.maximum"] == 12
    by_hand = window(
        scenes=[SLANTED], search={"maximum": 12}, aggregation=[{"use": "box", "size": 3}]
    )
    [result] = stereo_framework.run(by_hand)
    assert result.id == changed[SLANTED].id
    assert result.statistics == changed[SLANTED].statistics


@pytest.mark.parametrize("name", [SLANTED, "slanted", "synthetic/s*", "synthetic"])
def test_a_name_a_data_set_and_a_pattern_mean_scenes(name):
    script = load(window(by_scene={name: {"aggregation.box.size": 3}}))
    assert sizes(script, SLANTED) == [3]
    assert sizes(script, "middlebury2003/teddy") == [9]


def test_the_later_value_counts_and_a_method_comes_after_the_script():
    by_scene = {"synthetic": {"aggregation.box.size": 3}, SLANTED: {"aggregation.box.size": 5}}
    own = {SLANTED: {"aggregation.box.size": 7}}
    script = load(window(by_scene=by_scene, methods={"a": {}, "b": {"by_scene": own}}))
    assert sizes(script, PLANES) == [3, 3]
    assert sizes(script, SLANTED) == [5, 7]


def test_values_on_a_scene_meet_the_axes_of_other_parameters():
    values = {SLANTED: {"aggregation.box.iterations": 2, "matching_cost": "census"}}
    axes = {"grid": {"aggregation.box.size": [3, 5]}}
    script = load(window(by_scene=values, sweep=axes))
    pipelines = [setting.pipeline for setting in script.settings_on(SLANTED)]
    assert [pipeline.in_slot("aggregation") for pipeline in pipelines] == [
        (step(box, size=size, iterations=2),) for size in (3, 5)
    ]
    assert [pipeline.steps[0].stage.name for pipeline in pipelines] == ["census", "census"]
    assert [setting.axes for setting in script.settings_on(SLANTED)] == [
        setting.axes for setting in script.settings
    ]


def test_values_reach_swept_stages_auxiliary_methods_and_inner_stages():
    script = {
        "matching_cost": {"use": "ad_census", "residual": 5},
        "aggregation": [{"use": "cross_scale", "inner": "box"}],
        "optimization": "winner_take_all",
        "auxiliary": {"robust": {"include": "window"}},
        "sweep": {"grid": {"aggregation.cross_scale.inner": ["box", "guided_filter"]}},
    }
    script["by_scene"] = {
        SLANTED: {
            "aggregation.cross_scale.inner.size": 3,
            "auxiliary.robust.aggregation.box.size": 5,
        }
    }
    settings = load(script).settings_on(SLANTED)
    inner_stages = [one.pipeline.in_slot("aggregation")[0].value_at("inner") for one in settings]
    assert inner_stages == [step("box", size=3), step("guided_filter", size=3)]
    robust = dict(settings[0].pipeline.auxiliary)["robust"]
    assert robust.in_slot("aggregation") == (step(box, size=5),)
    unchanged = dict(load(script).settings[0].pipeline.auxiliary)["robust"]
    assert unchanged.in_slot("aggregation") == (step(box, size=9),)


def test_an_own_axis_of_a_method_replaces_the_values_of_the_script():
    axes = {"sweep": {"grid": {"aggregation.box.size": [3, 5]}}}
    values = {SLANTED: {"aggregation.box.size": 7}}
    script = load(window(by_scene=values, methods={"plain": {}, "swept": axes}))
    assert sizes(script, SLANTED) == [7, 3, 5]


def test_an_option_sets_a_value_on_a_scene():
    script = load(window(), overrides=f"by_scene.{SLANTED}.aggregation.box.size=5")
    assert sizes(script, SLANTED) == [5]
    assert sizes(script, PLANES) == [9]


def test_values_of_two_names_that_do_not_fit_together_are_reported_on_their_scene():
    semi_global = {"include": "window", "optimization": {"use": "semi_global", "p1": 10, "p2": 20}}
    values = {"synthetic": {"optimization.p1": 15}, SLANTED: {"optimization.p2": 12}}
    script = load(semi_global | {"by_scene": values})
    assert len(script.settings_on(PLANES)) == 1
    with pytest.raises(ScriptError, match="p2 is 12, below p1, 15 .*on synthetic and synthetic/sl"):
        script.settings_on(SLANTED)


def test_results_with_values_on_scenes_are_resumed(small_scenes, tmp_path):
    script = window(by_scene={SLANTED: {"aggregation.box.size": 3}})
    first = list(stereo_framework.run(script, out=tmp_path / "out", workers=2))
    again = list(stereo_framework.run(script, out=tmp_path / "out"))
    assert [result.id for result in again] == [result.id for result in first]
    changed = window(by_scene={SLANTED: {"aggregation.box.size": 5}})
    ids = {
        result.scene: result.id for result in stereo_framework.run(changed, out=tmp_path / "out")
    }
    assert ids[PLANES] == first[0].id
    assert ids[SLANTED] != first[1].id


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("middlebury2003/teddy", True),
        ("teddy", True),
        ("middlebury2003", True),
        ("middlebury2003/*", True),
        ("*/t*", True),
        ("edy", False),
        ("middlebury2003/ted", False),
        ("middlebury2001/*", False),
        ("*", False),
        ("./middlebury2003/teddy", True),
        ("middlebury2003/teddy/scene.yaml", True),
    ],
)
def test_names_fit_whole_parts_of_the_name_of_a_scene(name, fits):
    assert scene_fits("middlebury2003/teddy", name) == fits


def test_tuning_uses_the_values_on_each_scene(small_scenes, tmp_path):
    from stereo_framework.sweep.tune import tune

    axes = {"grid": {"matching_cost.truncation": [5, 20]}}
    script = window(sweep=axes, by_scene={SLANTED: {"aggregation.box.size": 3}})
    tuned = tune(script, "bad_pixels_all", trials=2, out=tmp_path / "tuned")
    by_hand = window(scenes=[SLANTED], aggregation=[{"use": "box", "size": 3}])
    by_hand["matching_cost"] = {"use": "absolute_difference", "truncation": 5}
    [result] = stereo_framework.run(by_hand)
    [trial] = [one for one in tuned.trials if one.setting.axes["matching_cost.truncation"] == 5]
    assert trial.scenes[SLANTED] == result.statistics["bad_pixels_all"]
