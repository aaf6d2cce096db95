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
        Plug-ins that the other process must load first.
    code : str
        Digest of the code that the tasks need, see `code_of_program`.
    names : dict of str to str
        Paths of the sources of the plug-ins, by the names of their modules here.
    tasks : bytes
        Pickled tuple of the tasks without their scene, and the argument `keep_maps`.
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
    # The scene is packed only once for all tasks.
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
        The results of each task, one for each protocol.

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
        # A function of the other process does not exist in this process.
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
    """Return the digest of the code that tasks need in any process."""
    pipelines: list[Pipeline] = []
    protocols: list[Protocol] = []
    for task in tasks:
        pipelines.append(task.setting.pipeline)
        protocols += task.protocols
    return code_of_program(pipelines, protocols)


# Consecutive batches usually have the same scene.
@functools.lru_cache(1)
def _pickled(scene: Scene) -> bytes:
    """Return a scene with all its arrays as bytes."""
    return pickle.dumps(scene)


# A scene keeps the regions and other arrays that were computed from it. Therefore, the
# batches of a scene use the same object.
@functools.lru_cache(4)
def _unpickled(scene: bytes) -> Scene:
    """Return the scene that `_pickled` has packed."""
    unpickled_scene: Scene = pickle.loads(scene)
    return unpickled_scene
