"""Methods that name others: how alternatives are written, included, merged, addressed and swept."""

import pytest

from stereo_framework.core.errors import ScriptError
from stereo_framework.script import load

pytestmark = pytest.mark.usefixtures("tiny")

HOST = {"include": "window", "refinement": "blend"}


def _faults(source, **options):
    with pytest.raises(ScriptError) as caught:
        load(source, **options)
    return list(caught.value.faults)


def _one(source, **options):
    [run] = load(source, **options).settings
    return run


def test_alternatives_are_pipelines_and_parameters():
    deep = {"matcher": {"use": "flat", "height": 3}}
    run = _one(
        {**HOST, "alternatives": {"robust": {"include": "ssd", "alternatives": {"deep": deep}}, "flat": {"matcher": "flat"}}}
    )
    assert [name for name, _ in run.pipeline.alternatives] == ["robust", "flat"]
    robust, flat = (method for _, method in run.pipeline.alternatives)
    assert robust.in_slot("aggregation") == _one("ssd").pipeline.in_slot("aggregation")
    assert (flat.name, robust.alternatives[0][1].name) == ("flat", "flat")
    wanted = {
        "aggregation.use": "box",
        "alternatives.use": "robust, flat",
        "alternatives.robust.aggregation.use": "box > min_filter",
        "alternatives.robust.aggregation.box.size": 21,
        "alternatives.robust.alternatives.use": "deep",
        "alternatives.robust.alternatives.deep.matcher.height": 3.0,
        "alternatives.flat.matcher.use": "flat",
    }
    assert wanted.items() <= run.parameters.items()
    assert "alternatives.flat.alternatives.use" not in run.parameters


def test_axes_and_overrides_reach_in():
    script = {**HOST, "alternatives": {"robust": {"include": "ssd", "alternatives": {"deep": {"matcher": "flat"}}}}}
    deep = "alternatives.robust.alternatives.deep."
    sweep = {"grid": {"alternatives.robust.aggregation.box.size": [3, 5], f"{deep}matcher": ["flat", "dice"]}}
    runs = load({**script, "sweep": sweep}).settings
    assert [run.axes for run in runs] == [
        {"alternatives.robust.aggregation.box.size": size, f"{deep}matcher": matcher}
        for size in (3, 5)
        for matcher in ("flat", "dice")
    ]
    assert [run.parameters["alternatives.robust.aggregation.box.size"] for run in runs] == [3, 3, 5, 5]
    # What settings have in common is one object.
    assert len({id(run.pipeline.alternatives[0][1].alternatives[0][1]) for run in runs}) == 2
    overrides = [
        "alternatives.robust.aggregation=[{use: box, size: 7}]",
        "alternatives.robust.aggregation.box.iterations=2",
        f"{deep}matcher.height=9",
        "alternatives.more={matcher: flat}",
        "alternatives.more.matcher.radius=4",
    ]
    found = _one(script, overrides=overrides).parameters
    assert found["alternatives.robust.aggregation.use"] == "box"
    assert (found["alternatives.robust.aggregation.box.size"], found["alternatives.robust.aggregation.box.iterations"]) == (7, 2)
    assert (found[f"{deep}matcher.height"], found["alternatives.more.matcher.radius"]) == (9.0, 4)
    # A value replaces its axis, and a stage the axis over stages.
    runs = load(
        {**script, "sweep": sweep}, overrides=[f"{deep}matcher=flat", "alternatives.robust.aggregation.box.size=3"]
    ).settings
    assert [run.axes for run in runs] == [{}]
    assert (
        _one({"methods": {"a": script}}, overrides=[f"methods.a.{deep}matcher.height=8"]).parameters[f"{deep}matcher.height"]
        == 8.0
    )


def test_seeds_reach_in(write):
    write(tuned="seed: 5\nmatcher: dice\n", plain="matcher: dice\n")
    script = {**HOST, "seed": 3, "alternatives": {"a": {"include": "tuned.yaml"}, "b": {"include": "plain.yaml"}}}
    run = _one(script)
    # There is one seed, whatever those say that are included.
    assert (run.parameters["alternatives.a.matcher.seed"], run.parameters["alternatives.b.matcher.seed"]) == (3, 3)
    assert run.seeded == ("alternatives.a.matcher", "alternatives.b.matcher")
    assert "seed" not in run.mapping["alternatives"]["b"]["matcher"]
    runs = load({**script, "sweep": {"grid": {"seed": [1, 2]}}}).settings
    assert [run.parameters["alternatives.b.matcher.seed"] for run in runs] == [1, 2]


BASE = """\
include: window
refinement: blend
alternatives:
  robust: {matching_cost: {use: absolute_difference, truncation: 4}, aggregation: [box], optimization: winner_take_all}
  other: {matcher: flat}
"""


def test_alternatives_merge_by_name(write):
    write(base=BASE, matcher="matcher: {use: flat, height: 5}\n")
    write(
        mine="include: base.yaml\nalternatives:\n  robust: {matching_cost: {use: absolute_difference, interval: true}}\n  more: {include: ssd}\n"
    )
    found = _one("mine.yaml").parameters
    assert found["alternatives.use"] == "robust, other, more"
    assert (found["alternatives.robust.matching_cost.truncation"], found["alternatives.robust.matching_cost.interval"]) == (
        4.0,
        True,
    )
    # The later removes the other in an alternative too: in its own words, through an include, and for one method.
    for more in ("matcher: {use: flat, height: 5}", "include: matcher.yaml"):
        write(mine=f"include: base.yaml\nalternatives: {{robust: {{{more}}}}}\n")
        write(method=f"include: base.yaml\nmethods: {{a: {{alternatives: {{robust: {{{more}}}}}}}}}\n")
        for name in ("mine.yaml", "method.yaml"):
            found = _one(name).parameters
            assert found["alternatives.robust.matcher.height"] == 5.0
            assert "alternatives.robust.aggregation.use" not in found


def test_alternatives_can_be_emptied(write):
    write(base=BASE, mine="include: base.yaml\nrefinement: []\nalternatives:\n")
    assert "alternatives.use" not in _one("mine.yaml").parameters
    write(mine="include: base.yaml\nmethods: {a: {refinement: [], alternatives: null}, b: {}}\n")
    a, b = load("mine.yaml").settings
    assert ("alternatives.use" in a.parameters, "alternatives.use" in b.parameters) == (False, True)
    assert "alternatives.use" not in _one("base.yaml", overrides=["alternatives=null", "refinement=[]"]).parameters


def test_axes_are_those_of_the_methods_that_have_the_alternative(write):
    sweep = "sweep: {grid: {alternatives.robust.aggregation.box.size: [3, 5], alternatives.robust.matcher.radius: [1, 2, 3]}}\n"
    methods = "methods:\n  a:\n  b: {alternatives: {robust: {matcher: flat}}}\n  c: {alternatives: null, refinement: []}\n"
    write(mine=BASE + sweep + methods)
    assert [(run.method, *run.axes.values()) for run in load("mine.yaml").settings] == [
        *[("a", size) for size in (3, 5)],
        *[("b", radius) for radius in (1, 2, 3)],
        ("c",),
    ]


def test_includes_and_loops(write):
    write(sub__inner="include: flat.yaml\nalternatives: {deep: {include: flat.yaml}}\nrefinement: blend\n")
    write(sub__flat="matcher: flat\n")
    write(mine="include: window\nrefinement: blend\nalternatives: {a: {include: sub/inner.yaml, refinement: []}}\n")
    found = _one("mine.yaml").parameters
    assert (found["alternatives.a.matcher.use"], found["alternatives.a.alternatives.deep.matcher.use"]) == ("flat", "flat")
    assert "alternatives.a.refinement.use" not in found
    write(
        a="include: window\nalternatives: {x: {alternatives: {y: {include: b.yaml}}}}\n",
        b="alternatives: {x: {include: a.yaml}}\n",
    )
    assert "b.yaml:1:29: alternatives.x.include: an include loop: a.yaml > b.yaml > a.yaml" in _faults("a.yaml")
    circle = {"matcher": "flat", "refinement": "blend"}
    circle["alternatives"] = {"itself": circle}
    assert _faults(circle) == ["script: not a script: nested too deeply, or a mapping inside itself"]
    write(mine="matcher: flat\nalternatives: &a {x: {matcher: flat, alternatives: *a}}\n")
    assert any("an alias inside its own anchor" in fault for fault in _faults("mine.yaml"))
