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
"""Number of batches for which a rough estimate of their memory is sufficient.

A batch is accepted without an exact estimate if this number of batches with the same
upper bound of memory would fit into the limit.
"""


class BatchRefusedError(Exception):
    """Error that reports a batch that cannot be computed.

    The results of all tasks in the batch contain the text of this error.
    """


class MemoryBudget:
    """Maximum memory of all batches that are computed at the same time.

    Parameters
    ----------
    limit : int, optional
        Memory limit in bytes. The default is most of the free memory of this machine.
    is_on_this_machine : bool
        Whether this machine computes the batches. If other machines compute the
        batches, the default limit is infinite, because their memory is unknown.

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
            The batch needs more memory than the limit, or a function of a stage that
            estimates the memory raises an exception.
        """
        scene = batch[0].scene
        search = batch[0].search
        shape = scene.reference.shape[:2]
        pipelines = [task.setting.pipeline for task in batch]
        # Large sweeps have many batches, and most batches need little memory. For such
        # a batch, an upper bound is sufficient, which takes less time than an estimate.
        bound = memory_bound(pipelines, shape, search)
        if bound * _MIN_BATCHES_WITHIN_LIMIT <= self.limit:
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
    """Return the memory limit that is used if the caller gives no limit, in bytes."""
    if is_on_this_machine:
        return _SHARE_OF_FREE_MEMORY * free_memory()
    return math.inf
