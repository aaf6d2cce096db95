"""Limit the memory of the batches that are computed at the same time."""

import math
from collections.abc import Iterable

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.step import describe_stage_error
from stereo_framework.engine.memory import FramesInMemory, memory_bound, peak_memory
from stereo_framework.engine.tiling import refusal
from stereo_framework.kernels.free_memory import free_memory
from stereo_framework.sweep.batches import Batch

_SHARE_OF_FREE_MEMORY = 0.8
"""Share of the free memory of this machine that a sweep uses by default."""

_MIN_BATCHES_WITHIN_LIMIT = 16
"""Number of batches that must fit into memory if only their upper bound is known."""


class BatchRefusedError(Exception):
    """A batch that cannot be computed. The text is the error of its tasks."""


class MemoryBudget:
    """Maximum memory of all batches that are computed at the same time.

    Parameters
    ----------
    limit : int, optional
        Memory limit in bytes. The default is most of the free memory of this machine.
    is_on_this_machine : bool
        Whether the batches are computed on this machine. The default limit for other
        machines is infinite, because their memory is unknown.

    Raises
    ------
    ParameterError
        The limit is below one byte.
    """

    def __init__(self, limit: int | None = None, *, is_on_this_machine: bool = True):
        if limit is not None and limit <= 0:
            raise ParameterError(f"memory: {limit} bytes are too few; expected at least 1")
        self.limit = limit or _default_limit(is_on_this_machine)

    def size_of(self, batch: Batch) -> int:
        """Estimate the peak memory of a batch, in bytes.

        Raises
        ------
        BatchRefusedError
            The batch needs more memory than the limit, or the estimate fails.
        """
        scene = batch[0].scene
        search = batch[0].search
        shape = scene.reference.shape[:2]
        pipelines = [task.setting.pipeline for task in batch]
        # Most batches of large sweeps are small, so an upper bound is enough.
        bound = memory_bound(pipelines, shape, search)
        if bound <= self.limit / _MIN_BATCHES_WITHIN_LIMIT:
            return int(bound)
        frames = FramesInMemory.of(len(scene.frames) - 2, scene.reference)
        try:
            peak = peak_memory(pipelines, shape, search, frames=frames)
        except Exception as error:
            # The estimate calls functions of stages, such as the function that computes
            # the halo. A function of a plug-in may raise any exception.
            raise BatchRefusedError(describe_stage_error(error)) from error
        if peak.size > self.limit:
            message = refusal(pipelines[0], shape, search, peak, self.limit, frames=frames)
            raise BatchRefusedError(message)
        return peak.size

    def has_room(self, size: int, running_sizes: Iterable[int]) -> bool:
        """Return whether a batch fits into memory next to the running batches.

        Parameters
        ----------
        size : int
            Memory of the batch, in bytes.
        running_sizes : iterable of int
            Memory of each running batch, in bytes.
        """
        return size <= self.limit - sum(running_sizes)


def _default_limit(is_on_this_machine: bool) -> float:
    """Return the default of the memory limit, in bytes."""
    if is_on_this_machine:
        return _SHARE_OF_FREE_MEMORY * free_memory()
    return math.inf
