"""Walk: pipelines on one pair, by state(k, side) = step k of (state(k - 1, side), other = state(k - 1, other side)).

A state is a `View`. What several pipelines begin with is computed once, and so is what both sides or several stages ask for. A state is kept until it was taken
as often as it is needed; the last who takes it may write into its volume.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from stereo_framework.core.call_reports import CallReport, collecting_reports, is_stopped
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.per_image import keeping
from stereo_framework.core.scene import Scene, Search, scale_doubt
from stereo_framework.core.view import View, Views, frozen
from stereo_framework.core.volume import Status, fill_labels
from stereo_framework.engine.beginnings import Beginning, beginnings
from stereo_framework.engine.checks import check_direction, check_returned, spelled
from stereo_framework.engine.match import PASSED_ON, Match, warnings
from stereo_framework.engine.results import TAKE, restored
from stereo_framework.engine.stage_errors import wrong_return
from stereo_framework.engine.step import Step
from stereo_framework.engine.strips import Strips, in_strips, strip_rows
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.counting import counted


class Failure(NamedTuple):
    """What was raised in the place of a state, and where."""

    error: Exception
    traceback: Any


Solve = Callable[[Any, Pair], Match]
"""Matches a pair by a pipeline."""


class Walk:
    """Pipelines on a pair. Iterate for (index, `Match` or exception): in which order is the walk's choice.

    The seconds of a stage that several pipelines share are told by each of them, as if it had been alone.

    Parameters
    ----------
    pipelines : sequence of Pipeline
    problem : Scene or Pair
    search : Search, optional
        Instead of the scene's own.
    both : bool
        Match both sides: each outcome is a pair of matches, the reference image's first.
    keep_volume : bool
        Keep each optimizer's volume in its match.
    watch : callable, optional
        Called with each step before it runs, for each strip again; what it raises ends the walk unless it is an ordinary exception.
    solve : callable, optional
        How the parts of a scheme that cuts pairs up are matched; it may know some already.
    kept : dict, optional
        What stages keep of single images, see `per_image`, and maps of alternatives; those of a walk around this one.
    """

    def __init__(
        self,
        pipelines: Sequence[Any],
        problem: Scene | Pair,
        search: Search | None = None,
        *,
        both: bool = False,
        keep_volume: bool = False,
        watch: Callable[[Step], None] | None = None,
        solve: Solve | None = None,
        kept: dict[Hashable, Any] | None = None,
    ):
        self.pipelines, self.sides, self.keep_volume = pipelines, (0, 1) if both else (0,), keep_volume
        self.watch, self.solve, self.kept = watch, solve, {} if kept is None else kept
        self.seconds: dict[tuple[Beginning, int], float] = {}
        self.reports: dict[tuple[Beginning, int], CallReport] = {}
        self.solved: list[tuple[Pair, Match]] = []
        root, self.leaves = beginnings(pipelines, self.sides, keep_volume=keep_volume)
        self.states: dict[tuple[Beginning, int], View | Failure] = {}
        try:
            pair = problem if isinstance(problem, Pair) else Pair.of(problem, search)
            self.states[root, 0], self.scale = View.of(pair), scale_doubt(pair.reference)
        except Exception as error:
            self.states[root, 0] = Failure(error, error.__traceback__)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        for position, (index, leaf) in enumerate(self.leaves):
            found: Any = ()
            try:
                for side in self.sides:
                    self.compute(leaf, side)
                    found = (*found, self._match(index, leaf, side))
                found = found if len(found) > 1 else found[0]
            except Exception as error:
                found = error
            yield index, found
            # What failed leaves states that nobody takes any more.
            for key in [key for key in self.states if key[0].last <= position]:
                del self.states[key]

    # --- states ---------------------------------------------------------------------------------------------------------

    def compute(self, node: Beginning, side: int) -> None:
        """See to it that the state of a side after a beginning is there, or what was raised in its place: all that begin so fail alike."""
        chain = []
        while (node, side) not in self.states and not (side and node.of_pair):
            chain.append(node)
            node = node.parent
        if (node, side) not in self.states:
            self.compute(node, 0)
            self.states[node, side] = self.take(node, 0).exchanged()
        while chain:
            group = in_strips(chain, side)
            node = (group or chain)[-1]
            first = group[0] if group else node
            del chain[chain.index(node) :]
            try:
                if "other" in first.step.data:
                    self.compute(first.parent, 1 - side)
                if first.shorter:
                    # What fails with fewer iterations may do with more.
                    with contextlib.suppress(Exception):
                        self.compute(first.shorter, side)
                self.states[node, side] = (
                    self._strips(group, side, self._given(first, side))
                    if group
                    else self._advance(node, side, self._given(first, side))
                )
            except Exception as error:
                self.states[node, side] = Failure(error, error.__traceback__)
                raise

    def take(self, node: Beginning, side: int) -> View:
        """The state of a side after a beginning, which is there. The last who takes it may write into its volume."""
        view = self.states[node, side]
        if isinstance(view, Failure):
            raise view.error.with_traceback(view.traceback)
        node.uses[side] -= 1
        if node.uses[side]:
            return view if view.shared else replace(view, shared=True)
        del self.states[node, side]
        return view

    def _given(self, node: Beginning, side: int) -> View:
        """The state that a beginning is computed from, with what the shorter one made."""
        view = self.take(node.parent, side)
        if node.shorter and isinstance(self.states[node.shorter, side], View):
            view = replace(view, partial=self.take(node.shorter, side).volume)
            self.seconds[node, side] = self.seconds.get((node.shorter, side), 0.0)
        return view

    def _strips(self, group: Sequence[Beginning], side: int, view: View) -> View:
        """Run local steps on one strip of rows after the other, so that the volumes between them never exist whole."""
        for node in group:
            if node.step.stage.slot == "smoothness":  # needs the images alone
                view = self._advance(node, side, view)
        local = [node for node in group if node.step.stage.slot != "smoothness"]
        halos = [node.step.halo or 0 for node in local]
        rows = view.shape[0]
        height = strip_rows(*view.shape, view.search.levels, [node.step for node in local])
        whole = Strips(view)
        for number in counted(math.ceil(rows / height), "strip"):
            start, stop = number * height, min((number + 1) * height, rows)
            top, bottom = max(0, start - sum(halos)), min(rows, stop + sum(halos))
            strip = view.rows(top, bottom)
            for i, node in enumerate(local):
                strip = self._advance(node, side, strip)
                rest = sum(halos[i + 1 :])
                first, last = max(0, start - rest), min(rows, stop + rest)
                strip, top, bottom = strip.rows(first - top, last - top), first, last
            whole.add(strip, start)
        return whole.view

    def _advance(self, node: Beginning, side: int, view: View) -> View:
        """Run one step. Of the volumes only those stay that later steps read."""
        step = node.step
        if self.watch:
            self.watch(step)
        start = working_time()
        try:
            with keeping(self.kept), collecting_reports() as reports:
                view = _SPECIAL.get(step.stage.slot, Walk._ordinary)(self, node, side, view)
            if reports:
                self.reports[node, side] = reports[-1]
        except MemoryError as error:
            raise StereoFrameworkError(f"{step.name}: out of memory ({error})") from error
        finally:
            self.seconds[node, side] = self.seconds.get((node, side), 0.0) + working_time() - start
        return view.keeping(node.needs[side])

    # --- what the steps do ----------------------------------------------------------------------------------------------

    def _ordinary(self, node: Beginning, side: int, view: View) -> View:
        """Call a stage with those data that it names."""
        step, slot = node.step, node.step.stage.slot
        if slot == "optimization" and not view.restored:
            view = restored(view, out_of_view=False)
        if not step.stage.integer:
            view = view.floats(step.reads)
        if slot == "matching_cost" and view.search.direction < 0:
            for part in step.inner or (step,):
                if (check_direction, part) not in self.kept:
                    check_direction(part, view.reference)
                    self.kept[check_direction, part] = None
        data = self._data(step, view)
        other = None
        if "other" in step.data:
            other = self.take(node.parent, 1 - side)
            other = restored(other, out_of_view=False) if slot == "optimization" and not other.restored else other
            other = other if step.stage.integer else other.floats(step.other_reads)
            data["other"] = other.keeping(step.other_reads)
        if view.partial is not None:
            done = node.shorter.step.parameters[step.stage.resume]  # type: ignore[union-attr,index]
            step = Step(step.stage, {**step.parameters, step.stage.resume: step.parameters[step.stage.resume] - done})  # type: ignore[index,dict-item]
        result = step(data)
        if slot in ("matcher", "optimization") and isinstance(result, Views):
            check_returned(step, result.match, other or view, data)
            if node.uses[1 - side]:
                # Nobody computes the other side any more: what that would take is taken here.
                self.compute(node.parent, 1 - side)
                there = self.take(node.parent, 1 - side)
                if other:
                    self.take(node.parent, side)
                taken = TAKE[slot](other or there, result.match, step.stage.name)
                self.states[node, 1 - side] = taken.keeping(node.needs[1 - side])
            result = result.reference
        elif slot == "optimization" and other:
            raise wrong_return(step.stage, f"{spelled(result)}; expected Views of both disparity maps, since it names other")
        check_returned(step, result, view, data)
        return TAKE[slot](view, result, step.stage.name)

    def _data(self, step: Step, view: View) -> dict[str, Any]:
        """The data that a step names, but for the other view."""
        data = {name: getattr(view, name) for name in step.data - {"image", "other", "alternatives"}}
        # An optimizer of both sides looks at the images once more.
        if step.stage.slot in ("matching_cost", "matcher", "preprocessing") or (
            step.stage.slot == "optimization" and "other" in step.data
        ):
            data |= dict(zip(("reference", "match"), view.corrected, strict=True))
        if "alternatives" in step.data:
            data["alternatives"] = {name: views[0] for name, views in view.alternatives.items()}
        return data

    def _restore(self, node: Beginning, side: int, view: View) -> View:
        return restored(view, out_of_view=True)

    def _prepare(self, node: Beginning, side: int, view: View) -> View:
        """Change both images, of which each side has its own turn to be the reference."""
        step = node.step
        if step.stage.data[0] == "reference":
            return self._ordinary(node, side, view)
        changed: dict[int, Any] = {}
        for image in (view.reference, view.match, *view.corrected):
            if id(image) not in changed:
                data = {**self._data(step, view), "image": image}
                result = step(data)
                check_returned(step, result, view, data)
                changed[id(image)] = frozen(result)
        pair = replace(view.pair, reference=changed[id(view.reference)], match=changed[id(view.match)])
        return View.of(pair, tuple(changed[id(image)] for image in view.corrected), view.alternatives)

    def _alternatives(self, node: Beginning, side: int, view: View) -> View:
        """Match the pair, or both its sides, by other methods; what stays are maps, status and confidence."""
        both = "alternatives" in node.needs[1]
        pair = view.pair
        about = pair.reference.ctypes.data, pair.match.ctypes.data, pair.shape, pair.search, id(pair.domain), both
        # An alternative of an alternative may be one already.
        missing = [method for _, method in node.step.inner if (method, about) not in self.kept]
        for index, found in Walk(missing, pair, both=both, kept=self.kept):
            if isinstance(found, Exception):
                raise found
            views = tuple(View(m.disparity, m.status, m.search, m.confidence) for m in (found if both else [found]))
            self.kept[missing[index], about] = pair, views
        return replace(view, alternatives={name: self.kept[method, about][1] for name, method in node.step.inner})

    def _scheme(self, node: Beginning, side: int, view: View) -> View:
        """Let a scheme make pairs and match them by the method under it."""
        step, [method] = node.step, node.step.inner
        solve = method
        # A scheme that cuts pairs up cuts the exchanged one in other places.
        if step.stage.largest is not None:
            solve = functools.partial(self.solve, method) if self.solve else method
        elif len(self.sides) > 1 and same_from_both_sides(method):
            solve = functools.partial(self._solve_both, method)
        pair = replace(view.pair, scene=None)
        match = step({"solve": functools.partial(_unless_stopped, solve), "pair": pair})
        check_returned(step, match, view, {})
        return replace(view, matched=match)

    def _solve_both(self, method: Any, pair: Pair) -> Match:
        """Match both sides of a pair at once, and give the other's match when the exchanged pair is asked for."""
        if pair.domain is not None:
            return method(pair)
        for other, match in self.solved:
            images = (pair.reference, other.match), (pair.match, other.reference)
            if pair.exchanged().search == other.search and all(np.array_equal(*two) for two in images):
                return match
        own, others = _both(method, pair)
        self.solved.append((pair, others))
        return own

    # --- matches --------------------------------------------------------------------------------------------------------

    def _match(self, index: int, leaf: Beginning, side: int) -> Match:
        view, path = self.take(leaf, side), leaf.path()
        seconds: dict[str, float] = {}
        reports: list[CallReport] = []
        across = max((i for i, node in enumerate(path) if "other" in node.step.data), default=0)
        for i, (node, address) in enumerate(zip(path, self.pipelines[index].addresses, strict=True)):
            for one in (0, 1) if i < across or len(self.sides) > 1 else (0,):
                report = self.reports.get((node, one))
                reports += [report] if report else []
                # A stage that only warns has spent its own time.
                taken = report.seconds if report and not report.warning else self.seconds.get((node, one))
                if taken is not None:
                    seconds[address] = seconds.get(address, 0.0) + taken
        warned = [report.warning for report in reports if report.warning]
        if (match := view.matched) is not None:
            warned = [*(line for line in match.warnings if line.startswith(PASSED_ON)), *warned]
            doubts = warnings(match.labels, match.disparity, match.search, self.scale)
            return replace(match, seconds=seconds, warnings=(*doubts, *warned))
        energy = None
        if view.labels is not None:
            energy = float(view.data_costs.sum(dtype=np.float64))
            if view.smoothness is not None:
                energy += view.smoothness.of(fill_labels(view.labels))
        whole = view.labelings[0] if len(view.labelings) == 1 else None
        disparity = np.ascontiguousarray(view.disparity, np.float32)
        unsure = np.isnan(disparity) | (view.status == Status.FILLED)
        return Match(
            disparity=disparity,
            status=view.status,
            labels=view.labels,
            search=view.search,
            energy=energy,
            objective=_objective(view, [node.step for node in path]),
            lower_bound=whole.lower_bound if whole else None,
            trace=whole.trace if whole else (),
            seconds=seconds,
            warnings=(*warnings(view.labels, disparity, view.search, self.scale), *warned),
            volume=view.volume if self.keep_volume and view.volumes else None,
            # Nobody is sure of what is filled or unknown.
            confidence={name: np.where(unsure, value.min(), value) for name, value in view.confidence.items()},
            memory=max((one.memory for one in reports if one.memory is not None), default=None),
            messages="\n".join(filter(None, (one.messages for one in reports))),
        )


_SPECIAL: dict[str, Callable[[Walk, Beginning, int, View], View]] = {
    "restore_outside": Walk._restore,
    "preprocessing": Walk._prepare,
    "alternatives": Walk._alternatives,
    "scheme": Walk._scheme,
}


def _both(method: Any, pair: Pair) -> tuple[Match, Match]:
    """The matches of both sides of a pair."""
    [(_, found)] = Walk([method], pair, both=True)
    if isinstance(found, Exception):
        raise found
    both: tuple[Match, Match] = found
    return both


def _unless_stopped(solve: Callable[[Pair], Any], pair: Pair) -> Any:
    """The match of a pair that a scheme makes, which may be one of many."""
    if is_stopped():
        raise StereoFrameworkError("interrupted")
    return solve(pair)


def same_from_both_sides(method: Any) -> bool:
    """Whether the view of the match image that a method gives with the other is the one that it gives of the exchanged pair."""
    return not any(
        step.stage.slot in ("alternatives", "matcher", "scheme")
        or (step.stage.slot == "preprocessing" and step.stage.data[0] == "reference")
        for step in method.plan
    )


def _objective(view: View, steps: Sequence[Step]) -> float | None:
    """The optimizer's own objective; those of a local optimizer add up over strips, unless halos can make the strips overlap."""
    values = [labeling.objective for labeling in view.labelings if labeling.objective is not None]
    if not values or len(values) < len(view.labelings):
        return None
    steps = steps[next(i for i, step in enumerate(steps) if step.stage.slot == "optimization") :]
    local = steps[: next((i for i, step in enumerate(steps) if step.halo is None), len(steps))]
    reading = max((i + 1 for i, step in enumerate(local) if step.touches_volume), default=0)
    return None if any(step.halo for step in local[:reading]) else math.fsum(values)
