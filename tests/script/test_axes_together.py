"""Axes that meet, axes that move together, and their limits."""

import itertools
from collections import Counter
from typing import Annotated

import pytest
import yaml
from annotated_types import Le

from stereo_framework.core import limits
from stereo_framework.core.errors import ScriptError
from stereo_framework.core.parameters import PositiveInt
from stereo_framework.core.registration import stage, step
from stereo_framework.io.document import Document
from stereo_framework.io.locations import Location
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.script import halo_check, load
from stereo_framework.script.axes import Axis
from stereo_framework.script.expansion import covering_choices
from stereo_framework.script.keys import is_number

WINDOW = {
    "matching_cost": "absolute_difference",
    "aggregation": [{"use": "box", "size": 9}],
    "optimization": "winner_take_all",
}


def axis(name, count):
    """Return an axis with a number of values."""
    location = Location("a test")
    return Axis(name, location, tuple(Document(value, {(): location}) for value in range(count)))


SLOT, RANGE, PLAIN, SEED = "matching_cost", "search.step", "aggregation.box.size", "seed"


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        ((SLOT, PLAIN), (2, 3)),
        ((PLAIN, SLOT), (3, 2)),
        ((RANGE, PLAIN), (3, 4)),
        ((SLOT, RANGE, PLAIN), (2, 3, 4)),
        ((PLAIN, SEED), (3, 4)),
        ((SLOT,), (4,)),
        ((PLAIN, SLOT, SEED), (1, 2, 3)),
    ],
)
def test_each_stage_and_range_meets_each_value_of_each_other_axis(names, counts):
    groups = [[axis(name, count)] for name, count in zip(names, counts, strict=True)]
    choices = {tuple(choice) for choice in covering_choices(groups, counts)}
    assert choices <= set(itertools.product(*map(range, counts)))
    for first, second in itertools.permutations(range(len(names)), 2):
        met = {(choice[first], choice[second]) for choice in choices}
        assert {value for value, _ in met} == set(range(counts[first]))
        if names[first] in (SLOT, RANGE):
            assert met == set(itertools.product(range(counts[first]), range(counts[second])))
    if len(names) == 1:
        assert choices == {(value,) for value in range(counts[0])}


@pytest.fixture
def two_costs(registry):
    """Register two costs whose parameter of one name has different limits."""

    @stage("matching_cost", source="a test")
    def generous(reference, match, search, *, limit: PositiveInt = 1):
        return absolute_difference(reference, match, search)

    @stage("matching_cost", source="a test")
    def strict(reference, match, search, *, limit: Annotated[int, Le(10)] = 1):
        return absolute_difference(reference, match, search)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("costs", [["generous", "strict"], ["strict", "generous"]])
@pytest.mark.parametrize("is_last", [True, False])
def test_a_value_that_suits_only_one_of_two_swept_stages_is_refused_before_a_search(
    two_costs, place, costs, is_last
):
    limits_of_cost = [3, 5, 7]
    limits_of_cost[place] = 11
    axes = {"matching_cost": costs, "matching_cost.limit": limits_of_cost}
    grid = axes if is_last else dict(reversed(axes.items()))
    script = WINDOW | {"sweep": {"grid": grid}}
    for tuning in (True, False):
        with pytest.raises(ScriptError, match="11 is not") as caught:
            load(script, tuning=tuning)
        assert len(caught.value.faults) == 1
    limits_of_cost[place] = 10
    load(script, tuning=True)


# --- axes that move together ----------------------------------------------------------


def parts_of(script):
    """Return the method, axes and parameters of each setting."""
    settings = script.settings
    return [(setting.method, setting.axes, setting.parameters) for setting in settings]


@pytest.mark.parametrize(
    "rows",
    [
        {"search.minimum": [0, 0, 1], "aggregation.box.size": [3, 5, 7]},
        {"search.maximum": [9, 9, 9], "aggregation.box.size": [3, 5, 7]},
        {
            "search.minimum": [0, 1, 0],
            "search.maximum": [9, 9, 9],
            "aggregation.box.size": [3, 5, 3],
        },
    ],
)
@pytest.mark.parametrize("matcher_first", [True, False])
def test_axes_that_move_together_load_again_if_a_method_lacks_one_of_them(
    tmp_path, rows, matcher_first
):
    (tmp_path / "maps").mkdir()
    methods = {
        "outside": {"matcher": {"use": "maps", "path": str(tmp_path / "maps")}},
        "inside": WINDOW,
    }
    if not matcher_first:
        methods = dict(reversed(methods.items()))
    script = load({"methods": methods, "sweep": {"zip": rows}})
    again = load(yaml.safe_load(yaml.safe_dump(script.resolved, sort_keys=False)))
    assert parts_of(again) == parts_of(script)
    assert again.resolved == script.resolved
    counts = Counter(setting.method for setting in script.settings)
    pairs = len(set(zip(*rows.values(), strict=True)))
    without_window = [values for name, values in rows.items() if name.startswith("search.")]
    assert counts == {"outside": len(set(zip(*without_window, strict=True))), "inside": pairs}


# --- limits ---------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "is_allowed"), [(5, False), (6, True)])
def test_exactly_as_many_runs_as_the_limit_are_allowed(monkeypatch, limit, is_allowed):
    monkeypatch.setattr(limits, "SETTINGS", limit)
    sweep = {"grid": {"aggregation.box.size": [3, 5], "matching_cost.truncation": [5, 10, 20]}}
    if is_allowed:
        assert len(load(WINDOW | {"sweep": sweep}).settings) == 6
    else:
        with pytest.raises(ScriptError, match="6 runs of method 'script'; at most 5 are possible"):
            load(WINDOW | {"sweep": sweep})


def test_runs_of_two_methods_count_together(monkeypatch):
    methods = {"a": WINDOW, "b": WINDOW | {"sweep": {"grid": {"aggregation.box.size": [3, 5]}}}}
    monkeypatch.setattr(limits, "SETTINGS", 3)
    assert len(load({"methods": methods}).settings) == 3
    monkeypatch.setattr(limits, "SETTINGS", 2)
    with pytest.raises(ScriptError, match="3 runs of 2 methods; at most 2 are possible"):
        load({"methods": methods})


@pytest.mark.parametrize(
    ("kind", "arguments", "values"),
    [
        ("range", [1, 7, 2], [1, 3, 5, 7]),
        ("range", [1, 8, 2], [1, 3, 5, 7]),
        ("range", [0.1, 0.3, 0.1], [0.1, 0.2, 0.3]),
        ("range", [7, 1, -3], [7, 4, 1]),
        ("range", [5, 5, 1], [5]),
        ("linspace", [1, 9, 2], [1, 9]),
        ("linspace", [1, 9, 5], [1, 3, 5, 7, 9]),
        ("geomspace", [1, 100, 3], [1, 10, 100]),
        ("geomspace", [-1, -100, 3], [-1, -10, -100]),
    ],
)
def test_generated_axes_have_their_ends_and_no_value_more(kind, arguments, values):
    script = WINDOW | {"sweep": {"grid": {"matching_cost.truncation": {kind: arguments}}}}
    if min(values) < 0:
        with pytest.raises(ScriptError, match="is not a number >"):
            load(script)
        return
    found = [one.axes["matching_cost.truncation"] for one in load(script).settings]
    assert found == values


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("linspace", [1, 9, 1], "an axis cannot have 1 values; expected a whole number from 2 to"),
        (
            "linspace",
            [1, 9, 2.5],
            "an axis cannot have 2.5 values; expected a whole number from 2 to",
        ),
        ("geomspace", [0, 9, 3], "from 0 to 9 is not possible; both ends must be above 0"),
        ("geomspace", [-1, 9, 3], "from -1 to 9 is not possible; both ends must be above 0"),
        ("range", [1, 9, 0], "the axis is empty, because steps of 0 do not lead from 1 to 9"),
        ("range", [1, 9, -1], "the axis is empty, because steps of -1 do not lead from 1 to 9"),
        (
            "range",
            [0, limits.SETTINGS, 1],
            f"cannot have {limits.SETTINGS + 1} values; expected a whole number from 1",
        ),
    ],
)
def test_other_generated_axes_are_refused(kind, arguments, message):
    script = WINDOW | {"sweep": {"grid": {"matching_cost.truncation": {kind: arguments}}}}
    with pytest.raises(ScriptError, match=message):
        load(script)


@pytest.mark.parametrize(
    ("value", "is_finite"),
    [
        (1.7976931348623157e308, True),
        (-1.7976931348623157e308, True),
        (2**1024, False),
        (-(2**1024), False),
        (float("inf"), False),
        (float("nan"), False),
        (True, False),
        (False, False),
        (0, True),
        ("1", False),
        (None, False),
    ],
)
def test_a_number_is_finite_and_no_truth_value(value, is_finite):
    assert is_number(value) == is_finite


@pytest.mark.parametrize(("length", "is_allowed"), [(241, True), (242, False)])
def test_the_name_of_the_resolved_script_has_at_most_255_bytes(tmp_path, length, is_allowed):
    # The ending ".resolved.yaml" has 14 bytes.
    path = tmp_path / f"{'n' * length}.yaml"
    path.write_text(yaml.safe_dump(WINDOW))
    if is_allowed:
        assert load(path).name == "n" * length
    else:
        with pytest.raises(ScriptError, match="the name of the file is too long"):
            load(path)


@pytest.mark.parametrize(("depth", "is_allowed"), [(50, True), (51, False)])
def test_fifty_includes_may_be_nested(tmp_path, depth, is_allowed):
    for number in range(depth):
        (tmp_path / f"{number}.yaml").write_text(f"include: {number + 1}.yaml\n")
    (tmp_path / f"{depth}.yaml").write_text(yaml.safe_dump(WINDOW))
    if is_allowed:
        assert len(load(tmp_path / "0.yaml").settings) == 1
    else:
        with pytest.raises(ScriptError, match="the includes are nested more than 50 deep"):
            load(tmp_path / "0.yaml")


@pytest.mark.parametrize(("count", "is_allowed"), [(4, True), (5, False)])
def test_a_script_includes_at_most_the_allowed_number_of_files(
    monkeypatch, tmp_path, count, is_allowed
):
    monkeypatch.setattr(limits, "INCLUDES", 4)
    for number in range(count):
        (tmp_path / f"{number}.yaml").write_text(yaml.safe_dump(WINDOW))
    script = {"include": [f"{number}.yaml" for number in range(count)]}
    (tmp_path / "top.yaml").write_text(yaml.safe_dump(script))
    if is_allowed:
        assert len(load(tmp_path / "top.yaml").settings) == 1
    else:
        with pytest.raises(ScriptError, match="the script includes more than 4 files"):
            load(tmp_path / "top.yaml")


def test_the_largest_halo_that_is_tried_is_still_tried(registry, monkeypatch):
    @stage("refinement", source="a test", halo=lambda: 5)
    def looks_far(disparity):
        return disparity + disparity[:1]

    tried = step(looks_far)
    monkeypatch.setattr(halo_check, "_LARGEST_HALO", 5)
    halo_check._try_halo.cache_clear()
    assert "its halo is 5 rows" in halo_check.halo_fault(tried)
    monkeypatch.setattr(halo_check, "_LARGEST_HALO", 4)
    halo_check._try_halo.cache_clear()
    assert halo_check.halo_fault(tried) == ""
