"""Tests of batches: tasks with shared steps, and sizes of batches."""

import gc
import tracemalloc

import pytest
from sweep_parts import dots

from stereo_framework.script import load
from stereo_framework.sweep.batches import batches
from stereo_framework.sweep.tasks import tasks_of_script

WINDOW = {
    "matching_cost": "absolute_difference",
    "aggregation": ["box"],
    "optimization": "winner_take_all",
}
GRAPH_CUT = {
    "matching_cost": "absolute_difference",
    "smoothness": {"use": "potts", "weight": 5},
    "optimization": "graph_cut",
}


def axes_of_batches(script, grid, workers):
    """Return the values of the axes of each task, batch by batch."""
    tasks = tasks_of_script(load(script | {"sweep": {"grid": grid}}), [dots()])
    groups = list(batches(tasks, workers))
    tasks_in_batches = [task.id for batch in groups for task in batch]
    assert sorted(tasks_in_batches) == sorted(task.id for task in tasks)
    return [[task.setting.axes for task in batch] for batch in groups]


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_tasks_with_the_same_optimizer_are_in_one_batch(workers):
    """Run a graph cut only once for all refinements."""
    refinements = [[], ["parabola"], ["fill_occlusions"]]
    grid = {"refinement": refinements, "smoothness.weight": [1, 2]}
    groups = axes_of_batches(GRAPH_CUT, grid, workers)
    for weight in (1, 2):
        with_weight = [
            batch for batch in groups if any(axes["smoothness.weight"] == weight for axes in batch)
        ]
        assert len(with_weight) == 1


def test_tasks_that_share_little_are_divided_among_workers():
    """Make at most 100 tasks a batch, and several batches for each worker."""
    grid = {"matching_cost.truncation": [5], "aggregation.box.size": {"range": [1, 99, 1]}}
    assert len(axes_of_batches(WINDOW, grid, 1)) == 1
    assert 4 <= len(axes_of_batches(WINDOW, grid, 2)) <= 24
    assert max(map(len, axes_of_batches(WINDOW, grid, 8))) <= 16


def test_iterations_that_continue_each_other_are_in_one_batch():
    """Divide the tasks between the rates, and not between the iterations of a rate."""
    rate = "aggregation.diffusion.rate"
    grid = {rate: [0.1, 0.2], "aggregation.diffusion.iterations": [10, 100, 1000, 500]}
    groups = axes_of_batches(WINDOW | {"aggregation": ["diffusion"]}, grid, 8)
    assert [{axes[rate] for axes in batch} for batch in groups] == [{0.1}, {0.2}]


def test_last_batches_are_small():
    """Let all workers finish at about the same time."""
    grid = {
        "matching_cost.truncation": {"range": [1, 100, 1]},
        "aggregation.box.size": [3, 5, 7, 9, 11, 13, 15],
    }
    sizes = [len(batch) for batch in axes_of_batches(WINDOW, grid, 2)]
    # The first batch has an eighth of the 700 tasks. If the last batch were as large, a
    # worker might wait for 12 % of all tasks.
    assert sizes[0] >= 60
    assert max(sizes[-4:]) <= 21
    assert len(sizes) < 24


def memory_of_tasks(count):
    """Return the memory of some tasks before they are computed, in bytes."""
    grid = {
        "matching_cost.truncation": list(range(1, 11)),
        "aggregation.box.size": {"range": [1, 2 * count // 10 - 1, 2]},
    }
    tracemalloc.start()
    tasks = tasks_of_script(load(WINDOW | {"sweep": {"grid": grid}}), [dots()])
    groups = batches(tasks, 2)
    next(groups)
    # Without this call, the memory would depend on the time of the last collection.
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(tasks) == count
    return used


def test_planned_tasks_take_little_memory():
    """Keep 200,000 tasks, the maximum of a script, within 300 MB."""
    # The first call also counts files that are read and code that is compiled only
    # once.
    memory_of_tasks(20)
    memory_per_task = (memory_of_tasks(200) - memory_of_tasks(50)) / 150
    # A task takes about 870 bytes, of which a quarter are the addresses of its stages.
    assert memory_per_task < 900
