"""Units of work: every task once, beginnings kept together where that pays, apart where workers would wait."""

import gc
import tracemalloc

import pytest
from sweep_parts import dots

from stereo_framework.script import load
from stereo_framework.sweep.batches import batches as units
from stereo_framework.sweep.tasks import tasks_of_script

WINDOW = {
    "matching_cost": "absolute_difference",
    "aggregation": ["box"],
    "optimization": "winner_take_all",
}
CUT = {
    "matching_cost": "absolute_difference",
    "smoothness": {"use": "potts", "weight": 5},
    "optimization": "graph_cut",
}


def bundles(script, grid, workers, scenes=None):
    tasks = tasks_of_script(load(script | {"sweep": {"grid": grid}}), scenes or [dots()])
    found = list(units(tasks, workers))
    assert sorted(task.id for unit in found for task in unit) == sorted(task.id for task in tasks)
    return [[task.setting.axes for task in unit] for unit in found]


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_what_a_graph_cut_costs_is_not_paid_again_for_refinements(workers):
    rules = {"refinement": [[], ["parabola"], ["fill_occlusions"]], "smoothness.weight": [1, 2]}
    found = bundles(CUT, rules, workers)
    # Whatever is handed out, the runs of one weight are together.
    for weight in (1, 2):
        assert sum(any(axes["smoothness.weight"] == weight for axes in unit) for unit in found) == 1


def test_cheap_beginnings_are_divided_among_workers():
    grid = {"matching_cost.truncation": [5], "aggregation.box.size": {"range": [1, 99, 1]}}
    assert len(bundles(WINDOW, grid, 1)) == 1  # of at most some 100 settings
    assert 4 <= len(bundles(WINDOW, grid, 2)) <= 24
    assert max(map(len, bundles(WINDOW, grid, 8))) <= 16


def test_iterations_that_continue_each_other_stay_together():
    grid = {
        "aggregation.diffusion.rate": [0.1, 0.2],
        "aggregation.diffusion.iterations": [10, 100, 1000, 500],
    }
    found = bundles(WINDOW | {"aggregation": ["diffusion"]}, grid, 8)
    assert [{axes["aggregation.diffusion.rate"] for axes in unit} for unit in found] == [
        {0.1},
        {0.2},
    ]


def test_a_setting_that_is_planned_takes_little_memory():
    """Until it is computed, a setting is a few small objects: 200,000 of them, the most that a script may have, fit into 300 MB."""

    def planned(count):
        grid = {
            "matching_cost.truncation": list(range(1, 11)),
            "aggregation.box.size": {"range": [1, 2 * count // 10 - 1, 2]},
        }
        tracemalloc.start()
        tasks = tasks_of_script(load(WINDOW | {"sweep": {"grid": grid}}), [dots()])
        coming = units(tasks, 2)
        next(coming)
        gc.collect()  # what is held counts, and not when garbage was last looked for
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(tasks) == count
        return used

    # What is read and compiled once is not counted. They take .65 kB each.
    planned(20)
    assert (planned(200) - planned(50)) / 150 < 900


def test_the_last_units_are_small_so_that_workers_end_together():
    grid = {
        "matching_cost.truncation": {"range": [1, 100, 1]},
        "aggregation.box.size": [3, 5, 7, 9, 11, 13, 15],
    }
    sizes = [len(bundle) for bundle in bundles(WINDOW, grid, 2)]
    assert (
        sizes[0] >= 60
    )  # an eighth of 700 settings; with as large a unit last, a worker might wait for 12 % of all
    assert max(sizes[-4:]) <= 21
    assert len(sizes) < 24
