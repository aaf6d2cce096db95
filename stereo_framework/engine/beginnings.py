"""Beginnings: the first steps of pipelines, how often the state after them is taken, and what of it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stereo_framework.engine.step import VOLUMES, Step


class Beginning:
    """The first steps of a pipeline; those that begin alike share it.

    Attributes
    ----------
    step : Step
        The last of them; the beginning before all steps has none.
    parent : Beginning
        All but the last; that before all steps is its own.
    shorter : Beginning or None
        The same with fewer iterations of the last step, which continues it.
    uses : list of int
        How often the state of each side is still taken.
    needs : list of set of str
        What later steps read of each side: volumes, and alternatives.
    last : int
        The position in the walk of the last pipeline that needs it.
    """

    __slots__ = ("last", "needs", "parent", "shorter", "step", "uses")

    def __init__(self, step: Step, parent: Beginning | None, shorter: Beginning | None = None):
        self.step, self.parent, self.shorter = step, parent or self, shorter
        self.uses, self.last = [0, 0], 0
        self.needs: list[set[str]] = [set(), set()]

    @property
    def of_pair(self) -> bool:
        """Whether the step works on the pair: the state of the other side is then this one exchanged."""
        return self.step is None or self.step.stage.slot in ("preprocessing", "alternatives")

    def path(self) -> list[Beginning]:
        """The beginnings of one step, of two, ..., up to this one."""
        found, one = [], self
        while one.step is not None:
            found.append(one)
            one = one.parent
        return found[::-1]

    def count_uses(self) -> None:
        """Tell the beginnings that this one is computed from what it takes of them."""
        step, parent = self.step, self.parent
        if self.of_pair and self.uses[1]:
            self.uses[0] += 1
            self.needs[0] |= self.needs[1]
        if parent is self:
            return
        parent.last = max(parent.last, self.last)
        if self.of_pair:  # alternatives of the other side are matched before
            parent.needs[1] |= self.needs[1]
        for side in (0,) if self.of_pair else (0, 1):
            if not self.uses[side]:
                continue
            parent.uses[side] += 1
            kept = self.needs[side] if step.stage.slot != "matching_cost" else self.needs[side] - VOLUMES
            parent.needs[side] |= step.reads | kept | ({"alternatives"} & step.data)
            if "other" in step.data:
                parent.uses[1 - side] += 1
                parent.needs[1 - side] |= step.other_reads
            if self.shorter:
                self.shorter.uses[side] += 1
                self.shorter.needs[side].add("volume")
                self.shorter.last = max(self.shorter.last, self.last)


def beginnings(
    pipelines: Sequence[Any], sides: Sequence[int], *, keep_volume: bool
) -> tuple[Beginning, list[tuple[int, Beginning]]]:
    """The beginning before all steps, and each pipeline's index and last beginning in running order.

    In that order stands together what begins alike, fewer iterations before more.

    Parameters
    ----------
    pipelines : sequence of Pipeline
    sides : sequence of int
        Those that are wanted: 0 the reference image's, 1 the match image's.
    keep_volume : bool
        Whether the volumes after the last step are wanted too.
    """
    root = Beginning(None, None)  # type: ignore[arg-type]
    numbers: dict[Step, int] = {}
    places = [[(numbers.setdefault(line, len(numbers)), count) for line, count in (s.line for s in p.plan)] for p in pipelines]
    found: dict[tuple[Beginning, int, int], Beginning] = {}
    shortest: dict[tuple[Beginning, int], Beginning] = {}
    leaves = []
    for position, index in enumerate(sorted(range(len(places)), key=places.__getitem__)):
        node = root
        for step, (line, count) in zip(pipelines[index].plan, places[index], strict=True):
            if (node, line, count) not in found:
                shorter = shortest.get((node, line)) if step.stage.resume else None
                found[node, line, count] = shortest[node, line] = Beginning(step, node, shorter)
            node = found[node, line, count]
        node.last = position
        for side in sides:
            node.uses[side] += 1
            node.needs[side] |= {"volume"} if keep_volume else set()
        leaves.append((index, node))
    for node in (*reversed(found.values()), root):
        node.count_uses()
    return root, leaves
