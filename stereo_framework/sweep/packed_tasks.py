"""Send batches of tasks to other processes, and compute them there."""

import functools
import pickle
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.plugins import load_plugin, module_names
from stereo_framework.core.scene import Scene
from stereo_framework.core.shared_modules import give_names
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.evaluation.protocols import Protocol
from stereo_framework.sweep.batches import Batch
from stereo_framework.sweep.code_identity import code_of_program
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.task_results import results_of_batch
from stereo_framework.sweep.tasks import Task


class PackedTasks(NamedTuple):
    """A batch in a form that can be sent to another process.

    The fields are the arguments of `run_packed_tasks`.

    Parameters
    ----------
    plugins : tuple of str
        Plug-ins that the other process must load before it unpickles the tasks.
    code : str
        Digest of the code that the tasks need, which `code_of_program` returns.
    names : dict of str to str
        Dictionary from the name of each plug-in module in the sending process to the
        path of its source file.
    tasks : bytes
        Pickled pair of the list of tasks without their scene and the argument
        `keep_maps`.
    scene : bytes
        Pickled scene with all its arrays.
    """

    plugins: tuple[str, ...]
    code: str
    names: dict[str, str]
    tasks: bytes
    scene: bytes


def pack_tasks(batch: Batch, *, keep_maps: bool) -> PackedTasks:
    """Pack a batch for `run_packed_tasks` in another process.

    Parameters
    ----------
    batch : list of Task
        Tasks with the same scene and search range.
    keep_maps : bool
        Whether the results contain the disparity maps and the confidence maps.

    Raises
    ------
    ParameterError
        A function of a stage cannot be pickled.
    """
    plugins: dict[str, None] = {}
    for task in batch:
        plugins |= dict.fromkeys(task.setting.shared.get("plugins", ()))
    # All tasks of a batch have the same scene. The tasks are pickled without the scene,
    # and the scene is pickled only once.
    tasks: Any = [replace(task, scene=None) for task in batch]  # type: ignore[arg-type]
    try:
        return PackedTasks(
            plugins=tuple(plugins),
            code=_code_of(batch),
            names=module_names(plugins),
            tasks=pickle.dumps((tasks, keep_maps)),
            scene=_pickled(batch[0].scene),
        )
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        message = (
            f"a stage cannot be sent to another process: {error}; the stage must be in a file or "
            "module that the other process can import; name this file or module under plugins:"
        )
        raise ParameterError(message) from error


def run_packed_tasks(
    plugins: tuple[str, ...], code: str, names: dict[str, str], tasks: bytes, scene: bytes
) -> list[list[Result]]:
    """Compute a batch that another process has packed.

    The arguments are the fields of `PackedTasks`.

    Returns
    -------
    list of list of Result
        One list of results for each task. The list of a task has one result for each
        protocol.

    Raises
    ------
    ParameterError
        The code of this process differs from the code of the process that packed the
        batch.
    """
    for plugin in plugins:
        load_plugin(plugin)
    give_names(names)
    try:
        tasks_without_scene, keep_maps = pickle.loads(tasks)
        is_same_code = _code_of(tasks_without_scene) == code
    except (AttributeError, ImportError):
        # The tasks cannot be unpickled, because this process lacks a function that the
        # sending process has.
        is_same_code = False
    if not is_same_code:
        message = (
            "a worker has read other code than the program that sends its work, or it has other "
            "versions of packages; if a file was changed in the meantime, run again; otherwise "
            "install the same packages for all workers"
        )
        raise ParameterError(message)
    batch = [replace(task, scene=_unpickled(scene)) for task in tasks_without_scene]
    return results_of_batch(batch, keep_maps=keep_maps)


def _code_of(tasks: Iterable[Task]) -> str:
    """Return the digest of the code that every process needs to compute some tasks."""
    pipelines: list[Pipeline] = []
    protocols: list[Protocol] = []
    for task in tasks:
        pipelines.append(task.setting.pipeline)
        protocols += task.protocols
    return code_of_program(pipelines, protocols)


# The cache keeps the latest pickled scene, because consecutive batches usually have the
# same scene.
@functools.lru_cache(1)
def _pickled(scene: Scene) -> bytes:
    """Return a pickled scene with all its arrays."""
    return pickle.dumps(scene)


# A scene object stores the regions and other arrays that were computed from the scene.
# The cache returns the same object for all batches of a scene, so that these arrays are
# computed only once.
@functools.lru_cache(4)
def _unpickled(scene: bytes) -> Scene:
    """Return the scene that `_pickled` has converted to bytes."""
    unpickled_scene: Scene = pickle.loads(scene)
    return unpickled_scene
