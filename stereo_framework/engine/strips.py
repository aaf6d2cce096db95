"""Strips: some rows at a time of what local steps do, so that volumes between them never exist whole."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.view import View, mapped
from stereo_framework.engine.step import Step

STRIP_ROWS = 128
"""Most rows of a strip, without its halo."""

_STRIP_BYTES = 64 * 2**20
"""Size of a strip's volume above which strips are halved, for less memory at the price of computing more halos."""


def strip_rows(steps: Sequence[Step], rows: int, columns: int, levels: int) -> int:
    """Rows of a strip of these steps, without its halo; all where they see the whole."""
    # So does a single cost: no further step reads the costs while they are in the cache; made at once they are where they stay, and nothing is
    # computed twice.
    if len(steps) == 1 and (steps[0].halo is None or steps[0].stage.slot == "matching_cost" or not steps[0].touches_volume):
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
        mapped("", before, self._old.setdefault)
        self._whole = dict(self._old)

    def add(self, strip: View, start: int) -> None:
        """Write what was made of a strip, from its first row on, into whole arrays; where nothing was changed, into those from before."""
        if strip.shape == self.before.shape:
            self.view = strip
            return
        known: dict[int, NDArray] = {}

        def joined(name: str, part: NDArray) -> NDArray:
            # The raw costs may be the present ones.
            if not name.endswith(".rho") and id(part) not in known:
                known[id(part)] = self._whole[name] = self._joined(name, part, start)
            return known.get(id(part), part)

        labelings = self.before.labelings or (*self.view.labelings, *strip.labelings)
        self.view = replace(mapped("", strip, joined), labelings=labelings)

    def _joined(self, name: str, part: NDArray, start: int) -> NDArray:
        """The whole array of a name, with the part in its place."""
        whole, place = self._whole.get(name), slice(start, start + len(part))
        # The same view of the same memory.
        if whole is not None and part.__array_interface__ == whole[place].__array_interface__:
            return whole
        if whole is None or whole is self._old.get(name):
            before, whole = whole, np.empty((self.before.shape[0], *part.shape[1:]), part.dtype)
            if before is not None and start:
                whole[:start] = before[:start]
        whole[place] = part
        return whole
