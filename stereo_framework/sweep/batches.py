"""Group the tasks of a sweep into batches, which workers compute.

Tasks whose pipelines begin with the same steps go into the same batch, so that these
steps run only once.
"""

from collections.abc import Iterable, Iterator, Sequence

from stereo_framework.core.scene import SearchRange
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.planned_steps import AuxiliaryMatching, PlannedStep
from stereo_framework.engine.plans import sort_key
from stereo_framework.sweep.tasks import Task

_MAX_TASKS_PER_BATCH = 100
"""Maximum number of tasks in a batch.

A worker process returns all results of a batch at once. With larger batches, the first
results would come later, and more work would be lost if a worker process dies.
"""

_TOTAL_BATCHES_PER_WORKER = 16
"""Number by which a worker's share of all tasks is divided.

The quotient is the minimum number of tasks in a batch.
"""

_REMAINING_BATCHES_PER_WORKER = 4
"""Number by which a worker's share of the remaining tasks is divided.

The quotient is the number of tasks in the next batch, unless it is below the minimum.
Batches become smaller towards the end of a sweep, so that all workers finish at about
the same time.
"""

_MAX_GROWTH = 4
"""Factor by which a batch may grow if the next tasks begin with the same steps.

If even more tasks begin with these steps, they go into a second batch, and the steps
run twice.
"""

Batch = list[Task]
"""Tasks with the same scene and search range that one worker computes together."""


def batches(tasks: Sequence[Task], workers: int) -> Iterator[Batch]:
    """Group tasks into batches for a number of workers.

    The tasks of each scene and search range are sorted. In sorted order, tasks with the
    same first steps follow each other, and a task with more iterations follows the task
    with fewer iterations. The sorted tasks are then divided into batches. A batch that
    is full still takes the next task if this task begins with the same steps, until the
    batch has grown by the factor `_MAX_GROWTH`.

    Parameters
    ----------
    tasks : sequence of Task
        Tasks on any number of scenes.
    workers : int
        Number of workers that compute batches at the same time.

    Yields
    ------
    list of Task
        Batches, which become smaller towards the end.
    """
    # `sort_key` gives a new number to each step that is not in `step_numbers` yet.
    step_numbers: dict[PlannedStep, int] = {}
    remaining = len(tasks)
    for group in _by_scene_and_search(tasks):
        batch: Batch = []
        previous_steps: list[int] | None = None
        for task in sorted(group, key=lambda task: _sort_key(task, step_numbers)):
            shared_steps = _shared_steps(task, step_numbers)
            size = _batch_size(len(tasks), remaining, workers)
            if shared_steps == previous_steps:
                size *= _MAX_GROWTH
            if len(batch) >= size:
                yield batch
                remaining -= len(batch)
                batch = []
            batch.append(task)
            previous_steps = shared_steps
        yield batch
        remaining -= len(batch)


def _by_scene_and_search(tasks: Iterable[Task]) -> Iterable[list[Task]]:
    """Return the tasks of each scene and search range as one list."""
    groups: dict[tuple[int, SearchRange], list[Task]] = {}
    for task in tasks:
        groups.setdefault((id(task.scene), task.search), []).append(task)
    return groups.values()


def _batch_size(total: int, remaining: int, workers: int) -> int:
    """Return the number of tasks in the next batch.

    Parameters
    ----------
    total : int
        Number of all tasks.
    remaining : int
        Number of tasks that are not in a batch yet.
    workers : int
        Number of workers.
    """
    if workers == 1:
        return _MAX_TASKS_PER_BATCH
    share_of_total = total // (_TOTAL_BATCHES_PER_WORKER * workers)
    share_of_remaining = remaining // (_REMAINING_BATCHES_PER_WORKER * workers)
    size = max(share_of_total, share_of_remaining, 1)
    return min(size, _MAX_TASKS_PER_BATCH)


def _sort_key(task: Task, step_numbers: dict[PlannedStep, int]) -> list[tuple[int, int]]:
    """Return the key of a task for sorting, with one pair of numbers for each step.

    The first number stands for the step without its iterations. The second number is
    the number of iterations. The auxiliary methods count as the first step.
    """
    pipeline = task.setting.pipeline
    return sort_key((AuxiliaryMatching(pipeline.auxiliary), *pipeline.steps), step_numbers)


def _shared_steps(task: Task, step_numbers: dict[PlannedStep, int]) -> list[int]:
    """Return the numbers of a task's steps up to the step that computes the map."""
    count = _number_of_shared_steps(task.setting.pipeline)
    return [number for number, _ in _sort_key(task, step_numbers)[:count]]


def _number_of_shared_steps(pipeline: Pipeline) -> int:
    """Return the number of entries of `_sort_key` up to the step that computes the map.

    Two tasks belong together if they agree in these entries, because they then share
    the computation of the disparity map. If the pipeline has a scheme, the scheme
    computes the map. Otherwise, the optimizer or the matcher computes the map.
    """
    # The first entry of `_sort_key` stands for the auxiliary methods.
    numbered_steps = list(enumerate(pipeline.steps, start=1))
    for product in ("estimate", "disparity"):
        for number, step in numbered_steps:
            if product in step.makes:
                return number + 1
    raise AssertionError("a pipeline has an optimizer or a matcher")
