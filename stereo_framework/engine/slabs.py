"""How a chain of steps runs: local ones slab by slab, so that volumes between them never exist whole."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.engine.links import VOLUMES, Name
from stereo_framework.engine.steps import CONFIDENCE, Clock, State, Step, view_of
from stereo_framework.kernels.counting import counted
from stereo_framework.view import View
from stereo_framework.volume import CostVolume, Domain, Held, Smoothness

SLAB_ROWS = 128
"""Most rows of a slab, without its halo."""

_SLAB_BYTES = 64 * 2**20
"""Size of a slab's volume above which slabs are halved, for less memory at the price of computing more halos."""


class Group(NamedTuple):
    """Steps of a chain that run as one.

    Parameters
    ----------
    steps : list of Step
        All work on the same view.
    in_slabs : bool
        They run together on one slab of rows after the other. Otherwise it is a single step, which runs on the whole image.
    needed : list of frozenset of (int, str)
        For each of the steps the volumes that must still be there after it.
    """

    steps: list[Step]
    in_slabs: bool
    needed: list[frozenset[Name]]


def groups(steps: Sequence[Step], keep: Collection[Name]) -> list[Group]:
    """Divide a chain of steps into groups, in the order in which they run.

    Local steps that follow each other on one view form a group, so that the volumes between them exist for a few rows only. It ends with the last
    of them that touches a volume: what comes after it works on maps, which are small. A step that sees the whole image is a group of its own.

    Parameters
    ----------
    steps : sequence of Step
    keep : collection of (int, str)
        Volumes that are needed after the chain.
    """
    # The smoothness needs the images alone. Computed before the costs, it does not come between local steps.
    steps = sorted(steps, key=lambda step: _FIRST.index(step.link.slot) if step.link.slot in _FIRST else len(_FIRST))
    needed = needed_after(steps, keep)
    found, start = [], 0
    while start < len(steps):
        view = steps[start].view
        local = itertools.takewhile(lambda step, view=view: step.halo is not None and step.view == view, steps[start:])  # type: ignore[misc]
        length = max((i for i, step in enumerate(local, start=1) if step.link.touches_volume), default=0)
        stop = start + max(length, 1)
        found.append(Group(list(steps[start:stop]), length > 0, needed[start:stop]))
        start = stop
    return found


_FIRST = ("alternatives", "preprocessing", "smoothness")
"""Steps that need no volume, in the order in which they run before all others."""


def needed_after(steps: Sequence[Step], keep: Collection[Name]) -> list[frozenset[Name]]:
    """For each step, the volumes that later ones or those after the chain need."""
    found, needed = [], frozenset(keep)
    for step in reversed(steps):
        found.append(needed)
        needed = needed_before(step, needed)
    return found[::-1]


def needed_before(step: Step, after: frozenset[Name]) -> frozenset[Name]:
    """The volumes that a step and what comes after it need."""
    if step.link.slot == "matching_cost":
        return frozenset(name for name in after if name[0] != step.view)
    return after | step.link.names


def advance(steps: Sequence[Step], views: list[State | None], keep: Collection[Name], clock: Clock) -> None:
    """Run a chain of steps on the states of both views, in place. Of the volumes only those to `keep` are there afterwards."""
    for chain, in_slabs, outlive in groups(steps, keep):
        if in_slabs:
            _in_slabs(chain, outlive, view_of(views, chain[0].view), clock)
        else:
            clock(chain[0], views if chain[0].sees_views else view_of(views, chain[0].view))
        for view, state in enumerate(views):
            if state is not None:
                _drop(state, view, outlive[-1])


def _drop(state: State, view: int, needed: Collection[Name]) -> None:
    for name in VOLUMES:
        if (view, name) not in needed:
            state.pop(name, None)


def slab_rows(rows: int, columns: int, levels: int, steps: Sequence[Step]) -> int:
    """Rows of a slab of these steps, without its halo."""
    if len(steps) == 1 and steps[0].link.slot == "matching_cost":
        # No further step reads the costs while they are in the cache: made at once they are where they stay, and nothing is computed twice.
        return rows
    return max(1, SLAB_ROWS // 2) if 4 * SLAB_ROWS * columns * levels > _SLAB_BYTES else SLAB_ROWS


def _in_slabs(steps: Sequence[Step], outlive: Sequence[frozenset[Name]], state: State, clock: Clock) -> None:
    """Run local steps slab by slab and put their results, whole, into `state`."""
    rows, columns = state["reference"].shape[:2]
    halos = [step.halo or 0 for step in steps]
    height = slab_rows(rows, columns, state["search"].levels, steps)
    done: State = {}
    for number in counted(math.ceil(rows / height), "slab"):
        start = number * height
        stop = min(start + height, rows)
        top, bottom = max(0, start - sum(halos)), min(rows, stop + sum(halos))
        slab = _slice(state, top, bottom)
        for i, step in enumerate(steps):
            clock(step, slab)
            _drop(slab, step.view, outlive[i])
            needed = sum(halos[i + 1 :])
            new_top, new_bottom = max(0, start - needed), min(rows, stop + needed)
            if (new_top, new_bottom) != (top, bottom):
                slab = _slice(slab, new_top - top, new_bottom - top)
                top, bottom = new_top, new_bottom
        _collect(done, slab, state, start, rows)
    state.pop("partial", None)
    state.update(done)


def _slice(state: State, top: int, bottom: int) -> State:
    """The same state on fewer rows."""

    def cut(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value[top:bottom]
        if isinstance(value, CostVolume):
            if value.held is None:
                return replace(value, costs=value.costs[top:bottom])
            return replace(value, costs=value.costs[value.held.of_rows(top, bottom)], held=value.held.rows(top, bottom))
        if isinstance(value, Smoothness):
            return replace(value, right=value.right[top:bottom], down=value.down[top:bottom])
        if isinstance(value, View | Domain | Held):
            return value.rows(top, bottom)
        if isinstance(value, dict):
            return {name: cut(item) for name, item in value.items()}
        return tuple(map(cut, value)) if isinstance(value, tuple) else value

    return {name: value if name == "protected" else cut(value) for name, value in state.items()}


def _collect(done: State, slab: State, before: State, start: int, rows: int) -> None:
    """Write a slab's results into whole arrays: new ones or, where nothing was changed so far, those from before."""
    for name in (*_COLLECTED, *(name for name in slab if name.startswith(CONFIDENCE))):
        if name not in slab:
            continue
        part, old = _array(slab[name]), _array(before.get(name))
        place, length, held = slice(start, start + part.shape[0]), rows, None
        if isinstance(slab[name], CostVolume) and slab[name].held is not None:
            held = before["held"]
            place, length = held.of_rows(start, start + slab[name].shape[0]), len(held.firsts)
        untouched = old is not None and _is(part, old[place])
        whole = _array(done.get(name))
        if whole is None:
            whole = old if untouched else part if part.shape[0] == length else np.empty((length, *part.shape[1:]), part.dtype)
        elif whole is old and not untouched:
            whole = old.copy()
        if not _is(part, whole[place]):
            whole[place] = part
        if isinstance(slab[name], CostVolume):
            done[name] = replace(slab[name], costs=whole, held=held)
        else:
            done[name] = whole
    if "labelings" in slab and "labelings" not in before:
        done["labelings"] = done.get("labelings", []) + slab["labelings"]
    if "restored" in slab:
        done["restored"] = True


_COLLECTED = ("volume", "raw", "labels", "data_costs", "disparity", "status")


def _is(a: NDArray, b: NDArray) -> bool:
    """Whether two arrays are the same view of the same memory."""
    return a.__array_interface__ == b.__array_interface__


def _array(value: Any) -> Any:
    return value.costs if isinstance(value, CostVolume) else value
