"""Estimation of the memory that stereo methods need for their cost volumes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import Image, SearchRange
from stereo_framework.core.step import Step
from stereo_framework.core.view import View, Volumes
from stereo_framework.core.volume import CostVolume
from stereo_framework.engine.planned_steps import (
    AuxiliaryMatching,
    CostSum,
    OutsideCostReset,
    PlannedStep,
    SchemeCall,
)
from stereo_framework.engine.plans import State
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.engine.strips import strip_rows

if TYPE_CHECKING:
    from stereo_framework.engine.pipeline import Pipeline

_BYTES_OF_CELL = 4
"""Number of bytes of a single cost in a float32 cost volume.

Memory estimates count the costs of smaller data types as float32, too.
"""

_VOLUMES_OF_STRIP = 3
"""Number of cost volumes in memory while steps run on a strip of image rows.

The cost volumes include the halo rows, which lie above and below the strip. The
measured number of cost volumes is 1.5 without aggregation and 2.4 with a box filter.
Three passes of a binomial filter need the memory of 3.4 cost volumes.
"""

_VOLUMES_OF_SUM = 2
"""Number of cost volumes in memory during a sum of several matching costs.

The sum and the next matching cost are in memory at the same time.
"""

_SUM_OF_COSTS = "the sum of the matching costs"
"""Name of the step that adds up several matching costs, for messages."""


class MemoryPeak(NamedTuple):
    """The peak memory of cost volumes, and the stage that needs this memory.

    Parameters
    ----------
    size : int
        Estimated memory in bytes.
    stage : str
        Name of the stage for messages, such as ``graph_cut``. The text is empty if no
        stage needs a cost volume.
    """

    size: int
    stage: str


class FramesInMemory(NamedTuple):
    """The number and the pixels of the other frames of a pair.

    Parameters
    ----------
    number : int
        Number of frames.
    bytes_of_pixel : int
        Number of bytes of a pixel in all channels, before preprocessing.
    channels : int
        Number of channels of each image.
    """

    number: int = 0
    bytes_of_pixel: int = 1
    channels: int = 1

    @staticmethod
    def of(number: int, reference: Image) -> FramesInMemory:
        """Return the size of frames that have the form of the reference image."""
        channels = math.prod(reference.shape[2:])
        return FramesInMemory(number, channels * reference.itemsize, channels)


def peak_memory(
    pipelines: Sequence[Pipeline],
    shape: tuple[int, ...],
    search: SearchRange,
    *,
    both: bool = False,
    keep_volume: bool = False,
    frames: FramesInMemory = FramesInMemory(),  # noqa: B008  The object is immutable.
) -> MemoryPeak:
    """Estimate the peak memory of several pipelines, and find the stage that needs it.

    The estimate contains the cost volumes. If a stage reads the other frames of the
    scene, the estimate also contains the images of these frames.

    Parameters
    ----------
    pipelines : sequence of Pipeline
    shape : (rows, columns)
    search : SearchRange
    both, keep_volume : bool
        Options of `PipelineRunner`.
    frames : FramesInMemory
        Other frames of the pair. Default: the pair has no other frames.
    """
    rehearsal = _Rehearsal(pipelines, shape, search, frames, both=both, keep_volume=keep_volume)
    for _, outcome in rehearsal:
        # A plug-in may raise an error while it computes its number of halo rows.
        if isinstance(outcome, Exception):
            raise outcome
    size = rehearsal.peak.size + _bytes_of_frames(pipelines, shape, frames)
    return MemoryPeak(size, rehearsal.peak.stage)


def memory_bound(
    pipelines: Sequence[Pipeline], shape: tuple[int, ...], search: SearchRange
) -> float:
    """Return an upper bound of the estimate of `peak_memory`, in bytes.

    The bound takes much less time to compute. It is infinite if a method has a scheme,
    auxiliary methods, a stage of a plug-in, or a stage that reads other frames.

    Parameters
    ----------
    pipelines : sequence of Pipeline
    shape : (rows, columns)
    search : SearchRange
    """
    number_of_steps = 0
    largest_number = max(_VOLUMES_OF_STRIP, _VOLUMES_OF_SUM)
    for pipeline in pipelines:
        if pipeline.auxiliary:
            return math.inf
        for step in pipeline.steps:
            stage = step.stage
            if stage.slot == "scheme" or not stage.is_built_in or step.inner_steps:
                return math.inf
            if "frames" in stage.data:
                return math.inf
            number_of_steps += 1
            largest_number = max(largest_number, _volumes_of_stage(step))
    # Each step makes at most one cost volume for each of the two images. A view holds
    # at most three further cost volumes.
    number_of_volumes = 2 * number_of_steps + 3 + largest_number
    return _BYTES_OF_CELL * math.prod(shape[:2]) * search.levels * number_of_volumes


def _bytes_of_frames(
    pipelines: Sequence[Pipeline], shape: tuple[int, ...], frames: FramesInMemory
) -> int:
    """Return the memory of the images of all other frames, in bytes.

    A frame keeps its image before and after each preprocessing stage. Preprocessed
    images count as float32.
    """
    readers = [pipeline for pipeline in pipelines if pipeline.reads_frames]
    if not readers:
        return 0
    counts = []
    for pipeline in readers:
        names = [step.stage.slot for _, step in pipeline.stages()]
        counts.append(names.count("preprocessing"))
    bytes_of_pixel = frames.bytes_of_pixel + _BYTES_OF_CELL * frames.channels * max(counts)
    return frames.number * math.prod(shape[:2]) * bytes_of_pixel


class _Rehearsal(PipelineRunner):
    """Simulated run of pipelines that only counts the cost volumes in memory.

    The simulation uses images with a single pixel and cost volumes with a single cell.
    The attribute `peak` is the estimated peak memory of the real cost volumes.
    """

    def __init__(
        self,
        pipelines: Sequence[Pipeline],
        shape: tuple[int, ...],
        search: SearchRange,
        frames: FramesInMemory,
        **options: Any,
    ):
        pixel = np.zeros((1, 1), np.uint8)
        super().__init__(pipelines, Pair(pixel, pixel, SearchRange(0, 1)), **options)
        self.shape = shape
        self.search = search
        self.frames = frames
        self.peak = MemoryPeak(0, "")
        self._bytes_of_volume = _BYTES_OF_CELL * math.prod(shape) * search.levels

    def _estimate_of(self, pipeline: Pipeline, view: View) -> Any:
        """Return the view unchanged, because memory estimates need no disparity map."""
        return view

    def _run_group(self, group: Sequence[State], view: View, other: View | None) -> View:
        """Update the peak memory with the cost volumes of a group of steps."""
        steps = [state.last_step for state in group]
        rows, columns, levels = *self.shape[:2], self.search.levels
        height = strip_rows(steps, rows, columns, levels)

        # A stored view may be an exception, and `other` may be None.
        views = [*self.views.values(), view, other]
        kept_volumes = _count_volumes([each for each in views if isinstance(each, View)])
        for step in steps:
            view = replace(view, volumes=self._volumes_after(step, view.volumes))
        view = view.keeping(self.plans.needs[group[-1]])

        if len(steps) > 1 or height < rows:
            new_bytes = self._bytes_in_strips(steps, height, view)
            peak_of_group = MemoryPeak(new_bytes, _stage_with_most_volumes(steps))
        else:
            peak_of_group = self._peak_of_whole_step(group[0])
        size = self._bytes_of_volume * kept_volumes + peak_of_group.size
        if size > self.peak.size:
            self.peak = MemoryPeak(size, peak_of_group.stage)
        return view

    def _volumes_after(self, step: PlannedStep, volumes: Volumes) -> Volumes:
        """Return the cost volumes after a step, where each new volume has one cell."""
        new_volume = CostVolume(np.zeros((1, 1, 1), np.float32), self.search, 0.0)
        if "raw" in step.makes:
            return replace(volumes, current=new_volume, raw=new_volume)
        is_copied = volumes.is_shared or volumes.raw is volumes.current
        if "volume" in step.makes or (isinstance(step, OutsideCostReset) and is_copied):
            return replace(volumes, current=new_volume)
        return volumes

    def _bytes_in_strips(self, steps: Sequence[PlannedStep], height: int, view: View) -> int:
        """Return the memory of the new cost volumes of steps on strips, in bytes.

        Parameters
        ----------
        steps : sequence of PlannedStep
        height : int
            Number of rows of each strip, without its halo rows.
        view : View
            Data of the whole image after the steps, including its cost volumes.
        """
        rows = self.shape[0]
        rows_of_strip = min(rows, height + 2 * sum(step.halo or 0 for step in steps))
        bytes_of_strip = _VOLUMES_OF_STRIP * self._bytes_of_volume * rows_of_strip // rows
        stage_steps = [step for step in steps if isinstance(step, Step)]
        bytes_of_frames = [self._bytes_for_frames(step, rows_of_strip) for step in stage_steps]
        bytes_of_strip += max(bytes_of_frames, default=0)
        if rows_of_strip == rows:
            return bytes_of_strip
        return bytes_of_strip + self._bytes_of_volume * _count_volumes([view])

    def _bytes_for_frames(self, step: Step, rows_of_strip: int) -> int:
        """Return the memory of the cost volumes of other frames in a step, in bytes."""
        if "frames" not in step.data:
            return 0
        rows_of_frame = step.rows_for_each_frame(rows_of_strip)
        return self.frames.number * self._bytes_of_volume * rows_of_frame // self.shape[0]

    def _peak_of_whole_step(self, state: State) -> MemoryPeak:
        """Return the memory of the cost volumes that a step creates, and its stage."""
        match state.last_step:
            case AuxiliaryMatching(methods=methods):
                pipelines = [method for _, method in methods]
                both = "both" in self.plans.needs[state]
                return peak_memory(
                    pipelines, self.shape, self.search, both=both, frames=self.frames
                )
            case SchemeCall(step=step, method=method):
                shape = self.shape
                if callable(step.stage.memory):
                    shape = step.stage.memory(shape, self.search, **step.parameters)
                return peak_memory([method], shape, self.search, frames=self.frames)
            case Step() as step if step.touches_volume:
                size = self._bytes_of_volume * _volumes_of_stage(step)
                size += self._bytes_for_frames(step, self.shape[0])
                return MemoryPeak(size, _largest_part(step).stage)
            case CostSum(costs=costs):
                size = _VOLUMES_OF_SUM * self._bytes_of_volume
                size += max(self._bytes_for_frames(cost, self.shape[0]) for cost in costs)
                return MemoryPeak(size, _SUM_OF_COSTS)
            case OutsideCostReset():
                # A reset copies at most one cost volume, so its estimate is high. The
                # step before the reset is the last aggregation.
                aggregation = state.before_last_step.last_step.short_name
                return MemoryPeak(2 * self._bytes_of_volume, aggregation)
        return MemoryPeak(0, "")


def _stage_with_most_volumes(steps: Iterable[PlannedStep]) -> str:
    """Return the name of the stage that needs the most cost volumes in memory.

    Each step is called by the name of its stage, or of its inner stage that needs the
    most cost volumes. The reset of outside costs is left out, because it is no stage.
    """
    volumes: dict[str, int] = {}
    for step in steps:
        if isinstance(step, CostSum):
            volumes[_SUM_OF_COSTS] = _VOLUMES_OF_SUM
        elif isinstance(step, Step):
            volumes[_largest_part(step).stage] = _volumes_of_stage(step)
    return max(volumes, key=lambda name: volumes[name], default="")


class _Part(NamedTuple):
    """A stage or an inner stage, and the number of its cost volumes."""

    volumes: int
    stage: str


def _largest_part(step: Step) -> _Part:
    """Find the stage of a step that needs the most cost volumes.

    The result is the stage of the step or an inner stage. The name of an inner stage is
    followed by the name of its outer stage.
    """
    largest = _Part(step.volumes_of_stage, step.stage.name)
    for inner_step in step.inner_steps.values():
        part = _largest_part(inner_step)
        if part.volumes > largest.volumes:
            largest = _Part(part.volumes, f"{part.stage} (inside {step.stage.name})")
    return largest


def _volumes_of_stage(step: Step) -> int:
    """Return the number of cost volumes that a stage adds to the memory."""
    is_local_cost = "raw" in step.makes and step.halo is not None
    if is_local_cost:
        return 1
    return step.volumes_in_memory


def _count_volumes(views: Iterable[View]) -> int:
    """Count the cost volumes in several views, each shared cost volume only once."""
    volume_ids: set[int] = set()
    for view in views:
        volume_ids.update(id(volume) for volume in view.volumes.by_name().values())
    return len(volume_ids)
