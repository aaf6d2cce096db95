"""Scripts that build on others: what is merged, what is replaced, which file a fault is in."""

import pytest

from stereo_framework.core.errors import ScriptError
from stereo_framework.script import load

BASE = """\
name: base
matching_cost: {use: absolute_difference, truncation: 20, interval: true}
aggregation: [{use: box, size: 5}, min_filter]
optimization: winner_take_all
search: {minimum: 0, maximum: 16}
"""


def _parameters(name):
    [run] = load(name).settings
    return run.parameters


SAME = {"matching_cost.truncation": 5, "matching_cost.interval": True, "aggregation.use": "box > min_filter"}
OTHER = {"matching_cost.use": "squared_difference", "matching_cost.truncation": None, "matching_cost.interval": False}
LIST = {"aggregation.use": "box", "aggregation.box.size": 9, "aggregation.box.iterations": 2}


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        ("matching_cost: {use: absolute_difference, truncation: 5}", SAME),
        ("matching_cost: squared_difference", OTHER),
        ("aggregation: [{use: box, iterations: 2}]", LIST),
        *[(f"aggregation: {nothing}", {"aggregation.use": None}) for nothing in ("[]", "null", "")],
    ],
)
def test_the_same_stage_merges_another_replaces_and_a_list_is_replaced_whole(write, mine, expected):
    write(base=BASE, mine=f"include: base.yaml\n{mine}\n")
    found = _parameters("mine.yaml")
    assert {name: found.get(name) for name in expected} == expected


def test_the_search_range_merges_and_the_name_is_ones_own(write):
    write(base=BASE, mine="include: base.yaml\nsearch: {step: 0.5}\n")
    script = load("mine.yaml")
    assert script.settings[0].search == {"minimum": 0, "maximum": 16, "step": 0.5}
    assert script.name == script.settings[0].method == "mine"


def test_later_wins_over_all_depths(write):
    write(
        base=BASE,
        other="include: base.yaml\nmatching_cost: {use: absolute_difference, truncation: 7}\nseed: 3\n",
        sub__last="seed: 4\n",
        mine="include: [other.yaml, sub/last.yaml, base.yaml]\n",
    )
    script = load("mine.yaml")
    assert script.settings[0].seed == 4
    assert script.settings[0].parameters["matching_cost.truncation"] == 20


def test_paths_start_from_the_including_file_and_names_are_found(write, tmp_path):
    write(sub__mine="include: [window, ../top.yaml]\n", top="seed: 9\n")
    assert load(tmp_path / "sub/mine.yaml").settings[0].seed == 9


def test_sweeps_merge_axis_by_axis(write):
    write(
        base=BASE + "sweep: {grid: {matching_cost.truncation: [1, 2], aggregation.box.size: [3]}}\n",
        mine="include: base.yaml\nsweep: {grid: {matching_cost.truncation: [5]}, zip: {aggregation.box.size: [7, 9]}}\n",
    )
    assert [tuple(run.axes.items()) for run in load("mine.yaml").settings] == [
        (("matching_cost.truncation", 5.0), ("aggregation.box.size", size)) for size in (7, 9)
    ]


def test_a_missing_include_is_the_only_fault(write):
    write(mine="include: windw\n")
    with pytest.raises(ScriptError, match=r"^mine\.yaml:1:10: include: script 'windw': .*did you mean 'window'") as caught:
        load("mine.yaml")
    assert len(caught.value.faults) == 1


def test_files_that_are_no_scripts(write, tmp_path):
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScriptError, match=r"^binary\.yaml:1:1: not a text in UTF-8"):
        load("binary.yaml")
    write(list="- box\n")
    with pytest.raises(ScriptError, match=r"^list\.yaml:1:1: not a script: expected keys and values"):
        load("list.yaml")


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path):
    (tmp_path / "mine.yaml").write_bytes(b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode())
    assert load(tmp_path / "mine.yaml").name == "base"


def test_methods_merge_with_the_top_and_with_their_includes(write):
    write(
        base=BASE.replace("search: {minimum: 0, maximum: 16}", "scenes: venus\nevaluation: {protocol: taxonomy2002}"),
        mine="""\
scenes: tsukuba
matching_cost: {use: absolute_difference, truncation: 50}
methods:
  plain: {optimization: winner_take_all}
  based: {include: base.yaml, seed: 3}
  own: {include: base.yaml, matching_cost: {use: absolute_difference, truncation: 2}}
""",
    )
    script = load("mine.yaml")
    plain, based, own = script.settings
    assert script.scenes == ("tsukuba",)
    assert [run.method for run in script.settings] == ["plain", "based", "own"]
    assert [run.parameters["matching_cost.truncation"] for run in script.settings] == [50, 20, 2]
    assert (plain.parameters["matching_cost.interval"], own.parameters["matching_cost.interval"]) == (False, True)
    assert (plain.seed, based.seed) == (0, 3)
    assert plain.protocols == ()


def test_a_method_has_a_search_of_its_own(write):
    methods = "  halves: {include: base.yaml}\n  whole: {include: base.yaml, search: {step: 1}}\n  plain: {include: window}\n"
    write(base="include: window\nsearch: {step: 0.5}", mine=f"search: {{maximum: 40, step: 2}}\nmethods:\n{methods}")
    script = load("mine.yaml")
    searches = {run.method: run.search for run in script.settings}
    assert searches == {
        "halves": {"maximum": 40, "step": 0.5},
        "whole": {"maximum": 40, "step": 1},
        "plain": {"maximum": 40, "step": 2},
    }
    assert {run.method: run.search for run in load(script.resolved).settings} == searches
    assert load(script.settings[0].mapping).only.search == searches["halves"]
