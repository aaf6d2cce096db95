"""Pipeline: stages in order, one scene in, one Match out.

The longest leading run of local stages is computed slab by slab, so that intermediate volumes never exist whole; when every
stage that reads a volume is local, no volume does.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework import aggregation as _aggregation  # noqa: F401  importing a family registers its stages
from stereo_framework import matching_cost as _matching_cost  # noqa: F401
from stereo_framework import optimization as _optimization  # noqa: F401
from stereo_framework import preprocessing as _preprocessing  # noqa: F401
from stereo_framework import refinement as _refinement  # noqa: F401
from stereo_framework import smoothness as _smoothness  # noqa: F401
from stereo_framework.errors import DataError, ParameterError, StereoFrameworkError
from stereo_framework.scene import Disparity, Scene, Search
from stereo_framework.stage import SLOTS, Bound
from stereo_framework.volume import (
    CostVolume,
    Energy,
    Labeling,
    Labels,
    Smoothness,
    Status,
    fill_labels,
    restore_outside,
    restore_outside_inplace,
)

SLAB_ROWS = 128
"""Most rows of a slab, without its halo."""

_SLAB_BYTES = 64 * 2**20
"""Size of a slab's volume above which slabs are halved, for less memory at the price of computing more halos."""

_PILE = 0.1
"""Share of the pixels at one end of the search range, beyond that of a uniform spread, from which the range is doubted.

On thirteen real and synthetic pairs a 9x9 window puts at most 4 % there (8 % without a window), with the wrong sign 14 % to 57 %.
"""


@dataclass(frozen=True, eq=False)
class Match:
    """What a pipeline made of a scene.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    status : ndarray, uint8, (rows, columns)
        Values of `Status`.
    labels : ndarray, int16, (rows, columns)
        The optimizer's levels, -1 = unassigned.
    search : Search
    energy : float
        Data costs plus smoothness of the labels, unassigned pixels filled from the background.
    objective, lower_bound : float or None
        The optimizer's own objective and a bound of the energy, where it reports them.
    trace : tuple of (float, float)
        Seconds and energy per iteration of the optimizer.
    seconds : dict of str to float
        Wall-clock time per stage.
    warnings : tuple of str
    volume : CostVolume or None
        The volume the optimizer decided on; only with ``keep_volume=True``.
    """

    disparity: Disparity
    status: NDArray[np.uint8]
    labels: Labels
    search: Search
    energy: float
    objective: float | None
    lower_bound: float | None
    trace: tuple[tuple[float, float], ...]
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    volume: CostVolume | None = None


@dataclass(frozen=True)
class Pipeline:
    """A stereo method: bound stages by slot.

    Parameters
    ----------
    matching_cost, optimization : Bound
        A registered stage function stands for itself with its defaults, here and below.
    preprocessing, aggregation, refinement : iterable of Bound
    smoothness : Bound or None

    Raises
    ------
    ParameterError
        A stage stands in a slot that is not its own.

    Examples
    --------
    >>> from stereo_framework import Bound, Pipeline, load_scene
    >>> from stereo_framework.aggregation import box
    >>> from stereo_framework.matching_cost import absolute_difference
    >>> from stereo_framework.optimization import winner_take_all
    >>> method = Pipeline(absolute_difference, winner_take_all, aggregation=[Bound(box, {"size": 9})])
    >>> method(load_scene("synthetic/planes")).disparity.shape
    (240, 320)
    """

    matching_cost: Bound
    optimization: Bound
    preprocessing: tuple[Bound, ...] = ()
    aggregation: tuple[Bound, ...] = ()
    smoothness: Bound | None = None
    refinement: tuple[Bound, ...] = ()

    def __post_init__(self) -> None:
        for name, slot in SLOTS.items():
            value = getattr(self, name)
            if slot.many:
                single = isinstance(value, Bound) or callable(value)
                checked: Any = tuple(_as_bound(v, name) for v in ([value] if single else value or ()))
            else:
                checked = None if value is None and slot.optional else _as_bound(value, name)
            object.__setattr__(self, name, checked)

    def __str__(self) -> str:
        return " > ".join(str(b) for _, b in self.stages())

    def stages(self) -> tuple[tuple[str, Bound], ...]:
        """(address, stage) in running order; addresses as in scripts, ``aggregation.box``, by index where a name repeats."""
        found: list[tuple[str, Bound]] = []
        for name, slot in SLOTS.items():
            value = getattr(self, name)
            if not slot.many:
                found += [(name, value)] if value is not None else []
                continue
            names = [b.stage.name for b in value]
            found += [(f"{name}.{b.stage.name if names.count(b.stage.name) == 1 else i}", b) for i, b in enumerate(value)]
        return tuple(found)

    def __call__(self, scene: Scene, search: Search | None = None, *, keep_volume: bool = False) -> Match:
        """Match the scene's frame pair.

        Parameters
        ----------
        scene : Scene
        search : Search, optional
            Instead of the scene's own; its direction is taken from the scene.
        keep_volume : bool
            Keep the optimizer's volume in the result. It then exists whole.

        Returns
        -------
        Match

        Raises
        ------
        DataError
            The scene has no search range, its images differ in size or are missing.
        StereoFrameworkError
            A stage refuses its input, or the volume would not fit into memory.
        """
        search = search or scene.search
        if search is None:
            raise DataError(f"scene {scene.name}: no search range; give one (search: {{minimum, maximum}} or --disparities A:B)")
        return _run(self, scene, replace(search, direction=scene.direction), keep_volume)


def _as_bound(value: Any, slot: str) -> Bound:
    bound = value if isinstance(value, Bound) else Bound(value)
    if bound.stage.slot != slot:
        raise ParameterError(f"{slot}: {bound.stage.name} is a stage of {bound.stage.slot}")
    return bound


# --- running ----------------------------------------------------------------------------------------------------------

State = dict[str, Any]
"""Data by the names that stages use; every array in it covers the same rows."""


@dataclass(frozen=True)
class _Step:
    """One link of the chain from the cost to the last refinement."""

    name: str
    run: Callable[[State], None]
    halo: int | None
    reads_volume: bool


@dataclass
class _Clock:
    seconds: dict[str, float] = field(default_factory=dict)

    def __call__(self, name: str, call: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        try:
            return call()
        except MemoryError as error:
            raise StereoFrameworkError(f"{name}: out of memory ({error})") from error
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def _run(pipeline: Pipeline, scene: Scene, search: Search, keep_volume: bool) -> Match:
    clock = _Clock()
    state: State = {"search": search, "reference": scene.reference, "match": scene.match}
    steps = _steps(pipeline, scene, search)
    for address, bound in pipeline.stages():
        if bound.stage.slot == "preprocessing":
            for which in ("reference", "match"):
                state[which] = clock(address, functools.partial(bound, {**state, "image": state[which]}))
        elif bound.stage.slot == "smoothness":
            state["smoothness"] = clock(address, functools.partial(bound, state))

    last = max(i for i, step in enumerate(steps) if step.reads_volume) + 1
    local = next((i for i, step in enumerate(steps) if step.halo is None), len(steps))
    rows = state["reference"].shape[0]
    if local >= last and not keep_volume:
        _in_slabs(steps[:last], state, clock, rows)
        rest = steps[last:]
    else:
        _check_memory(pipeline, state["reference"].shape[:2], search)
        optimizer = next(i for i, step in enumerate(steps) if step.name == "optimization")
        leading = min(local, optimizer)
        _in_slabs(steps[:leading], state, clock, rows)
        rest = steps[leading:]
    for step in rest:
        clock(step.name, functools.partial(step.run, state))
    return _finish(state, clock, keep_volume)


def _steps(pipeline: Pipeline, scene: Scene, search: Search) -> list[_Step]:
    stages = [(address, b) for address, b in pipeline.stages() if b.stage.slot not in ("preprocessing", "smoothness")]
    named = {name for _, b in stages for name in b.stage.data}
    steps = []
    for i, (address, bound) in enumerate(stages):
        slot = bound.stage.slot
        run = functools.partial(_RUNNERS[slot], bound, "raw" in named)
        if "other" in bound.stage.data:
            earlier = tuple(b for _, b in stages[:i] if b.stage.slot == "refinement")
            run = functools.partial(_with_other, run, replace(pipeline, refinement=earlier), scene, search)
        halo = None if "other" in bound.stage.data else bound.halo
        reads = slot != "refinement" or bool({"volume", "raw"} & set(bound.stage.data))
        steps.append(_Step(address, run, halo, reads))
        following = stages[i + 1][1].stage.slot if i + 1 < len(stages) else ""
        if slot == "aggregation" and following != "aggregation":
            steps.append(_Step("restore_outside", _restore, 0, True))
    return steps


def _with_other(run: Callable[[State], None], pipeline: Pipeline, scene: Scene, search: Search, state: State) -> None:
    exchanged = scene.pair(scene.match_index, scene.reference_index, search)
    state["other"] = pipeline(exchanged, keep_volume=True)
    run(state)
    del state["other"]


def _run_cost(bound: Bound, keep_raw: bool, state: State) -> None:
    state["volume"] = bound(state)
    if keep_raw:
        state["raw"] = state["volume"]


def _run_aggregation(bound: Bound, keep_raw: bool, state: State) -> None:
    state["volume"] = bound(state)


def _restore(state: State) -> None:
    raw = state.get("raw")
    if raw is not None and np.may_share_memory(raw.costs, state["volume"].costs):
        state["volume"] = restore_outside(state["volume"])
    else:
        restore_outside_inplace(state["volume"])


def _run_optimization(bound: Bound, keep_raw: bool, state: State) -> None:
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
    state["labelings"] = [labeling]


def _run_refinement(bound: Bound, keep_raw: bool, state: State) -> None:
    before, result = state["disparity"], bound(state)
    if isinstance(result, tuple):
        state["disparity"], state["status"] = result
        return
    status = state["status"].copy()
    status[np.isnan(before) & ~np.isnan(result)] = Status.FILLED
    status[~np.isnan(before) & np.isnan(result)] = Status.MISMATCHED
    state["disparity"], state["status"] = result, status


_RUNNERS: Mapping[str, Callable[[Bound, bool, State], None]] = {
    "matching_cost": _run_cost,
    "aggregation": _run_aggregation,
    "optimization": _run_optimization,
    "refinement": _run_refinement,
}


def _in_slabs(steps: Iterable[_Step], state: State, clock: _Clock, rows: int) -> None:
    """Run local steps slab by slab and put their results, whole, into `state`."""
    steps = list(steps)
    if not steps:
        return
    halos = [step.halo or 0 for step in steps]
    ends_in_labels = any(step.name == "optimization" for step in steps)
    height = SLAB_ROWS
    if 4 * height * state["reference"].shape[1] * state["search"].levels > _SLAB_BYTES:
        height = max(1, height // 2)
    for start in range(0, rows, height):
        stop = min(start + height, rows)
        top, bottom = max(0, start - sum(halos)), min(rows, stop + sum(halos))
        slab = _slice(state, top, bottom)
        for i, step in enumerate(steps):
            clock(step.name, functools.partial(step.run, slab))
            needed = sum(halos[i + 1 :])
            new_top, new_bottom = max(0, start - needed), min(rows, stop + needed)
            if (new_top, new_bottom) != (top, bottom):
                slab = _slice(slab, new_top - top, new_bottom - top)
                top, bottom = new_top, new_bottom
        if ends_in_labels:
            slab.pop("volume"), slab.pop("raw", None)
        _collect(state, slab, start, rows)


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


def _collect(state: State, slab: State, start: int, rows: int) -> None:
    """Write a slab's results into the whole arrays of `state`, made with the first slab."""
    for name in ("volume", "raw", "labels", "data_costs", "disparity", "status"):
        if name not in slab:
            continue
        part = slab[name].costs if isinstance(slab[name], CostVolume) else slab[name]
        if start == 0 and part.shape[0] == rows:
            state[name] = slab[name]
            continue
        if start == 0:
            whole = np.empty((rows, *part.shape[1:]), part.dtype)
            state[name] = replace(slab[name], costs=whole) if isinstance(slab[name], CostVolume) else whole
        whole = state[name].costs if isinstance(state[name], CostVolume) else state[name]
        whole[start : start + part.shape[0]] = part
    if "labelings" in slab:
        state["labelings"] = state.get("labelings", []) + slab["labelings"]


def _check_memory(pipeline: Pipeline, shape: tuple[int, ...], search: Search) -> None:
    """Refuse a volume that cannot fit. Iterative stages and optimizers hold about two further volumes of working memory."""
    free = _free_memory()
    need = 3 * 4 * shape[0] * shape[1] * search.levels
    if free is not None and need > free:
        raise StereoFrameworkError(
            f"{pipeline.optimization.stage.name} needs about {need / 2**30:.1f} GiB for {shape[1]}x{shape[0]} pixels and {search.levels} levels; "
            f"{free / 2**30:.1f} GiB are free; use fewer levels or smaller images"
        )


def _free_memory() -> int | None:
    try:
        with open("/proc/meminfo") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return None


def _finish(state: State, clock: _Clock, keep_volume: bool) -> Match:
    labels, smoothness = state["labels"], state.get("smoothness")
    labelings: list[Labeling] = state["labelings"]
    energy = float(state["data_costs"].sum(dtype=np.float64))
    if smoothness is not None:
        energy += smoothness.of(fill_labels(labels))
    whole = labelings[0] if len(labelings) == 1 else None
    return Match(
        disparity=np.ascontiguousarray(state["disparity"], np.float32),
        status=state["status"],
        labels=labels,
        search=state["search"],
        energy=energy,
        objective=_objective(labelings, labels.shape[0]),
        lower_bound=whole.lower_bound if whole else None,
        trace=whole.trace if whole else (),
        seconds=clock.seconds,
        warnings=tuple(_warnings(labels, state["disparity"], state["search"])),
        volume=state.get("volume") if keep_volume else None,
    )


def _objective(labelings: list[Labeling], rows: int) -> float | None:
    """The optimizer's own objective; those of local optimizers add up over slabs, unless halos make the slabs overlap."""
    values = [labeling.objective for labeling in labelings if labeling.objective is not None]
    once = sum(labeling.labels.shape[0] for labeling in labelings) == rows
    return math.fsum(values) if once and len(values) == len(labelings) else None


def _warnings(labels: Labels, disparity: Disparity, search: Search) -> list[str]:
    if np.isnan(disparity).all():
        return ["the result holds no estimate at all"]
    assigned = labels[labels >= 0]
    found = []
    for level, end in ((0, "lower"), (search.levels - 1, "upper")):
        share = np.count_nonzero(assigned == level) / max(1, assigned.size)
        if share > _PILE + 1 / search.levels:
            value = search.minimum + level * search.step
            found.append(
                f"{100 * share:.0f} % of the pixels chose the {end} end of the search range, {value:g}: is the range or its sign "
                "wrong, are the images exchanged, or are the costs too coarse to tell disparities apart?"
            )
    return found
