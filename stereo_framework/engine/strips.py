"""Processing of an image in strips of rows, which saves memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.view import View, arrays_by_path, is_table, map_arrays
from stereo_framework.core.volume import Labeling
from stereo_framework.engine.planned_steps import PlannedStep

STRIP_ROWS = 128
"""Maximum number of rows of a strip, without the halo rows above and below."""

_STRIP_BYTES = 64 * 2**20
"""Size in bytes of a strip's cost volume above which the strips get half as many rows.

Small strips need less memory, but the overlaps of neighbouring strips take more time.
"""


def strip_rows(steps: Sequence[PlannedStep], rows: int, columns: int, levels: int) -> int:
    """Return the number of image rows in each strip, without halo rows.

    Parameters
    ----------
    steps : sequence of PlannedStep
        Steps that run one after another on each strip.
    rows, columns : int
        Height and width of the image in pixels.
    levels : int
        Number of disparities in the search range.

    Returns
    -------
    height : int
        Number of rows of a strip. If the steps do not need strips, the result is the
        number of rows of the image.
    """
    if len(steps) == 1:
        [step] = steps
        # Strips are fast if the next step finds the costs in the cache of the
        # processor. A single matching cost runs on the whole image, because no next
        # step would use the cache.
        is_matching_cost = "raw" in step.makes
        if step.halo is None or is_matching_cost or not step.touches_volume:
            return rows
    bytes_of_strip = 4 * STRIP_ROWS * columns * levels
    if bytes_of_strip > _STRIP_BYTES:
        return max(1, STRIP_ROWS // 2)
    return STRIP_ROWS


class Strips:
    """A collector that joins strips of image rows to the view of a whole image.

    To save memory, a pipeline runs some steps on one strip of rows after another. Steps
    that run on strips change only cost volumes and disparity maps.

    Parameters
    ----------
    before : View
        View of the whole image before the first strip is processed.
    """

    def __init__(self, before: View):
        self._before = before
        self._volumes = before.volumes
        self._disparity_map = before.disparity_map
        self._labelings: list[Labeling] = []
        self._whole_view: View | None = None

        self._arrays_before = arrays_by_path((before.volumes, before.disparity_map))
        """Arrays of the whole image before the first strip is processed."""
        self._arrays = dict(self._arrays_before)
        """Arrays of the whole image, into which the rows of each strip are copied."""

    def add(self, strip: View, start: int) -> None:
        """Copy the arrays of a strip into the arrays of the whole image.

        Parameters
        ----------
        strip : View
            View of the strip after all steps have run on the strip.
        start : int
            First row of the strip in the whole image.
        """
        if strip.shape == self._before.shape:
            self._whole_view = strip
            return

        def join(path: str, rows: NDArray) -> NDArray:
            if is_table(path):
                return rows
            self._arrays[path] = self._joined(path, rows, start)
            return self._arrays[path]

        parts = map_arrays((strip.volumes, strip.disparity_map), join)
        self._volumes, self._disparity_map = parts
        if strip.labeling is not None:
            self._labelings.append(strip.labeling)

    def view(self) -> View:
        """Return the view of the whole image, after all strips were added."""
        if self._whole_view is not None:
            return self._whole_view
        whole_view = replace(self._before, volumes=self._volumes, disparity_map=self._disparity_map)
        labeling = whole_view.labeling
        # Only an optimizer creates a labeling. A labeling from an earlier optimizer is
        # not changed by the steps that run on strips.
        if labeling is None or self._before.labeling is not None:
            return whole_view
        labeling = _with_figures_of_strips(labeling, self._labelings)
        disparity_map = replace(whole_view.require_map(), labeling=labeling)
        return replace(whole_view, disparity_map=disparity_map)

    def _joined(self, path: str, rows: NDArray, start: int) -> NDArray:
        """Copy rows of a strip into the corresponding array of the whole image."""
        whole = self._arrays.get(path)
        place = slice(start, start + len(rows))
        if whole is not None and _have_same_memory(rows, whole[place]):
            # The rows of the strip are already part of the whole array.
            return whole
        before = self._arrays_before.get(path)
        if whole is None or whole is before:
            # The rows are copied into a new array, because other views may use the old
            # array.
            whole = np.empty((self._before.shape[0], *rows.shape[1:]), rows.dtype)
            if before is not None:
                whole[:start] = before[:start]
        whole[place] = rows
        return whole


def _have_same_memory(first: NDArray, second: NDArray) -> bool:
    """Return whether two arrays have the same memory address, shape and type."""
    return bool(first.__array_interface__ == second.__array_interface__)


def _with_figures_of_strips(labeling: Labeling, strips: list[Labeling]) -> Labeling:
    """Set the objective of a whole image to the sum of the objectives of its strips.

    If a strip has no objective, the whole image has no objective either. The trace and
    the lower bound are removed, because the values of a strip are not valid for the
    whole image.
    """
    objectives = [strip.objective for strip in strips if strip.objective is not None]
    has_objective = len(objectives) == len(strips)
    return replace(
        labeling,
        objective=math.fsum(objectives) if has_objective else None,
        trace=(),
        lower_bound=None,
    )
