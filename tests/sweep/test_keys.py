"""Every part of the identity of a run, and of the key of a result, counts."""

from dataclasses import replace

import numpy as np
import pytest
from sweep_parts import WINDOW, dots

from stereo_framework import SearchRange
from stereo_framework.evaluation.protocols import resolve
from stereo_framework.script import load
from stereo_framework.sweep.code_identity import CodeReader
from stereo_framework.sweep.identity import content_digest, result_key, run_id
from stereo_framework.sweep.tasks import evaluation_digests, tasks_of_script

PARTS = {
    "scene": "a scene",
    "search": "SearchRange(0, 7)",
    "parameters": {"matching_cost.truncation": 1, "seed": 0},
    "code": "some code",
}


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("scene", "another scene"),
        ("search", "SearchRange(0, 8)"),
        ("parameters", {"matching_cost.truncation": 2, "seed": 0}),
        ("parameters", {"matching_cost.truncation": True, "seed": 0}),
        ("parameters", {"matching_cost.truncation": 1.0, "seed": 0}),
        ("parameters", {"matching_cost.truncation": "1", "seed": 0}),
        ("parameters", {"matching_cost.truncation": None, "seed": 0}),
        ("parameters", {"matching_cost.birchfield_tomasi": 1, "seed": 0}),
        ("parameters", {"matching_cost.truncation": 1, "seed": 1}),
        ("parameters", {"matching_cost.truncation": 1}),
        ("code", "other code"),
    ],
)
def test_each_part_of_the_identity_of_a_run_counts(part, other):
    identity_of_run = run_id(**PARTS)
    assert len(identity_of_run) == 16
    assert run_id(**PARTS | {part: other}) != identity_of_run
    assert run_id(**PARTS) == identity_of_run


def test_the_order_of_parameters_does_not_count_in_the_identity_of_a_run():
    turned = dict(reversed(PARTS["parameters"].items()))
    assert run_id(**PARTS | {"parameters": turned}) == run_id(**PARTS)


@pytest.mark.parametrize(
    "change",
    [
        {"id": "another run"},
        {"duplicate_index": 1},
        {"evaluations": ("another protocol",)},
        {"setting": "method"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_each_part_of_the_key_of_a_result_counts(change):
    [task] = tasks_of_script(load(WINDOW | {"name": "first"}), [dots()])
    if change == {"setting": "method"}:
        change = {"setting": replace(task.setting, method="second")}
    [key] = replace(task, **change).keys
    assert [key] != [*task.keys]
    assert replace(task).keys == task.keys


def test_a_task_has_a_key_for_each_of_its_protocols():
    [task] = tasks_of_script(load(WINDOW), [dots()])
    protocols = (
        resolve("taxonomy2002"),
        resolve("middlebury-v2"),
        replace(resolve("taxonomy2002"), border=3),
    )
    evaluations = evaluation_digests(protocols, CodeReader())
    assert evaluations[0] == task.evaluations[0]
    keys = replace(task, protocols=protocols, evaluations=evaluations).keys
    assert keys[0] == task.keys[0]
    assert len(set(keys)) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("a", "bc"), ("ab", "c")),
        (("a", ""), ("a",)),
        (("a", '"b'), ('a"', "b")),
        (("a,b",), ("a", "b")),
    ],
)
def test_different_parts_have_different_keys(first, second):
    assert result_key(*first) != result_key(*second)


CHANGES = [
    ["search.minimum=-1"],
    ["search.maximum=8"],
    ["search.step=0.5"],
    ["matching_cost.truncation=7"],
    ["matching_cost.truncation=1"],
    ["matching_cost.birchfield_tomasi=true"],
    ["aggregation.box.size=5"],
    ["aggregation.box.iterations=2"],
    ["aggregation=[]"],
    ["matching_cost=squared_difference"],
    ["optimization=semi_global"],
    ["refinement=[median]"],
    ["refinement=[median, parabola]"],
    ["refinement=[parabola, median]"],
    ["scheme=[coarse]"],
]


def test_each_change_of_a_script_makes_another_run():
    runs = [
        tasks_of_script(load(WINDOW, overrides=change), [dots()])[0].id for change in [[], *CHANGES]
    ]
    assert len(set(runs)) == 1 + len(CHANGES)


def test_the_side_of_the_match_frame_makes_another_run():
    scene = dots()
    runs = {
        tasks_of_script(load(WINDOW), [one])[0].id
        for one in (scene, scene.pair(1, 0, SearchRange(0, 7)))
    }
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([], {}),
        (None, "None"),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        ({"a": None}, {}),
        ([[1], 2], [1, [2]]),
        ([1, 2], [2, 1]),
        (SearchRange(0, 3), SearchRange(0, 4)),
        (SearchRange(0, 3), SearchRange(-1, 3)),
        (SearchRange(0, 3), SearchRange(0, 3, 0.5)),
        (SearchRange(0, 3), SearchRange(0, 3, 1, -1)),
    ],
)
def test_values_of_other_kinds_and_orders_have_other_digests(first, second):
    assert content_digest(first, {}) != content_digest(second, {})


@pytest.mark.parametrize(
    "other",
    [
        np.array([[1, 2]], object),
        np.array([1, 2], object),
        np.array([[1], [3]], object),
        np.array([[2], [1]], object),
        np.array([[1], [2]]),
        [[1], [2]],
    ],
)
def test_arrays_of_objects_count_with_their_shape_and_order(other):
    assert content_digest(other, {}) != content_digest(np.array([[1], [2]], object), {})


def test_lists_and_tuples_have_one_digest():
    assert content_digest({"a": [1]}, {}) == content_digest({"a": (1,)}, {})
