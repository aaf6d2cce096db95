"""The steps of a pipeline: what each does to the state of a view.

A state holds data by the names that stages use. ``protected`` lists arrays that others still need; maps of confidence stand under
``confidence.NAME``. A walk holds the states of both views; that of the match image's is made from the other when a step first needs it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stereo_framework.call_reports import CallReport, collecting_reports
from stereo_framework.engine.costs import CostSum
from stereo_framework.engine.links import BOTH, MATCH, REFERENCE, RESTORE, VOLUMES, Link
from stereo_framework.engine.returned import check_direction, check_returned
from stereo_framework.kernels.compiling import working_time
from stereo_framework.per_image import keeping
from stereo_framework.scene import Image, Scene, Search, read_only
from stereo_framework.stage import Bound
from stereo_framework.view import View, Views
from stereo_framework.volume import CostVolume, Domain, Energy, Held, Labeling, Status, fill_labels, restore_outside_inplace

State = dict[str, Any]
"""Data of a view by name; every array in it covers the same rows."""

CONFIDENCE = "confidence."
_CLOSED = {np.dtype(np.float32): 1e6, np.dtype(np.uint16): 65535}
"""What closed cells hold when the optimizer sees them."""


@dataclass(frozen=True, eq=False)
class Step:
    """A link with the function that runs it, and the rows that it needs around each row.

    Parameters
    ----------
    link : Link
    run : callable
        Changes the state of the link's view or, where it works on both views or is not local, the list of both states.
    halo : int or None
        Rows above and below that a row needs; None: the step sees the whole.
    converts : bool
        It may meet integer costs and takes none, so that a converted volume stands beside them.
    """

    link: Link
    run: Callable[[Any], None]
    halo: int | None
    converts: bool = False

    @property
    def view(self) -> int:
        """The view that it works on."""
        return self.link.view

    @property
    def bound(self) -> Bound | None:
        """The stage that it runs, if it is just one."""
        return self.link.bound

    @property
    def sees_views(self) -> bool:
        """Whether it gets the states of both views, not just that of its own."""
        return "other" in self.link.data or self.link.slot in ("preprocessing", "matcher", "alternatives", "scheme")


@dataclass
class Clock:
    """Times steps and tells which one runs.

    Parameters
    ----------
    seconds : dict of Step to float
        Wall-clock time so far, without that in which kernels were compiled or loaded.
    notify : callable, optional
        Called with a step before it runs, for each slab again; what it raises ends the chain.
    artefacts : dict
        What stages keep of single images as long as the walk lasts, see `per_image`.
    reports : dict of Step to CallReport
        Of the steps that had their work done elsewhere; their seconds stand there.
    """

    seconds: dict[Step, float] = field(default_factory=dict)
    notify: Callable[[Step], None] | None = None
    artefacts: dict[Hashable, Any] = field(default_factory=dict)
    reports: dict[Step, CallReport] = field(default_factory=dict)

    def __call__(self, step: Step, state: Any) -> None:
        """Run a step."""
        if self.notify:
            self.notify(step)
        start = working_time()
        try:
            with keeping(self.artefacts), collecting_reports() as reports:
                step.run(state)
            if reports:
                self.reports[step] = reports[-1]
        except MemoryError as error:
            raise OutOfMemory(step, error) from error
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + working_time() - start


class OutOfMemory(Exception):
    """A step ran out of memory."""

    def __init__(self, step: Step, error: MemoryError):
        self.step = step
        super().__init__(str(error))


def make_step(link: Link, *, integer: bool) -> Step:
    """The step that runs a link; `integer` says whether the volume that it meets may hold integer costs."""
    bound = link.bound
    converts = integer and bool(link.names) and bound is not None and not bound.stage.integer
    if bound is not None and "other" in link.data:
        return Step(link, functools.partial(_look_across, bound, link.view), None, converts)
    if link.slot == "matcher":
        return Step(link, functools.partial(_match, link.work, link.view), None)
    if link.slot == "matching_cost":
        run = functools.partial(_cost, link.work, link.compact)
    else:
        run = functools.partial(_RUNNERS[link.slot], link.work)
    halo = None if link.slot in ("preprocessing", "smoothness") else 0 if link.work is None else link.work.halo
    return Step(link, run, halo, converts)


def exchanged(state: State) -> State:
    """The state of the match image's view before anything was matched, from that of the reference image's."""
    search: Search = state["search"]
    found = {
        "reference": state["match"],
        "match": state["reference"],
        "corrected": state["corrected"][::-1],
        "search": replace(search, direction=-search.direction),
        "domain": state["domain"] and state["domain"].exchanged(search),
        "scene": state["scene"] and _other_view(state["scene"], search),
        "alternatives": {name: view[::-1] for name, view in state["alternatives"].items()},
        "parts": state["parts"],
        "scale": state["scale"],
        "protected": (),
    }
    return found | open_cells(found["domain"], found["search"], found["reference"].shape[:2])


def open_cells(domain: Domain | None, search: Search, shape: tuple[int, int]) -> State:
    """What is known of a view's open cells: the pixels without any, and the levels that compact volumes hold."""
    held = None if domain is None else domain.held(search)
    # What closes nothing that is held leaves no pixel out.
    invalid = domain.invalid(search, shape) if domain is not None and (held is None or held.closes) else None
    return {"invalid": invalid, "held": held}


def _other_view(scene: Scene, search: Search) -> Scene:
    """The exchanged pair, by a name of its own: no map from outside is taken for one of it."""
    return replace(scene.pair(scene.match_index, scene.reference_index, search), name=f"{scene.name} (other view)")


def frozen(image: Image) -> Image:
    """An image as stages get it: in C order, as their kernels expect it, and read-only, so that what is kept of it stays true."""
    return read_only(np.ascontiguousarray(image))


def view_of(views: list[State | None], view: int) -> State:
    """The state of a view; that of the match image's is made when it is first asked for."""
    state = views[view]
    if state is None:
        first = views[REFERENCE]
        assert first is not None, "the reference image's view is there from the start"
        state = views[view] = exchanged(first)
    return state


def given(bound: Bound | CostSum, state: State) -> State:
    """The data of a state as a stage gets it: costs that it takes, alternatives of its view, confidence by name."""
    data = bound.data if isinstance(bound, CostSum) else frozenset(bound.stage.data)
    if isinstance(bound, Bound) and not bound.stage.integer:
        _convert(state, state.keys() & VOLUMES & (data | {"volume"} if "energy" in data else data))
    found = dict(state)
    if "alternatives" in data:
        found["alternatives"] = {name: views[0] for name, views in state["alternatives"].items()}
    if "confidence" in data:
        found["confidence"] = confidences(state)
    return found


def _convert(state: State, names: Collection[str]) -> None:
    """Give volumes of a state float32 costs. What is converted stays so: the next stage would convert it again."""
    same = state.get("raw") is state.get("volume")
    state.update({name: state[name].floats() for name in names})
    if same and VOLUMES.issubset(names):
        state["raw"] = state["volume"]


def confidences(state: State) -> dict[str, Any]:
    """The maps of confidence in a state."""
    return {name.removeprefix(CONFIDENCE): value for name, value in state.items() if name.startswith(CONFIDENCE)}


# --- what the steps do -------------------------------------------------------------------------------------------------


def _returned(bound: Bound | CostSum, state: State) -> Any:
    """What a stage returns when it is given the data of a state, checked. Parts of a sum of costs are checked where they are added."""
    result = bound(given(bound, state))
    if isinstance(bound, Bound):
        check_returned(bound.stage, result, state)
    return result


def _corrected(state: State) -> State:
    """The state with the images as the stages that preprocess pairs have left them, which matching costs and matchers see."""
    reference, match = state["corrected"]
    return {**state, "reference": reference, "match": match}


def _preprocess(bound: Bound, views: list[State | None]) -> None:
    """Change both images, of which each view has its own turn to be the reference; see `exchanged`."""
    state = view_of(views, REFERENCE)
    if bound.stage.data[0] == "reference":
        state["corrected"] = tuple(map(frozen, _returned(bound, _corrected(state))))
        return
    changed: dict[int, Any] = {}
    for image in (state["reference"], state["match"], *state["corrected"]):
        if id(image) not in changed:
            changed[id(image)] = frozen(_returned(bound, {**state, "image": image}))
    state["corrected"] = tuple(changed[id(image)] for image in state["corrected"])
    state["reference"], state["match"] = changed[id(state["reference"])], changed[id(state["match"])]


def _smoothness(bound: Bound, state: State) -> None:
    state["smoothness"] = _returned(bound, state)


def _cost(bound: Bound | CostSum, compact: bool, state: State) -> None:
    if state["search"].direction < 0:
        for one in [part.bound for part in bound.parts] if isinstance(bound, CostSum) else [bound]:
            check_direction(one, state["reference"])
    held: Held | None = state["held"] if compact else None
    volume: CostVolume = _returned(bound, _corrected(state) | {"held": held})
    if state["domain"] is not None and (held is None or held.closes):
        state["domain"].close(volume, volume.outside)
    state["volume"] = state["raw"] = volume


def _aggregate(bound: Bound, state: State) -> None:
    state["volume"] = _returned(bound, state)
    # It was meant for this stage alone.
    state.pop("partial", None)


def _restore(_: None, state: State) -> None:
    """Reset the cells that aggregation has mixed with others: those out of view, and closed ones."""
    _reset(state, out_of_view=True)
    state["restored"] = True


def _closing(state: State) -> Domain | None:
    """The domain, unless it closes none of the cells that the volume holds."""
    domain: Domain | None = state["domain"]
    held: Held | None = state["volume"].held
    return domain if held is None or held.closes else None


def _reset(state: State, *, out_of_view: bool) -> None:
    volume, others = state["volume"], [*state["protected"], *([state["raw"].costs] if "raw" in state else [])]
    domain = _closing(state)
    if domain is None and not out_of_view:
        return
    if domain is not None and volume.costs.dtype == np.uint8:
        volume = replace(volume, costs=volume.costs.astype(np.uint16))
    elif any(np.may_share_memory(volume.costs, other) for other in others):
        volume = replace(volume, costs=volume.costs.copy())
    if out_of_view:
        restore_outside_inplace(volume)
    if domain is not None:
        domain.close(volume, _CLOSED[volume.costs.dtype])
        if state["invalid"] is not None:
            cells = state["invalid"] if volume.held is None else state["invalid"].reshape(-1).repeat(np.diff(volume.held.starts))
            volume.costs[cells] = 0
    state["volume"] = volume


def _optimize(bound: Bound, state: State) -> None:
    if state["domain"] is not None and not state.pop("restored", False):
        _reset(state, out_of_view=False)
    data = given(bound, state)
    volume: CostVolume = data["volume"]
    labeling: Labeling = bound({**data, "energy": Energy(volume, state.get("smoothness"))})
    check_returned(bound.stage, labeling, data)
    labels = labeling.labels
    domain = _closing(state)
    if domain is not None and (closed := domain.closed(labels, state["search"])).any():
        labels = np.where(closed, np.int16(-1), labels)
    filled = fill_labels(labels)
    state["data_costs"] = labeling.costs if filled is labeling.labels else volume.chosen(filled)
    state["labels"] = labels
    disparity = state["search"].disparity_of(labels)
    status = np.where(labels < 0, np.uint8(Status.OCCLUDED), np.uint8(Status.MATCHED))
    state["volume"] = labeling.volume or volume
    state["labelings"] = [replace(labeling, volume=None)]
    _take(state, disparity, status)


def _optimize_both(bound: Bound, states: Sequence[State], wanted: Sequence[State]) -> None:
    """Run an optimizer that works on both sides at once, which sees the images as those that preprocess pairs have left them."""
    for state in states:
        if state["domain"] is not None and not state.pop("restored", False):
            _reset(state, out_of_view=False)
    own, across = states
    # Nothing is known of the other side yet but its costs.
    shape = own["reference"].shape[:2]
    nothing = {"disparity": np.full(shape, np.nan, np.float32), "status": np.full(shape, Status.OCCLUDED, np.uint8)}
    data = given(bound, _corrected(own)) | {"other": _seen(across | nothing, bound)}
    data["energy"] = Energy(data["volume"], own.get("smoothness"))
    result: Views = bound(data)
    check_returned(bound.stage, result, data)
    for state, disparity in zip(wanted, result, strict=False):
        search: Search = state["search"]
        if (domain := _closing(state)) is not None:
            levels = np.clip(np.rint((disparity - search.minimum) / search.step), 0, search.levels - 1)
            labels = np.where(np.isnan(disparity), -1, levels).astype(np.int16)
            disparity = np.where(domain.closed(labels, search), np.float32(np.nan), disparity)
        _take(state, disparity, np.where(np.isnan(disparity), np.uint8(Status.OCCLUDED), np.uint8(Status.MATCHED)))


def _match(bound: Bound, view: int, views: list[State | None]) -> None:
    """Run a matcher for one view; what it said of the other is kept until that is asked for."""
    state = view_of(views, view)
    result = state.pop("matched", None)
    if result is None:
        result = _returned(bound, _corrected(state))
        if isinstance(result, Views):
            view_of(views, 1 - view)["matched"] = result.match
            result = result.reference
    disparity, status, confidence = (*result, None, None)[:3] if isinstance(result, tuple) else (result, None, None)
    if status is None:
        status = np.where(np.isnan(disparity), np.uint8(Status.OCCLUDED), np.uint8(Status.MATCHED))
    if confidence is not None:
        state[CONFIDENCE + "matcher"] = confidence
    _take(state, disparity, status)


def _take(state: State, disparity: Any, status: Any) -> None:
    """Make a map and its status those of a state. Pixels without an open cell stay without an estimate."""
    invalid = state["invalid"]
    if invalid is not None and invalid.any():
        disparity, status = disparity.copy(), status.copy()
        disparity[invalid], status[invalid] = np.nan, Status.INVALID
    state["disparity"], state["status"] = disparity, status


def _confidence(bound: Bound, state: State) -> None:
    state[CONFIDENCE + bound.stage.name] = _returned(bound, state)


def _refine(bound: Bound, state: State) -> None:
    before, result = state["disparity"], _returned(bound, state)
    if isinstance(result, tuple):
        _take(state, *result)
        return
    status = state["status"].copy()
    status[np.isnan(before) & ~np.isnan(result)] = Status.FILLED
    status[~np.isnan(before) & np.isnan(result)] = Status.MISMATCHED
    _take(state, result, status)


def _look_across(bound: Bound, view: int, views: list[State | None]) -> None:
    """Run a stage that names ``other`` for one view or both; each sees the other as it was before."""
    states = [view_of(views, i) for i in (REFERENCE, MATCH)]
    if bound.stage.slot == "optimization":
        _optimize_both(bound, states, states if view == BOTH else states[:1])
        return
    changed: dict[int, State] = {}
    for i in (REFERENCE, MATCH) if view == BOTH else (view,):
        # The states themselves change only when both views have had their turn.
        changed[i] = {**states[i], "other": _seen(states[1 - i], bound)}
        _RUNNERS[bound.stage.slot](bound, changed[i])
        del changed[i]["other"]
    for i, state in changed.items():
        states[i].update(state)


def _seen(state: State, bound: Bound) -> View:
    if not bound.stage.integer:
        _convert(state, bound.stage.other_needs)
    volumes = {name: state[name] for name in bound.stage.other_needs}
    return View(state["disparity"], state["status"], state["search"], confidences(state), volumes)


_RUNNERS: Mapping[str, Callable[..., None]] = {
    "preprocessing": _preprocess,
    "aggregation": _aggregate,
    RESTORE: _restore,
    "smoothness": _smoothness,
    "optimization": _optimize,
    "confidence": _confidence,
    "refinement": _refine,
}
