"""Strips: some rows at a time of what local steps do, so that volumes between them never exist whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.view import View
from stereo_framework.core.volume import CostVolume
from stereo_framework.engine.step import Step
from stereo_framework.engine.tasks import Task

STRIP_ROWS = 128
"""Most rows of a strip, without its halo."""

_STRIP_BYTES = 64 * 2**20
"""Size of a strip's volume above which strips are halved, for less memory at the price of computing more halos."""


def in_strips(chain: Sequence[Task]) -> list[Task]:
    """Which tasks run together, strip by strip: the next local ones, up to the last that touches a volume.

    What comes after that works on maps, which are small. Nothing but the last one's state may be needed elsewhere. The smoothness does not come
    between local steps: it is computed before them.

    Parameters
    ----------
    chain : sequence of Task
        Those that are to be computed, the next one last.
    """
    found: list[Task] = []
    length = 0
    for task in reversed(chain):
        if task.step.halo is None and task.step.stage.slot != "smoothness":
            break
        found.append(task)
        length = len(found) if task.step.touches_volume else length
        if task.uses > 1:
            break
    return found[:length]


def strip_rows(steps: Sequence[Step], rows: int, columns: int, levels: int) -> int:
    """Rows of a strip of these steps, without its halo."""
    first = steps[0]
    # A single step that is not local, or has no volume, sees the whole. So does a single cost: no further step reads the costs while they are in the
    # cache; made at once they are where they stay, and nothing is computed twice.
    if len(steps) == 1 and (first.halo is None or first.stage.slot == "matching_cost" or not first.touches_volume):
        return rows
    return max(1, STRIP_ROWS // 2) if 4 * STRIP_ROWS * columns * levels > _STRIP_BYTES else STRIP_ROWS


class Strips:
    """A view that is put together from those of its strips.

    Parameters
    ----------
    before : View
        That which the strips are made of.

    Attributes
    ----------
    view : View
        What is known so far.
    """

    def __init__(self, before: View):
        self.before, self.view = before, before
        self._old = _arrays(before)
        self._whole: dict[tuple[str, str], Any] = {}

    def add(self, strip: View, start: int) -> None:
        """Write what was made of a strip, from its first row on, into whole arrays; where nothing was changed, into those from before."""
        rows = slice(start, start + strip.shape[0]), self.before.shape[0]
        if strip.shape == self.before.shape:
            self.view = strip
            return
        joined: dict[int, CostVolume] = {}
        for name, volume in strip.volumes.items():
            # The raw costs may be the present ones.
            if id(volume.costs) not in joined:
                joined[id(volume.costs)] = replace(volume, costs=self._joined(("volume", name), volume.costs, *rows))
        parts = {name: part for name, part in _arrays(strip).items() if name[0] != "volume"}
        whole: dict[tuple[str, str], Any] = {name: self._joined(name, part, *rows) for name, part in parts.items()}
        self.view = replace(
            self.before,
            **{kind: array for (kind, _), array in whole.items() if kind != "confidence"},
            confidence={name: array for (kind, name), array in whole.items() if kind == "confidence"},
            volumes={name: joined[id(volume.costs)] for name, volume in strip.volumes.items()},
            labelings=self.before.labelings or (*self.view.labelings, *strip.labelings),
            shared=strip.shared,
            restored=strip.restored,
        )

    def _joined(self, name: tuple[str, str], part: NDArray, place: slice, length: int) -> Any:
        """The whole array of a name, with the part in its place."""
        whole: Any = self._whole.get(name)
        old: Any = self._old.get(name)
        untouched = old is not None and _is(part, old[place])
        if whole is None:
            whole = old if untouched else np.empty((length, *part.shape[1:]), part.dtype)
        elif whole is old and not untouched:
            whole = whole.copy()
        if not _is(part, whole[place]):
            whole[place] = part
        self._whole[name] = whole
        return whole


def _arrays(view: View) -> dict[tuple[str, str], NDArray]:
    """What strips may change, by kind and name."""
    found = {(name, ""): getattr(view, name) for name in ("labels", "data_costs", "disparity", "status")}
    found |= {("confidence", name): values for name, values in view.confidence.items()}
    found |= {("volume", name): volume.costs for name, volume in view.volumes.items()}
    return {name: array for name, array in found.items() if array is not None}


def _is(a: NDArray, b: NDArray) -> bool:
    """Whether two arrays are the same view of the same memory."""
    return a.__array_interface__ == b.__array_interface__
