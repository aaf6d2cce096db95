"""The steps of a pipeline, and how a chain of them runs: local ones slab by slab, so that volumes between them never exist whole."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework._compiling import working_time
from stereo_framework.stage import Bound
from stereo_framework.volume import (
    CostVolume,
    Energy,
    Labeling,
    Smoothness,
    Status,
    fill_labels,
    restore_outside,
    restore_outside_inplace,
)

if TYPE_CHECKING:
    from stereo_framework.pipeline import Pipeline

SLAB_ROWS = 128
"""Most rows of a slab, without its halo."""

_SLAB_BYTES = 64 * 2**20
"""Size of a slab's volume above which slabs are halved, for less memory at the price of computing more halos."""

State = dict[str, Any]
"""Data by the names that stages use; every array in it covers the same rows. ``protected`` lists arrays that others still need."""

_VOLUMES = frozenset({"volume", "raw"})


@dataclass(frozen=True, eq=False)
class Step:
    """One link of the chain from the images to the last refinement.

    Parameters
    ----------
    slot : str
        Of its stage; ``restore_outside`` for the step that the pipeline inserts after the last aggregation.
    run : callable
        Replaces entries of a state.
    halo : int or None
        Rows above and below that a row needs; None: the step sees the whole.
    names : frozenset of str
        Volumes that must be there: ``volume``, ``raw``.
    bound : Bound or None
    """

    slot: str
    run: Callable[[State], None]
    halo: int | None
    names: frozenset[str]
    bound: Bound | None = None

    @property
    def touches_volume(self) -> bool:
        """Whether it reads or makes a volume."""
        return bool(self.names) or self.slot == "matching_cost"


@dataclass
class Clock:
    """Times steps and tells which one runs.

    Parameters
    ----------
    seconds : dict of Step to float
        Wall-clock time so far, without that in which kernels were compiled or loaded.
    notify : callable, optional
        Called with a step before it runs, for each slab again; what it raises ends the chain.
    """

    seconds: dict[Step, float] = field(default_factory=dict)
    notify: Callable[[Step], None] | None = None

    def __call__(self, step: Step, state: State) -> None:
        """Run a step."""
        if self.notify:
            self.notify(step)
        start = working_time()
        try:
            step.run(state)
        except MemoryError as error:
            raise OutOfMemory(step, error) from error
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + working_time() - start


class OutOfMemory(Exception):
    """A step ran out of memory."""

    def __init__(self, step: Step, error: MemoryError):
        self.step = step
        super().__init__(str(error))


# --- steps ------------------------------------------------------------------------------------------------------------


def make_step(bound: Bound, pipeline: Pipeline) -> Step:
    """The step that runs a stage, in `pipeline` or any that begins alike."""
    slot, data = bound.stage.slot, bound.stage.data
    run: Callable[[State], None] = functools.partial(_RUNNERS[slot], bound)
    halo = None if slot in ("preprocessing", "smoothness") else bound.halo
    if "other" in data:
        earlier = pipeline.refinement[: next(i for i, b in enumerate(pipeline.refinement) if b is bound)]
        run, halo = functools.partial(_with_other, run, replace(pipeline, refinement=earlier)), None
    names = _VOLUMES.intersection(data) | ({"volume"} if slot in ("aggregation", "optimization") else set())
    return Step(slot, run, halo, frozenset(names), bound)


def restore_step() -> Step:
    """The step after the last aggregation: cells out of view get their cost again."""
    return Step("restore_outside", _restore, 0, frozenset({"volume"}))


def _preprocess(bound: Bound, state: State) -> None:
    state.update({which: bound({**state, "image": state[which]}) for which in ("reference", "match")})


def _smoothness(bound: Bound, state: State) -> None:
    state["smoothness"] = bound(state)


def _with_other(run: Callable[[State], None], pipeline: Pipeline, state: State) -> None:
    scene = state["scene"]
    exchanged = scene.pair(scene.match_index, scene.reference_index, state["search"])
    state["other"] = pipeline(exchanged, keep_volume=True)
    run(state)
    del state["other"]


def _cost(bound: Bound, state: State) -> None:
    state["volume"] = state["raw"] = bound(state)


def _aggregate(bound: Bound, state: State) -> None:
    state["volume"] = bound(state)
    # It was meant for this stage alone.
    state.pop("partial", None)


def _restore(state: State) -> None:
    costs = state["volume"].costs
    others = [*state["protected"], *([state["raw"].costs] if "raw" in state else [])]
    if any(np.may_share_memory(costs, other) for other in others):
        state["volume"] = restore_outside(state["volume"])
    else:
        restore_outside_inplace(state["volume"])


def _optimize(bound: Bound, state: State) -> None:
    volume: CostVolume = state["volume"]
    labeling: Labeling = bound({**state, "energy": Energy(volume, state.get("smoothness"))})
    labels = labeling.labels
    state["labels"] = labels
    filled = fill_labels(labels)
    state["data_costs"] = (
        labeling.costs
        if filled is labels
        else np.take_along_axis(volume.costs, filled[..., None].astype(np.intp), axis=2)[..., 0]
    )
    unassigned = labels < 0
    state["disparity"] = state["search"].disparities[np.maximum(labels, 0)]
    state["disparity"][unassigned] = np.nan
    state["status"] = np.where(unassigned, Status.OCCLUDED, Status.MATCHED).astype(np.uint8)
    state["volume"] = labeling.volume or volume
    state["labelings"] = [replace(labeling, volume=None)]


def _refine(bound: Bound, state: State) -> None:
    before, result = state["disparity"], bound(state)
    if isinstance(result, tuple):
        state["disparity"], state["status"] = result
        return
    status = state["status"].copy()
    status[np.isnan(before) & ~np.isnan(result)] = Status.FILLED
    status[~np.isnan(before) & np.isnan(result)] = Status.MISMATCHED
    state["disparity"], state["status"] = result, status


_RUNNERS: Mapping[str, Callable[[Bound, State], None]] = {
    "preprocessing": _preprocess,
    "matching_cost": _cost,
    "aggregation": _aggregate,
    "smoothness": _smoothness,
    "optimization": _optimize,
    "refinement": _refine,
}


# --- chains -----------------------------------------------------------------------------------------------------------


def groups(steps: Sequence[Step], keep: Collection[str]) -> list[tuple[list[Step], bool, list[frozenset[str]]]]:
    """How a chain runs: its steps in order of running, by group.

    Parameters
    ----------
    steps : sequence of Step
    keep : collection of str
        Volumes that are needed after the chain.

    Returns
    -------
    list of (steps, in slabs, volumes that are needed after each of them)
        A step that sees the whole is a group of its own; local ones that do not touch volumes gain nothing from slabs.
    """
    # The smoothness needs the images alone; computed first, it does not come between local steps.
    steps = sorted(steps, key=lambda step: ("preprocessing", "smoothness").index(step.slot) if _images_only(step) else 2)
    outlive = needed_after(steps, keep)
    found, i = [], 0
    while i < len(steps):
        local = next((j for j in range(i, len(steps)) if steps[j].halo is None), len(steps))
        together = max((j + 1 for j in range(i, local) if steps[j].touches_volume), default=i)
        stop = max(together, i + 1)
        found.append((list(steps[i:stop]), together > i, outlive[i:stop]))
        i = stop
    return found


def _images_only(step: Step) -> bool:
    return step.slot in ("preprocessing", "smoothness")


def needed_after(steps: Sequence[Step], keep: Collection[str]) -> list[frozenset[str]]:
    """For each step, the volumes that later ones or those after the chain need."""
    found, needed = [], frozenset(keep)
    for step in reversed(steps):
        found.append(needed)
        needed = needed_before(step, needed)
    return found[::-1]


def needed_before(step: Step, after: frozenset[str]) -> frozenset[str]:
    """The volumes that a step and what comes after it need."""
    return after - _VOLUMES if step.slot == "matching_cost" else after | step.names


def advance(steps: Sequence[Step], state: State, keep: Collection[str], clock: Clock) -> None:
    """Run a chain of steps on a state, in place. Of the volumes only those to `keep` are there afterwards."""
    for chain, in_slabs, outlive in groups(steps, keep):
        if in_slabs:
            _in_slabs(chain, outlive, state, clock)
        else:
            clock(chain[0], state)
        _drop(state, outlive[-1])


def _drop(state: State, needed: Collection[str]) -> None:
    for name in _VOLUMES.difference(needed):
        state.pop(name, None)


def slab_rows(columns: int, levels: int) -> int:
    """Rows of a slab, without its halo."""
    return max(1, SLAB_ROWS // 2) if 4 * SLAB_ROWS * columns * levels > _SLAB_BYTES else SLAB_ROWS


def _in_slabs(steps: Sequence[Step], outlive: Sequence[frozenset[str]], state: State, clock: Clock) -> None:
    """Run local steps slab by slab and put their results, whole, into `state`."""
    rows, columns = state["reference"].shape[:2]
    halos = [step.halo or 0 for step in steps]
    height = slab_rows(columns, state["search"].levels)
    done: State = {}
    for start in range(0, rows, height):
        stop = min(start + height, rows)
        top, bottom = max(0, start - sum(halos)), min(rows, stop + sum(halos))
        slab = _slice(state, top, bottom)
        for i, step in enumerate(steps):
            clock(step, slab)
            _drop(slab, outlive[i])
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
            return replace(value, costs=value.costs[top:bottom])
        if isinstance(value, Smoothness):
            return replace(value, right=value.right[top:bottom], down=value.down[top:bottom])
        return value

    return {name: cut(value) for name, value in state.items()}


def _collect(done: State, slab: State, before: State, start: int, rows: int) -> None:
    """Write a slab's results into whole arrays: new ones or, where nothing was changed so far, those from before."""
    for name in ("volume", "raw", "labels", "data_costs", "disparity", "status"):
        if name not in slab:
            continue
        part, old = _array(slab[name]), _array(before.get(name))
        place = slice(start, start + part.shape[0])
        untouched = old is not None and _is(part, old[place])
        whole = _array(done.get(name))
        if whole is None:
            whole = old if untouched else part if part.shape[0] == rows else np.empty((rows, *part.shape[1:]), part.dtype)
        elif whole is old and not untouched:
            whole = old.copy()
        if not _is(part, whole[place]):
            whole[place] = part
        done[name] = replace(slab[name], costs=whole) if isinstance(slab[name], CostVolume) else whole
    if "labelings" in slab and "labelings" not in before:
        done["labelings"] = done.get("labelings", []) + slab["labelings"]


def _is(a: NDArray, b: NDArray) -> bool:
    """Whether two arrays are the same view of the same memory."""
    return a.__array_interface__ == b.__array_interface__


def _array(value: Any) -> Any:
    return value.costs if isinstance(value, CostVolume) else value
