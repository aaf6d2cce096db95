"""Wrong scripts: every fault is told, with its place, what is legal and the nearest name."""

import re

import pytest

from stereo_framework.core.errors import ScriptError
from stereo_framework.script import load

BASE = "include: window\n"


def _faults(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.yaml").write_text(text)
    with pytest.raises(ScriptError) as caught:
        load("my.yaml")
    assert all("\n" not in fault for fault in caught.value.faults)
    return caught.value.faults


def test_all_faults_are_told_at_once_in_the_order_of_the_file(tmp_path, monkeypatch):
    text = """\
matching_cost:
  use: absolute_difference
  truncation: abc
  interval: 1
aggregation:
  - use: box
    sise: 9
  - {use: min_filtr, size: 0}
optimisation: winner_take_all
search: {minimum: 10, maximum: 3}
sweep:
  grid:
    matching_cost.truncation: [5, -5, null, "20"]
    aggregation.box.iterations: []
"""
    found = _faults(tmp_path, monkeypatch, text)
    expected = [
        r"my.yaml:1:1: optimization: missing; every method needs one, if it has no matcher; legal stages: .*winner_take_all",
        r"my.yaml:3:15: matching_cost.truncation: 'abc' is not a number > 0 or null",
        r"my.yaml:4:13: matching_cost.interval: 1 is not true or false or symmetric",
        r"my.yaml:7:5: aggregation.box: no such parameter 'sise' of box; legal parameters: iterations, size; did you mean 'size'\?",
        r"my.yaml:8:11: aggregation: no stage 'min_filtr'; legal stages: .*; did you mean 'min_filter'\?",
        r"my.yaml:9:1: no such key 'optimisation'; legal keys: .*; did you mean 'optimization'\?",
        r"my.yaml:10:32: search.maximum: 3 is not above search.minimum, 10",
        r"my.yaml:13:35: sweep.grid.matching_cost.truncation\[1\]: -5 is not a number > 0 or null",
        r"my.yaml:13:45: sweep.grid.matching_cost.truncation\[3\]: '20' is not a number > 0 or null",
        r"my.yaml:14:33: sweep.grid.aggregation.box.iterations: an empty axis; give at least one value",
    ]
    assert len(found) == len(expected)
    for fault, pattern in zip(found, expected, strict=True):
        assert re.fullmatch(pattern, fault)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", r"1:1: matching_cost: missing; every method needs one"),
        ("hello", r"1:1: not a script: expected keys and values"),
        (BASE + "agregation: [box]", r"2:1: .*'agregation'.*did you mean 'aggregation'\?"),
        # types
        (BASE + "aggregation: [{use: box, size: true}]", r"2:32: aggregation\.box\.size: true is not a whole number >= 1"),
        (BASE + 'aggregation: [{use: box, size: "20"}]', r"2:32: aggregation\.box\.size: '20' is not a whole number >= 1"),
        (BASE + "aggregation: [{use: box, size: 9.5}]", r"2:32: aggregation\.box\.size: 9\.5 is not a whole number >= 1"),
        (BASE + "aggregation: [{use: box, size: 0}]", r"2:32: aggregation\.box\.size: 0 is not a whole number >= 1"),
        (BASE + "aggregation: [{use: box, size: [9]}]", r"2:32: aggregation\.box\.size: \[9\] is not a whole number >= 1"),
        (
            BASE + "matching_cost: {use: absolute_difference, truncation: .inf}",
            r"2:55: matching_cost\.truncation: inf is not a number",
        ),
        (BASE + "matching_cost: {use: absolute_difference, truncation: 1:30}", r"2:55: matching_cost\.truncation: '1:30' is not"),
        (
            BASE + "matching_cost: {use: absolute_difference, interpolation: nearest}",
            r"2:58: matching_cost\.interpolation: 'nearest' is not one of linear, cubic",
        ),
        # stages
        (BASE + "matching_cost: box", r"2:16: matching_cost: no stage 'box'; .*; 'box' is a stage of aggregation"),
        (BASE + "optimization: [winner_take_all]", r"2:15: optimization: a list; optimization is one stage"),
        (BASE + "matching_cost:", r"2:15: matching_cost: null is not the name of a stage; write NAME or \{use: NAME"),
        (BASE + "optimization: {used: x}", r"2:15: optimization: a stage without 'use'; write use: NAME; legal stages: "),
        (BASE + "aggregation: 3", r"2:14: aggregation: 3 is not the name of a stage"),
        (BASE + "aggregation: [box, [box]]", r"2:20: aggregation\[1\]: \['box'\] is not the name of a stage"),
        # axes
        (BASE + "sweep: {grd: {}}", r"2:9: sweep: no such key 'grd'; legal keys: grid, zip; did you mean 'grid'\?"),
        (BASE + "sweep: {grid: [1]}", r"2:15: sweep\.grid: \[1\] is not a mapping of axes"),
        (
            BASE + "sweep: {grid: {agregation: [[]]}}",
            r"2:16: sweep\.grid\.agregation: this axis addresses nothing; .*'aggregation'",
        ),
        (
            BASE + "sweep: {grid: {aggregation.bx.size: [1]}}",
            r"2:16: sweep\.grid\.aggregation\.bx\.size: addresses nothing: aggregation has .*'bx'.*did you mean 'box'",
        ),
        (
            BASE + "sweep: {grid: {aggregation.box.sise: [1]}}",
            r"2:16: sweep\.grid\.aggregation\.box\.sise: no such parameter 'sise'",
        ),
        (
            BASE + "sweep: {grid: {aggregation.box: [1]}}",
            r"2:16: sweep\.grid\.aggregation\.box: addresses the whole stage box; legal",
        ),
        (
            BASE + "sweep: {grid: {aggregation.3.size: [1]}}",
            r"2:16: .*: addresses nothing: aggregation has 1 stages, .*aggregation\.0",
        ),
        (BASE + "sweep: {grid: {smoothness.weight: [1]}}", r"2:16: .*: addresses nothing: there is no smoothness stage"),
        (BASE + "sweep: {grid: {matching_cost.use: [x]}}", r"2:16: .*: 'use' is no parameter; give the stages at matching_cost"),
        (BASE + "sweep: {grid: {search.stp: [1]}}", r"2:16: .*: this axis addresses nothing; .*did you mean 'step'"),
        (BASE + "sweep: {grid: {scenes: [venus]}}", r"2:16: sweep\.grid\.scenes: this axis addresses nothing"),
        (BASE + "sweep: {grid: {seed: [1, 2]}}", r"2:16: .*: addresses nothing: no stage of method 'my' draws random numbers"),
        (
            BASE + "sweep: {grid: {matching_cost: [absolute_differences]}}",
            r"2:32: sweep\.grid\.matching_cost\[0\]: .*'absolute_differences'.*did you mean 'absolute_difference'",
        ),
        (
            BASE + "sweep: {grid: {matching_cost: [{use: squared_difference, trunc: 1}]}}",
            r"2:58: sweep\.grid\.matching_cost\.squared_difference: no such parameter 'trunc'",
        ),
        (
            BASE + "sweep: {grid: {aggregation: [[box], []], aggregation.box.size: [3]}}",
            r"2:42: sweep\.grid\.aggregation\.box\.size: addresses nothing: there is no aggregation stage",
        ),
        (
            BASE + "sweep: {grid: {aggregation.box.size: {linspace: [1, 10, 5]}}}",
            r"2:38: sweep\.grid\.aggregation\.box\.size: 3\.25 is not a whole number >= 1",
        ),
        (
            BASE + "sweep: {zip: {matching_cost.truncation: [1, 2, 3], aggregation.box.size: [3, 5]}}",
            r"2:15: sweep\.zip\.matching_cost\.truncation: axes that move together need equally many values: "
            r"matching_cost\.truncation has 3, aggregation\.box\.size has 2",
        ),
        (
            BASE + "aggregation: [box, {use: box, size: 3}]\nsweep: {grid: {aggregation.box.size: [3]}}",
            r"3:16: .*: 'box' occurs 2 times in aggregation; write aggregation\.0\.size or aggregation\.1\.size",
        ),
        (BASE + "sweep: {grid: {matching_cost.truncation: [5, 5.0]}}", r"2:46: .*\[1\]: 5\.0 stands twice in this axis"),
        (BASE + "sweep: {zip: {matching_cost.truncation: [5, 5]}}", r"2:45: .*\[1\]: 5 stands twice in this axis"),
        (
            BASE + "sweep: {zip: {matching_cost.truncation: [1, 2, 1], aggregation.box.size: [3, 5, 3]}}",
            r"2:14: sweep\.zip: these axes give the same setting twice, the second time at \[2\]",
        ),
        (BASE + "sweep: {grid: {aggregation: [box, [{use: box, size: 9}]]}}", r"2:35: .*stands twice in this axis"),
        (BASE + "sweep: {grid: {aggregation.box.size: [3]}, zip: {aggregation.box.size: [3]}}", r"2:50: .*; keep one"),
        # search
        (BASE + "search: {minimum: 3, maximum: 3}", r"2:31: search\.maximum: 3 is not above search\.minimum, 3"),
        (BASE + "search: {step: 0.3}", r"2:16: search\.step: 0\.3 is neither a whole number of pixels nor 1/N of one"),
        (BASE + "search: {step: 0}", r"2:16: search\.step: 0 is not above 0"),
        (BASE + "search: {minimum: true}", r"2:19: search\.minimum: true is not a finite number of pixels"),
        (BASE + "search: {maximum: .nan}", r"2:19: search\.maximum: nan is not a finite number of pixels"),
        (BASE + "search: {truth_margin: -0.5}", r"2:24: search\.truth_margin: -0\.5 is not a number >= 0"),
        (BASE + "search: {truth_margin: half}", r"2:24: search\.truth_margin: 'half' is not a number >= 0"),
        (
            BASE + "sweep: {grid: {search.truth_margin: [0, -1]}}",
            r"2:41: sweep\.grid\.search\.truth_margin\[1\]: -1 is not a number >= 0",
        ),
        (BASE + "search: {minimum: 0.3, maximum: 9}", r"2:19: search\.minimum: 0\.3 is not a multiple of 1/1 pixel"),
        (
            BASE + "search: {min: 0}",
            r"2:10: search: no such key 'min'; legal keys: maximum, minimum, step, truth_margin; did you mean 'minimum'",
        ),
        (BASE + "search: 16", r"2:9: search: 16 is not a mapping; legal keys: maximum, minimum, step, truth_margin"),
        (
            BASE + "search: {minimum: 4}\nsweep: {grid: {search.maximum: [16, 4]}}",
            r"3:37: sweep\.grid\.search\.maximum\[1\]: 4 is not above search\.minimum, 4",
        ),
        # the rest
        (BASE + "name: [a]", r"2:7: name: \['a'\] is not a text"),
        (BASE + "seed: 1.5", r"2:7: seed: 1\.5 is not a whole number >= 0"),
        (BASE + "scenes: []", r"2:9: scenes: an empty list; name at least one scene"),
        (BASE + "scenes: [a, [b]]", r"2:13: scenes\[1\]: \['b'\] is not the name of a scene or a list of them"),
        (BASE + "report: 3", r"2:9: report: 3 is not a mapping"),
        (BASE + "methods: {}", r"2:10: methods: no methods; write NAME:"),
        (
            BASE + "methods: {a: {scenes: x}}",
            r"2:15: methods\.a: no such key 'scenes' of a method; legal keys: aggregation, .*include",
        ),
        (BASE + "methods: {a: {aggregation: boxx}}", r"2:28: methods\.a\.aggregation: .*'boxx'.*did you mean 'box'"),
        (BASE + "methods: {a: hello}", r"2:14: methods\.a: 'hello' is not a mapping"),
        ("methods:\n  a: {include: window, optimization: null}", r"2:38: methods\.a\.optimization: null is not the name"),
        (
            "methods:\n  a: {matching_cost: absolute_difference}",
            r"2:3: methods\.a\.optimization: missing; every method needs one",
        ),
        (BASE + "evaluation: taxonomy2002", r"2:13: evaluation: 'taxonomy2002' is not a mapping; legal keys: protocol"),
        (
            BASE + "evaluation: {protocol: taxonomy2003}",
            r"2:24: evaluation\.protocol: .*'taxonomy2003'.*did you mean",
        ),
        (
            BASE + "evaluation: {protocol: {base: taxonomy2002, threshhold: 1}}",
            r"2:57: evaluation\.protocol\.threshhold: no such field of a protocol; .*did you mean 'threshold'",
        ),
        (BASE + "evaluation: {protocol: [taxonomy2002, taxonomy2002]}", r"2:39: .*: a second protocol named 'taxonomy2002'"),
        (BASE + "evaluation: {protocol: []}", r"2:24: evaluation\.protocol: an empty list"),
    ],
)
def test_one_fault(tmp_path, monkeypatch, text, fault):
    found = [line for line in _faults(tmp_path, monkeypatch, text) if "optimization: missing" not in line or "methods" in line]
    assert len(found) == 1
    assert re.match(rf"my\.yaml:{fault}", found[0])


def test_places_of_a_mapping_are_its_keys():
    script = {
        "matching_cost": {"use": "absolute_difference", "truncation": "abc"},
        "aggregation": [{"use": "box", "sise": 9}],
        "agregation": [],
        "sweep": {"grid": {"matching_cost.truncation": [3, -3]}},
        "report": {"plots": {1, 2}, 3: 4},
    }
    with pytest.raises(ScriptError) as caught:
        load(script)
    starts = [
        "report.plots: {1, 2} cannot stand in a script",
        "report: the key 3 is not a text",
        "matching_cost.truncation: 'abc' is not a number > 0 or null",
        "aggregation.box: no such parameter 'sise' of box",
        "script: no such key 'agregation'",
        "optimization: missing",
        "sweep.grid.matching_cost.truncation[1]: -3 is not",
    ]
    assert len(caught.value.faults) == len(starts)
    for start in starts:
        assert any(fault.startswith(start) for fault in caught.value.faults)


def test_faulty_seeds_of_an_axis(tmp_path, monkeypatch):
    nothing, negative = _faults(tmp_path, monkeypatch, BASE + "sweep: {grid: {seed: [1, -1]}}")
    assert nothing.startswith("my.yaml:2:16: sweep.grid.seed: addresses nothing")
    assert negative == "my.yaml:2:26: sweep.grid.seed[1]: -1 is not a whole number >= 0"


def test_faults_of_an_axis_are_told_for_each_method_that_it_does_not_fit():
    script = {
        "include": "window",
        "sweep": {"grid": {"aggregation.box.size": [3, 5]}},
        "methods": {"fits": {}, "bare": {"aggregation": []}, "other": {"aggregation": ["min_filter"]}},
    }
    with pytest.raises(ScriptError) as caught:
        load(script)
    bare, other = caught.value.faults
    assert bare.endswith("there is no aggregation stage (method 'bare')")
    assert "aggregation has no stage 'box'; legal stages there: min_filter" in other


def test_too_many_runs_are_refused():
    axis = {"range": [1, 2000, 1]}
    script = {"include": "window", "sweep": {"grid": {"matching_cost.truncation": axis, "aggregation.box.size": axis}}}
    with pytest.raises(ScriptError, match="4000000 runs of method 'script'; at most 200000 are possible"):
        load(script)
