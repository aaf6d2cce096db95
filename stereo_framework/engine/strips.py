"""Strips: some rows at a time of what local steps do, so that volumes between them never exist whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.view import View, mapped
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
        self._old: dict[str, NDArray] = {}
        self._whole: dict[str, NDArray] = {}
        mapped("", before, self._old.setdefault)

    def add(self, strip: View, start: int) -> None:
        """Write what was made of a strip, from its first row on, into whole arrays; where nothing was changed, into those from before."""
        if strip.shape == self.before.shape:
            self.view = strip
            return
        known: dict[int, NDArray] = {}

        def joined(name: str, part: NDArray) -> NDArray:
            # The raw costs may be the present ones.
            if not name.endswith(".rho") and id(part) not in known:
                known[id(part)] = self._joined(name, part, slice(start, start + len(part)))
            return known.get(id(part), part)

        labelings = self.before.labelings or (*self.view.labelings, *strip.labelings)
        self.view = replace(mapped("", strip, joined), labelings=labelings)

    def _joined(self, name: str, part: NDArray, place: slice) -> NDArray:
        """The whole array of a name, with the part in its place."""
        old, whole = self._old.get(name), self._whole.get(name)
        if whole is None and old is not None and _is(part, old[place]):
            whole = old
        elif whole is None:
            whole = np.empty((self.before.shape[0], *part.shape[1:]), part.dtype)
        elif whole is old and not _is(part, whole[place]):
            whole = whole.copy()
        if not _is(part, whole[place]):
            whole[place] = part
        self._whole[name] = whole
        return whole


def _is(a: NDArray, b: NDArray) -> bool:
    """Whether two arrays are the same view of the same memory."""
    return a.__array_interface__ == b.__array_interface__
