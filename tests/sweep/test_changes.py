"""Tests of the list of changes between two results folders."""

import math
from dataclasses import replace

import pytest
from made_results import result
from sweep_parts import SIZES, dots, stored

import stereo_framework
from stereo_framework.sweep import MISSING, ResultSet
from stereo_framework.sweep.changes import NumberChange, ValueChange, changes

BOX = "aggregation.box.size"
BAD = "bad_pixels_all"


def made_result(size=3, **changed_fields):
    """Return a result of one of several settings."""
    fields = {
        "id": "a" * 16,
        "environment": {"host": "node1", "python": "3.11", "numpy": "1.26.4"},
        **changed_fields,
    }
    scene = fields.pop("scene", "tiny")
    statistics = fields.pop("statistics", {BAD: 10.0, "rms_error_all": 1.0})
    return result(scene, {BOX: size}, statistics, **fields)


def changes_of(old, new):
    """Return the changes between two lists of results."""
    return changes(ResultSet(old), ResultSet(new))


def test_equal_results_have_no_changes():
    old = [made_result(3), made_result(5), made_result(3, scene="other")]
    new = [replace(old_result, seconds={"matching_cost": 9.0}) for old_result in reversed(old)]
    all_changes = changes_of(old, new)
    assert (all_changes.changed, all_changes.equal_count, all_changes.has_other_numbers) == (
        (),
        3,
        False,
    )
    assert (len(all_changes.only_in_first), len(all_changes.only_in_second)) == (0, 0)
    assert all_changes.records() == []
    assert not changes_of([], []).has_other_numbers


def test_results_may_be_created_anew_in_each_iteration():
    class CreatedAnew(ResultSet):
        def __iter__(self):
            return iter([made_result(3), made_result(5, statistics={BAD: 2.0})])

    all_changes = changes(CreatedAnew([]), ResultSet([made_result(3), made_result(5)]))
    assert (len(all_changes.changed), all_changes.equal_count) == (1, 1)


def test_runs_that_failed_in_both_result_sets_are_counted():
    failed = made_result(3, error="no luck")
    all_changes = changes_of([failed, made_result(5)], [failed, made_result(5)])
    assert (all_changes.equal_count, all_changes.failed_count) == (2, 1)


def test_the_memory_of_a_program_is_no_change_of_numbers():
    """The peak memory of an external program differs in each run."""
    old, new = [made_result(statistics={"bad": 1.0, "peak_memory": size}) for size in (10.0, 11.0)]
    assert changes_of([old], [new]).equal_count == 1


def test_statistics_that_differ_are_listed_in_the_order_of_the_first_results():
    old = [
        made_result(3),
        made_result(5, statistics={BAD: 10.0, "x": 1.0, "n": math.nan}),
        made_result(9),
    ]
    new = [
        made_result(9, energy=None),
        made_result(5, statistics={BAD: 12.0, "y": 2.0, "n": math.nan}),
        made_result(3),
    ]
    all_changes = changes_of(old, new)
    assert (all_changes.equal_count, all_changes.has_other_numbers) == (1, True)
    first, second = all_changes.changed
    assert first.numbers == (
        NumberChange(BAD, 10.0, 12.0),
        NumberChange("x", 1.0, None),
        NumberChange("y", None, 2.0),
    )
    assert [change.difference for change in first.numbers] == [2.0, None, None]
    assert second.numbers == (NumberChange("energy", 1.0, None),)
    assert not first.is_other_run


def test_results_are_matched_by_scene_method_parameters_and_protocol():
    old = [made_result(3)]
    for new in (
        made_result(3, scene="other"),
        made_result(3, method="other"),
        made_result(5),
        made_result(3, protocol_text="p: otherwise"),
    ):
        all_changes = changes_of(old, [new])
        assert (all_changes.changed, all_changes.equal_count) == ((), 0)
        assert list(all_changes.only_in_first) == old
        assert list(all_changes.only_in_second) == [new]


def test_values_of_different_types_are_different_parameters():
    old = made_result(3, parameters={"x": 1})
    all_changes = changes_of([old], [made_result(3, parameters={"x": True})])
    assert all_changes.changed[0].parameters == (ValueChange("x", 1, True),)
    assert not all_changes.has_other_numbers


def test_other_parameters_of_a_setting_are_reported():
    old = [made_result(size, parameters={BOX: size, "truncation": 5}) for size in (3, 5)]
    new = [made_result(size, parameters={BOX: size, "sign": None}, id="b" * 16) for size in (3, 5)]
    all_changes = changes_of(old, new)
    assert [change.new.axes[BOX] for change in all_changes.changed] == [3, 5]
    for change in all_changes.changed:
        assert change.parameters == (
            ValueChange("truncation", 5, MISSING),
            ValueChange("sign", MISSING, None),
        )
        assert (change.numbers, change.is_other_run) == ((), True)
    [record, _] = all_changes.records()
    assert record["changed_parameters"] == [
        {"name": "truncation", "old": 5},
        {"name": "sign", "new": None},
    ]


@pytest.mark.parametrize(
    ("changed_fields", "versions", "is_other_run"),
    [
        ({"id": "b" * 16}, (), True),
        (
            {"id": "b" * 16, "environment": {"host": "node2", "python": "3.11", "scipy": "1"}},
            (ValueChange("numpy", "1.26.4", MISSING), ValueChange("scipy", MISSING, "1")),
            True,
        ),
        (
            {"statistics": {BAD: 11.0}, "environment": {"python": "3.11", "numpy": "1.26.4"}},
            (),
            False,
        ),
    ],
)
def test_another_run_with_equal_parameters_shows_the_versions(
    changed_fields, versions, is_other_run
):
    [change] = changes_of([made_result(3)], [made_result(3, **changed_fields)]).changed
    assert (change.versions, change.is_other_run, change.parameters) == (versions, is_other_run, ())


def test_other_versions_alone_are_no_change_of_a_run():
    new = made_result(3, environment={"host": "node2", "python": "3.12", "messages": "text"})
    assert changes_of([made_result(3)], [new]).changed == ()


def test_a_run_that_fails_in_one_folder_is_a_change():
    failed = made_result(3, statistics={}, energy=None, error="no luck")
    for old, new in ((made_result(3), failed), (failed, made_result(3))):
        all_changes = changes_of([old], [new])
        [change] = all_changes.changed
        assert (change.has_failed_once, change.numbers, all_changes.has_other_numbers) == (
            True,
            (),
            True,
        )
        assert all_changes.records()[0]["old_error"] == old.error
        assert all_changes.records()[0]["new_error"] == new.error
    assert changes_of([failed], [replace(failed, error="other")]).changed == ()


def test_scenes_and_settings_of_one_folder_are_listed():
    old = [made_result(3), made_result(5), made_result(3, scene="old")]
    new = [made_result(3), made_result(3, scene="new"), made_result(5, scene="new")]
    all_changes = changes_of(old, new)
    assert (all_changes.scenes_only_in_first, all_changes.scenes_only_in_second) == (
        ("old",),
        ("new",),
    )
    assert [(r.scene, r.axes[BOX]) for r in all_changes.only_in_first] == [("tiny", 5), ("old", 3)]
    assert [record["kind"] for record in all_changes.records()] == [
        "only_in_first",
        "only_in_first",
        "only_in_second",
        "only_in_second",
    ]
    assert all_changes.records()[0]["parameters"] == {BOX: 5}
    assert not all_changes.has_other_numbers


def test_repeated_settings_are_matched_in_their_order():
    old = [made_result(3, statistics={BAD: value}) for value in (1.0, 2.0)]
    new = [made_result(3, statistics={BAD: value}) for value in (1.0, 3.0, 4.0)]
    all_changes = changes_of(old, new)
    assert (all_changes.equal_count, len(all_changes.only_in_second)) == (1, 1)
    assert all_changes.changed[0].numbers == (NumberChange(BAD, 2.0, 3.0),)


def test_stored_results_equal_the_results_of_the_run(tmp_path):
    scenes = [dots("first", seed=1), dots("second", seed=2)]
    results = stereo_framework.run(SIZES, scenes=scenes, out=tmp_path / "out")
    all_changes = changes(results, stored(tmp_path / "out"))
    assert (all_changes.changed, all_changes.equal_count) == ((), 12)
    assert (len(all_changes.only_in_first), len(all_changes.only_in_second)) == (0, 0)
