"""Group the tasks of a sweep into batches, which workers compute.

A worker is a thread or a process. If the pipelines of several tasks begin with the same
steps, the tasks go into the same batch, so that the shared steps run only once.
"""

from collections.abc import Iterable, Iterator, Sequence

from stereo_framework.core.scene import SearchRange
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.planned_steps import AuxiliaryMatching, PlannedStep
from stereo_framework.engine.plans import sort_key
from stereo_framework.sweep.tasks import Task

_MAX_TASKS_PER_BATCH = 100
"""Maximum number of tasks in a batch.

A worker process returns all results of a batch at once. If batches were larger, the
sweep would receive its first results later, and the death of a worker process would
destroy more results.
"""

_TOTAL_BATCHES_PER_WORKER = 16
"""Number by which a worker's share of all tasks is divided.

The share of a worker is the number of all tasks divided by the number of workers. The
share divided by this constant is the minimum number of tasks in a batch.
"""

_REMAINING_BATCHES_PER_WORKER = 4
"""Number by which a worker's share of the remaining tasks is divided.

The remaining tasks are not in a batch yet. The share of a worker divided by this
constant is the number of tasks in the next batch, unless the quotient is below the
minimum. Batches become smaller towards the end of a sweep, so that all workers finish
at about the same time.
"""

_MAX_GROWTH = 4
"""Factor by which a batch may grow if the next tasks begin with the same steps.

If a batch with this size is full, the next tasks go into a second batch, and the steps
that the two batches share run twice.
"""

Batch = list[Task]
"""Tasks with the same scene and search range that one worker computes together."""


def batches(tasks: Sequence[Task], workers: int) -> Iterator[Batch]:
    """Group tasks into batches for a number of workers.

    The function sorts the tasks of each scene and search range. In sorted order, tasks
    with the same first steps follow each other, and a task with more iterations follows
    the task with fewer iterations. The function then divides the sorted tasks into
    batches. If the next task begins with the same steps as the tasks of a full batch,
    the batch still takes the task. A batch may grow by the factor `_MAX_GROWTH`.

    Parameters
    ----------
    tasks : sequence of Task
        Tasks on any number of scenes.
    workers : int
        Number of workers that compute batches at the same time.

    Yields
    ------
    list of Task
        Tasks of one batch. The batches become smaller towards the end of the sweep.
    """
    # The function `sort_key` adds each new step to `step_numbers`, with a new number.
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
    """Return one list of tasks for each combination of a scene and a search range."""
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
    """Return the key by which a task is sorted, with one pair of numbers for each step.

    The first number of a pair identifies the step, apart from its number of iterations.
    The second number of a pair is the number of iterations. The first pair of the key
    stands for all auxiliary methods of the pipeline.
    """
    pipeline = task.setting.pipeline
    return sort_key((AuxiliaryMatching(pipeline.auxiliary), *pipeline.steps), step_numbers)


def _shared_steps(task: Task, step_numbers: dict[PlannedStep, int]) -> list[int]:
    """Return the numbers of all steps up to the one that computes the disparity map."""
    count = _number_of_shared_steps(task.setting.pipeline)
    return [number for number, _ in _sort_key(task, step_numbers)[:count]]


def _number_of_shared_steps(pipeline: Pipeline) -> int:
    """Return the number of steps up to the step that computes the disparity map.

    The auxiliary methods of the pipeline count as one step. Two tasks share the
    computation of the disparity map if they agree in all steps up to this step. If the
    pipeline has a scheme, the scheme computes the disparity map. Otherwise, the
    optimizer or the matcher computes the disparity map.
    """
    # The auxiliary methods are step 0, so the steps of the pipeline begin with number
    # 1.
    numbered_steps = list(enumerate(pipeline.steps, start=1))
    for product in ("estimate", "disparity"):
        for number, step in numbered_steps:
            if product in step.makes:
                return number + 1
    raise AssertionError("a pipeline has an optimizer or a matcher")
