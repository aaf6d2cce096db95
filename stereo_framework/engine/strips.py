"""Views that are put together from the views of strips of rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.view import DisparityMap, View, arrays_by_path, is_table, map_arrays
from stereo_framework.core.volume import Labeling


class Strips:
    """A view that is put together from the views of its strips.

    The steps that run on strips change cost volumes and the disparity map only.

    Parameters
    ----------
    before : View
        The whole view before the steps.
    """

    def __init__(self, before: View):
        self._before = before
        self._volumes = before.volumes
        self._disparity_map = before.disparity_map
        self._labelings: list[Labeling] = []
        self._whole_view: View | None = None

        self._arrays_before = arrays_by_path((before.volumes, before.disparity_map))
        """The arrays before the steps."""
        self._arrays = dict(self._arrays_before)
        """The arrays after the steps, complete up to the last row of the last strip."""

    def add(self, strip: View, start: int) -> None:
        """Copy the view of a strip to its rows of the whole view.

        Parameters
        ----------
        strip : View
            The strip after the steps.
        start : int
            First row of the strip in the whole view.
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
        labeling = _labeling(strip.disparity_map)
        if labeling is not None:
            self._labelings.append(labeling)

    def view(self) -> View:
        """Return the whole view after all strips were added."""
        if self._whole_view is not None:
            return self._whole_view
        disparity_map = self._disparity_map
        labeling = _labeling(disparity_map)
        # Steps after the optimizer do not change its labeling.
        is_new_labeling = _labeling(self._before.disparity_map) is None
        if disparity_map is not None and labeling is not None and is_new_labeling:
            labeling = _with_figures_of_strips(labeling, self._labelings)
            disparity_map = replace(disparity_map, labeling=labeling)
        return replace(self._before, volumes=self._volumes, disparity_map=disparity_map)

    def _joined(self, path: str, rows: NDArray, start: int) -> NDArray:
        """Return the whole array at a path, which contains the rows of a strip."""
        whole = self._arrays.get(path)
        place = slice(start, start + len(rows))
        if whole is not None and _have_same_memory(rows, whole[place]):
            # The steps have not changed the array.
            return whole
        before = self._arrays_before.get(path)
        if whole is None or whole is before:
            # The array before the steps stays as it is, because other views contain it.
            whole = np.empty((self._before.shape[0], *rows.shape[1:]), rows.dtype)
            if before is not None:
                whole[:start] = before[:start]
        whole[place] = rows
        return whole


def _labeling(disparity_map: DisparityMap | None) -> Labeling | None:
    return None if disparity_map is None else disparity_map.labeling


def _have_same_memory(first: NDArray, second: NDArray) -> bool:
    """Return whether two arrays are the same view of the same memory."""
    return bool(first.__array_interface__ == second.__array_interface__)


def _with_figures_of_strips(labeling: Labeling, strips: list[Labeling]) -> Labeling:
    """Return a whole labeling with the figures that hold for the whole image.

    The objective of the image is the sum over its strips, if all of them have one. The
    trace and the lower bound of a strip say nothing about the image.
    """
    objectives = [strip.objective for strip in strips if strip.objective is not None]
    has_objective = len(objectives) == len(strips)
    return replace(
        labeling,
        objective=math.fsum(objectives) if has_objective else None,
        trace=(),
        lower_bound=None,
    )
