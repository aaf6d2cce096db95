"""Scripts whose stages contain other stages."""

import json
from typing import Annotated

import numpy as np
import pytest
from cli_parts import invoke

import stereo_framework
from stereo_framework import step
from stereo_framework.aggregation import box, cross_scale
from stereo_framework.core.errors import ScriptError
from stereo_framework.script import load
from stereo_framework.stages import FilePath, InSlot, NonNegativeInt, Step, stage

ADDRESS = "aggregation.cross_scale.inner"


def script_with(inner, **keys):
    """Return a script with `cross_scale` at two image sizes and an inner stage."""
    return {
        "scenes": ["synthetic/planes"],
        "matching_cost": "absolute_difference",
        "aggregation": [{"use": "cross_scale", "scales": 2, "inner": inner}],
        "optimization": "winner_take_all",
        **keys,
    }


def aggregation_of(script, index=0, **options):
    [aggregation] = load(script, **options).settings[index].pipeline.in_slot("aggregation")
    return aggregation


def inner_steps_of(settings):
    """Return the inner step of the aggregation of each setting."""
    return [setting.pipeline.in_slot("aggregation")[0].value_at("inner") for setting in settings]


def test_a_script_gives_an_inner_stage_by_name_or_with_parameters(validator):
    for inner, expected in (
        ("box", step(box)),
        ({"use": "box"}, step(box)),
        ({"use": "box", "size": 5}, step(box, size=5)),
        (
            {"use": "cross_scale", "scales": 3, "inner": {"use": "box", "size": 5}},
            step(cross_scale, scales=3, inner=step(box, size=5)),
        ),
    ):
        script = script_with(inner)
        assert aggregation_of(script) == step(cross_scale, scales=2, inner=expected)
        validator().validate(script)


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        (
            {"use": "boxx"},
            f"{ADDRESS}: there is no stage 'boxx'; allowed stages: .*did you mean 'box'",
        ),
        ({"use": "box", "size": 0}, f"{ADDRESS}.size: 0 is not a whole number >= 1"),
        ({"use": "box", "siz": 3}, f"{ADDRESS}: box has no parameter 'siz'"),
        (
            ["box"],
            f"{ADDRESS}: a list is not allowed here, because inner is one stage; write a name or",
        ),
        ({"size": 3}, f"{ADDRESS}: the stage has no key 'use'; write use: NAME"),
        (5, f"{ADDRESS}: 5 is not the name of a stage"),
        (
            "census",
            f"{ADDRESS}: there is no stage 'census'; .*'census' is a stage of matching_cost",
        ),
        (
            {"use": "cross_scale", "inner": {"use": "box", "size": "large"}},
            f"{ADDRESS}.inner.size: 'large' is not a whole number >= 1",
        ),
    ],
)
def test_faults_of_inner_stages_are_reported_at_their_address(inner, message, validator):
    with pytest.raises(ScriptError, match=message) as raised:
        load(script_with(inner))
    assert len(raised.value.faults) == 1
    assert not validator().is_valid(script_with(inner))


def test_faults_have_line_and_column(write, tmp_path):
    write(
        nested="""\
matching_cost: census
aggregation:
  - use: cross_scale
    inner:
      use: guided_filter
      size: 0
optimization: winner_take_all
"""
    )
    with pytest.raises(ScriptError, match=r"nested.yaml:6:13: .*inner.size: 0 is not a whole"):
        load(tmp_path / "nested.yaml")


def inner_aggregations(settings):
    """Return the inner stage of the aggregation of each setting."""
    methods = [setting.pipeline for setting in settings]
    return [method.in_slot("aggregation")[0].value_at("inner") for method in methods]


def test_axes_address_inner_stages_and_their_parameters(validator):
    axes = {ADDRESS: ["box", {"use": "guided_filter", "size": 9}], f"{ADDRESS}.size": [5, 7]}
    script = script_with("box", sweep={"grid": axes})
    validator().validate(script)
    settings = load(script).settings
    assert [setting.axes for setting in settings] == [
        {ADDRESS: name, f"{ADDRESS}.size": size}
        for name in ("box", "guided_filter")
        for size in (5, 7)
    ]
    assert inner_aggregations(settings) == [
        step("box", size=5),
        step("box", size=7),
        step("guided_filter", size=5),
        step("guided_filter", size=7),
    ]


def test_the_axis_of_an_inner_stage_comes_before_its_parameters_in_any_order():
    axes = {f"{ADDRESS}.size": [5, 7], ADDRESS: ["guided_filter", "box"]}
    settings = load(script_with("box", sweep={"grid": axes})).settings
    assert inner_aggregations(settings) == [
        step("guided_filter", size=5),
        step("box", size=5),
        step("guided_filter", size=7),
        step("box", size=7),
    ]


def test_axes_reach_two_levels_deep_and_into_default_inner_stages():
    script = script_with({"use": "cross_scale"})
    script["sweep"] = {"grid": {f"{ADDRESS}.inner.size": [9, 11]}}
    for setting, size in zip(load(script).settings, (9, 11), strict=True):
        [aggregation] = setting.pipeline.in_slot("aggregation")
        assert aggregation.value_at("inner.inner") == step("guided_filter", size=size)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (f"{ADDRESS}.siz", "box has no parameter 'siz'; .*did you mean 'size'"),
        (f"{ADDRESS}.use", f"'use' is no parameter; give the stages at {ADDRESS} itself"),
        (f"{ADDRESS}.inner.size", "box has no parameter 'inner.size'"),
    ],
)
def test_axes_that_address_nothing_in_an_inner_stage_are_refused(address, message):
    with pytest.raises(ScriptError, match=message):
        load(script_with("box", sweep={"grid": {address: [3]}}))


def test_a_parameter_that_only_one_swept_inner_stage_has_belongs_into_its_axis():
    axes = {ADDRESS: ["box", "guided_filter"], f"{ADDRESS}.epsilon": [0.01, 0.1]}
    message = rf"box has no parameter 'epsilon'.*the axis {ADDRESS} also has stages without"
    with pytest.raises(ScriptError, match=message):
        load(script_with("box", sweep={"grid": axes}))
    stages = ["box", *({"use": "guided_filter", "epsilon": value} for value in (0.01, 0.1))]
    assert len(load(script_with("box", sweep={"grid": {ADDRESS: stages}})).settings) == 3


def test_options_set_parameters_of_inner_stages():
    changed = load(script_with("box"), overrides=f"{ADDRESS}.size=3").settings[0]
    assert changed.pipeline.in_slot("aggregation") == (
        step(cross_scale, scales=2, inner=step("box", size=3)),
    )
    changed = load(script_with("box"), overrides=f"{ADDRESS}={{use: binomial}}").settings[0]
    assert changed.pipeline.in_slot("aggregation")[0].value_at("inner") == step("binomial")
    short = load(script_with("box"), overrides="size=3").settings[0]
    assert short.pipeline.in_slot("aggregation")[0].value_at("inner") == step("box", size=3)


def test_a_setting_shows_an_inner_stage_and_its_parameters():
    [setting] = load(script_with({"use": "box", "size": 5})).settings
    parameters = setting.parameters
    assert parameters[f"{ADDRESS}.use"] == "box"
    assert parameters[f"{ADDRESS}.size"] == 5
    assert ADDRESS not in parameters
    assert json.loads(json.dumps(parameters)) == parameters
    assert setting.mapping["aggregation"][0]["inner"] == {"use": "box", "size": 5, "iterations": 1}
    assert load(setting.mapping).settings[0].pipeline == setting.pipeline


def test_scripts_merge_parameters_of_the_same_inner_stage(write, tmp_path):
    @stage("optimization", source="Author 2000")
    def around(volume, *, inner: Annotated[Step, InSlot("optimization")] = step("semi_global")):
        return inner(volume=volume)

    write(
        base="""\
matching_cost: census
optimization: {use: around, inner: {use: semi_global, p1: 3}}
""",
        changed="""\
include: base.yaml
optimization: {use: around, inner: {use: semi_global, p2: 50}}
""",
        other="include: base.yaml\noptimization: {use: around, inner: {use: winner_take_all}}\n",
    )
    changed = load(tmp_path / "changed.yaml").settings[0].pipeline.in_slot("optimization")[0]
    assert changed.value_at("inner") == step("semi_global", p1=3, p2=50)
    other = load(tmp_path / "other.yaml").settings[0].pipeline.in_slot("optimization")[0]
    assert other.value_at("inner") == step("winner_take_all")


def test_the_seed_of_a_script_fills_inner_stages():
    @stage("aggregation", source="Author 2000")
    def noisy(volume, *, seed: NonNegativeInt = 0):
        return volume

    for inner in ("noisy", {"use": "cross_scale", "inner": "noisy"}):
        name = "inner.seed" if inner == "noisy" else "inner.inner.seed"
        assert aggregation_of(script_with(inner, seed=7)).value_at(name) == 7
        noisy_stage = {"use": "noisy", "seed": 3}
        stages = {"noisy": noisy_stage}
        nested_stage = {"use": "cross_scale", "inner": noisy_stage}
        seeded_inner = stages.get(str(inner), nested_stage)
        assert aggregation_of(script_with(seeded_inner, seed=7)).value_at(name) == 3
    seeds = load(script_with("noisy", sweep={"grid": {"seed": [1, 2]}})).settings
    assert [setting.parameters[f"{ADDRESS}.seed"] for setting in seeds] == [1, 2]
    assert "seed" not in seeds[0].mapping["aggregation"][0]["inner"]


def test_default_inner_stages_get_the_seed_of_the_script():
    @stage("aggregation", source="Author 2000")
    def noisy(volume, *, seed: NonNegativeInt = 0):
        return volume

    @stage("aggregation", source="Author 2000")
    def around(volume, *, inner: Annotated[Step, InSlot("aggregation")] = step(noisy)):
        return inner(volume=volume)

    script = script_with("box", seed=7)
    script["aggregation"] = ["around"]
    assert aggregation_of(script).value_at("inner.seed") == 7


def test_missing_files_and_impossible_values_of_inner_stages_are_faults(tmp_path):
    @stage(
        "aggregation",
        source="Author 2000",
        files=lambda: [tmp_path / "missing.bin"],
        check_parameters=lambda size: "the size is even" if size % 2 == 0 else None,
    )
    def particular(volume, *, size: NonNegativeInt = 3):
        return volume

    with pytest.raises(ScriptError, match="cross_scale: particular: no file .*missing.bin"):
        load(script_with("particular"))
    with pytest.raises(ScriptError, match="cross_scale: particular: the size is even"):
        load(script_with({"use": "particular", "size": 4}))


def test_a_wrong_halo_of_an_inner_stage_is_found():
    @stage("aggregation", source="Author 2000", halo=lambda: 0)
    def local_box(volume):
        return box(volume, size=5)

    with pytest.raises(ScriptError, match="local_box gives other results on a strip of rows"):
        load(script_with("local_box"))


def test_settings_that_differ_in_an_inner_stage_have_different_results(tmp_path):
    script = script_with("box", sweep={"grid": {f"{ADDRESS}.size": [5, 15]}})
    script["scenes"] = ["synthetic/occlusions"]
    results = list(stereo_framework.run(script, out=tmp_path / "out", workers=1))
    assert len({result.id for result in results}) == 2
    assert [result.axes for result in results] == [
        {f"{ADDRESS}.size": 5},
        {f"{ADDRESS}.size": 15},
    ]
    errors = [result.statistics["bad_pixels_all"] for result in results]
    assert errors[0] != errors[1]
    again = list(stereo_framework.run(script, out=tmp_path / "out", workers=1))
    assert [result.id for result in again] == [result.id for result in results]
    np.testing.assert_equal([result.statistics["bad_pixels_all"] for result in again], errors)


@pytest.mark.parametrize(
    "key", [f"{ADDRESS}.size", f"{ADDRESS}.use", ADDRESS, "aggregation.0.inner.size"]
)
def test_plots_and_tables_take_addresses_of_inner_stages(key):
    plot = {"x": key, "y": "bad_pixels_nonocc"}
    table = {"rows": key, "columns": "scene", "value": "bad_pixels_nonocc"}
    script = script_with("box", sweep={"grid": {f"{ADDRESS}.size": [5, 9]}})
    load(script | {"report": {"plots": {"size": plot}, "tables": {"size": table}}})


def test_plots_refuse_parameters_that_no_inner_stage_has():
    plot = {"x": f"{ADDRESS}.siz", "y": "bad_pixels_nonocc"}
    with pytest.raises(ScriptError, match=f"there is no key '{ADDRESS}.siz'"):
        load(script_with("box", report={"plots": {"size": plot}}))


def test_relative_paths_of_inner_stages_start_at_the_folder_of_the_script(write, tmp_path):
    @stage("aggregation", source="Author 2000")
    def with_model(volume, *, model: FilePath = "model.bin"):
        return volume

    write(
        models__nested="""\
matching_cost: census
aggregation: [{use: cross_scale, inner: {use: with_model, model: forest.npz}}]
optimization: winner_take_all
"""
    )
    aggregation = aggregation_of(tmp_path / "models" / "nested.yaml")
    assert aggregation.value_at("inner.model") == str(tmp_path / "models" / "forest.npz")


def test_the_page_of_a_stage_lists_its_inner_stage():
    page = invoke("stages", "cross_scale").stdout
    assert "inner = guided_filter   (a stage of aggregation)" in page


# --- axes and options that reach into inner stages in several ways --------------------


def multi_baseline_script(**axes):
    return {
        "matching_cost": "multi_baseline",
        "optimization": "winner_take_all",
        "sweep": {"grid": axes},
    }


@pytest.mark.parametrize("size_first", [True, False])
@pytest.mark.parametrize(
    ("stage_address", "size_address"),
    [
        ("matching_cost.multi_baseline.inner", "matching_cost.inner.width"),
        ("matching_cost.inner", "matching_cost.multi_baseline.inner.width"),
    ],
)
def test_addresses_with_and_without_the_outer_stage_may_be_mixed(
    stage_address, size_address, size_first
):
    stages = [{"use": "census", "height": 5}, "rank"]
    axes = {stage_address: stages[:1], size_address: [5, 7]}
    if size_first:
        axes = dict(reversed(axes.items()))
    settings = load(multi_baseline_script(**axes)).settings
    inner_costs = [setting.pipeline.steps[0].value_at("inner") for setting in settings]
    assert inner_costs == [step("census", width=width, height=5) for width in (5, 7)]


def test_equal_values_of_an_inner_axis_run_once():
    values = ["box", {"use": "box"}, {"use": "box", "size": step(box).value_at("size")}, "binomial"]
    settings = load(script_with("box", sweep={"grid": {ADDRESS: values}})).settings
    assert inner_aggregations(settings) == [step("box"), step("binomial")]


def test_two_axes_of_one_parameter_are_refused():
    axes = {f"{ADDRESS}.size": [3, 5], "aggregation.0.inner.size": [7, 9]}
    message = f"0.inner.size: varies the same parameter as the axis {ADDRESS}.size; keep one"
    with pytest.raises(ScriptError, match=message):
        load(script_with("box", sweep={"grid": axes}))


def test_an_option_replaces_the_axis_of_an_inner_parameter_however_it_is_written():
    two_stages = script_with("box")
    two_stages["aggregation"] = [*two_stages["aggregation"], {"use": "min_filter", "size": 3}]
    for axis in (f"{ADDRESS}.size", "aggregation.0.inner.size", "aggregation.inner.size"):
        axes = {axis: [3, 5], "aggregation.min_filter.size": [5, 7]}
        script = two_stages | {"sweep": {"grid": axes}}
        settings = load(script, overrides=f"{ADDRESS}.size=9").settings
        assert [setting.pipeline.in_slot("aggregation") for setting in settings] == [
            (step(cross_scale, scales=2, inner=step(box, size=9)), step("min_filter", size=size))
            for size in (5, 7)
        ]


def test_an_option_sets_a_parameter_in_each_stage_of_an_inner_axis():
    script = script_with("box", sweep={"grid": {ADDRESS: ["box", "guided_filter"]}})
    expected = [step("box", size=3), step("guided_filter", size=3)]
    for key in (f"{ADDRESS}.size", "aggregation.0.inner.size", "size"):
        assert inner_aggregations(load(script, overrides=f"{key}=3").settings) == expected
    with pytest.raises(ScriptError, match=f"'epsilon'.*the axis {ADDRESS} also has stages"):
        load(script, overrides="epsilon=3")


def test_an_option_reaches_the_inner_stages_of_a_swept_slot_and_of_a_swept_inner_stage():
    nested = {"use": "cross_scale", "scales": 3, "inner": {"use": "cross_scale", "inner": "box"}}
    axes = {"aggregation": [[nested], ["cross_scale"]], ADDRESS: ["cross_scale"]}
    axes[f"{ADDRESS}.inner"] = ["box", "binomial"]
    script = script_with("box", sweep={"grid": axes})
    script = load(script, overrides=f"{ADDRESS}.inner.iterations=2")
    assert [setting.pipeline.in_slot("aggregation")[0] for setting in script.settings] == [
        step(cross_scale, scales=scales, inner=step(cross_scale, inner=step(name, iterations=2)))
        for scales in (3, step(cross_scale).value_at("scales"))
        for name in ("box", "binomial")
    ]


def test_an_option_that_names_the_same_inner_stage_keeps_its_other_parameters():
    script = script_with({"use": "guided_filter", "size": 5})
    for option, expected in (
        ("{use: guided_filter, epsilon: 0.5}", step("guided_filter", size=5, epsilon=0.5)),
        ("guided_filter", step("guided_filter", size=5)),
        ("box", step("box")),
    ):
        changed = load(script, overrides=f"{ADDRESS}={option}").settings
        assert inner_aggregations(changed) == [expected]


def test_an_option_for_one_method_is_refused_if_all_methods_sweep_a_stage_around_it():
    script = script_with("box", sweep={"grid": {ADDRESS: ["box", "guided_filter"]}})
    script["methods"] = {"first": {}, "second": {"seed": 3}}
    with pytest.raises(ScriptError, match=f"{ADDRESS} is swept for all methods"):
        load(script, overrides=f"methods.first.{ADDRESS}.size=3")


def test_axes_of_an_inner_stage_and_its_parameters_can_be_tuned_and_resolved(tmp_path):
    axes = {ADDRESS: [{"use": "guided_filter", "size": 9}], f"{ADDRESS}.epsilon": [0.01, 0.1]}
    script = load(script_with("box", sweep={"grid": axes}))
    assert script.resolved["sweep"]["grid"] == {
        ADDRESS: [{"use": "guided_filter", **step("guided_filter", size=9).parameters}],
        f"{ADDRESS}.epsilon": [0.01, 0.1],
    }
    again = load(script.resolved).settings
    assert [setting.pipeline for setting in again] == [
        setting.pipeline for setting in script.settings
    ]
    script_file = tmp_path / "nested.yaml"
    script_file.write_text(json.dumps(script_with("box", sweep={"grid": axes})))
    tuned = invoke("tune", script_file, "--trials", 2, "--out", tmp_path / "tuned", "--json")
    assert tuned.exit_code == 0, tuned.output


def test_faults_of_inner_and_outer_stages_are_reported_together():
    script = script_with({"use": "box", "size": 0})
    script["aggregation"][0]["scales"] = -1
    with pytest.raises(ScriptError) as raised:
        load(script)
    assert len(raised.value.faults) == 2


def test_a_script_that_names_the_same_inner_stage_keeps_the_parameters_below(write, tmp_path):
    @stage("optimization", source="Author 2000")
    def around(volume, *, inner: Annotated[Step, InSlot("optimization")] = step("semi_global")):
        return inner(volume=volume)

    inner = {"text": "semi_global", "mapping": "{use: semi_global}"}
    for kind, written_inner in inner.items():
        write(
            base="""\
matching_cost: census
optimization: {use: around, inner: {use: semi_global, p1: 3}}
""",
            **{
                kind: f"include: base.yaml\noptimization: {{use: around, inner: {written_inner}}}\n"
            },
        )
        [changed] = load(tmp_path / f"{kind}.yaml").settings[0].pipeline.in_slot("optimization")
        assert changed.value_at("inner") == step("semi_global", p1=3)


def test_labels_leave_out_parameters_that_another_axis_varies():
    nested = {"use": "cross_scale", "scales": 3, "inner": {"use": "box", "size": 9}}
    axes = {"aggregation": [[nested], ["cross_scale"]], f"{ADDRESS}.size": [5, 7]}
    settings = load(script_with("box", sweep={"grid": axes})).settings
    assert [setting.axes["aggregation"] for setting in settings] == [
        *2 * ["cross_scale(inner=box, scales=3)"],
        *2 * ["cross_scale"],
    ]


def test_values_that_differ_only_in_a_swept_parameter_run_once():
    axes = {
        ADDRESS: [{"use": "box", "size": 9}, "box", "guided_filter"],
        f"{ADDRESS}.size": [5, 7],
    }
    settings = load(script_with("box", sweep={"grid": axes})).settings
    assert inner_aggregations(settings) == [
        step(name, size=size) for name in ("box", "guided_filter") for size in (5, 7)
    ]
