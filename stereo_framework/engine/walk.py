"""Walk: pipelines on one pair, by state(k, side) = step k of (state(k - 1, side), other = state(k - 1, other side)).

A state is a `View`. What several pipelines begin with is computed once, and so is what both sides or several stages ask for. A state is kept until it was taken
as often as it is needed; the last who takes it may write into its volume.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stereo_framework.core.brief import in_short
from stereo_framework.core.call_reports import collecting_reports, is_stopped
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.per_image import keeping
from stereo_framework.core.scene import Scene, Search, scale_doubt
from stereo_framework.core.view import View, Views, frozen
from stereo_framework.core.volume import Status, fill_labels
from stereo_framework.engine.checks import check_direction, check_returned
from stereo_framework.engine.match import PASSED_ON, Match, warnings
from stereo_framework.engine.results import TAKE, restored
from stereo_framework.engine.stage_errors import wrong_return
from stereo_framework.engine.step import EXCHANGE, Step
from stereo_framework.engine.strips import Strips, in_strips, strip_rows
from stereo_framework.engine.tasks import Task, planned
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.counting import counted

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
        self.pipelines, self.keep_volume = pipelines, keep_volume
        self.watch, self.solve, self.kept = watch, solve, {} if kept is None else kept
        self.solved: list[tuple[Pair, Match]] = []
        self.tasks, self.leaves = planned(pipelines, (0, 1) if both else (0,), keep_volume=keep_volume)
        try:
            pair = problem if isinstance(problem, Pair) else Pair.of(problem, search)
            self.tasks[0].state, self.scale = View.of(pair), scale_doubt(pair.reference)
        except Exception as error:
            self.tasks[0].state = error

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        for index, leaves in self.leaves:
            found: list[Any] = []
            for leaf in leaves:
                self.compute(leaf)
                found.append(self._match(index, leaf))
            failed = [one for one in found if isinstance(one, Exception)]
            yield index, failed[0] if failed else tuple(found) if len(found) > 1 else found[0]

    # --- states ---------------------------------------------------------------------------------------------------------

    def compute(self, task: Task) -> None:
        """Have a task make its state, or note what was raised in its place, so that all that begin so fail alike."""
        chain, one = [], task
        while one.state is None:
            chain.append(one)
            one = one.before
        while chain:
            group = in_strips(chain) or chain[-1:]
            del chain[-len(group) :]
            first, last = group[0], group[-1]
            for one in first.inputs[1:]:
                if not isinstance(first.before.state, Exception):
                    self.compute(one)
            failed = next((one.state for one in (first.before, first.other) if one and isinstance(one.state, Exception)), None)
            if failed:
                last.state = failed
                for one in first.inputs:
                    one.drop()
                continue
            try:
                # No name here holds a view while the next one is computed.
                last.state = self._run(group, *first.given())
            except Exception as error:
                last.state = error

    def _run(self, group: Sequence[Task], view: View, other: View | None) -> View:
        """Run local steps on one strip of rows after the other, so that the volumes between them never exist whole, or a single step on the whole."""
        if group[0].step is EXCHANGE:
            return view.exchanged()
        for task in group:
            if len(group) > 1 and task.step.stage.slot == "smoothness":  # needs the images alone
                with self._told(task):
                    view = self._ordinary(task, view, None)
        local = [task for task in group if len(group) == 1 or task.step.stage.slot != "smoothness"]
        halos, rows = [task.step.halo or 0 for task in local], view.shape[0]
        height = strip_rows([task.step for task in local], *view.shape, view.search.levels)
        whole = Strips(view)
        for number in counted(math.ceil(rows / height), "strip") if height < rows else range(1):
            start, stop = number * height, min((number + 1) * height, rows)
            top, bottom = max(0, start - sum(halos)), min(rows, stop + sum(halos))
            strip = view.rows(top, bottom)
            for i, task in enumerate(local):
                with self._told(task):
                    # Of the volumes only those stay that later steps read.
                    strip = _HOW.get(task.step.stage.slot, Walk._ordinary)(self, task, strip, other).keeping(task.needs)
                rest = sum(halos[i + 1 :])
                first, last = max(0, start - rest), min(rows, stop + rest)
                strip, top, bottom = strip.rows(first - top, last - top), first, last
            whole.add(strip, start)
        return whole.view

    @contextlib.contextmanager
    def _told(self, task: Task) -> Iterator[None]:
        """Note what running a step tells: that it begins, its time, what its stage reports."""
        if self.watch:
            self.watch(task.step)
        start = working_time()
        try:
            with keeping(self.kept), collecting_reports() as reports:
                yield
            task.report = reports[-1] if reports else task.report
        except MemoryError as error:
            raise StereoFrameworkError(f"{task.step.name}: out of memory ({error})") from error
        finally:
            task.seconds = (task.seconds or 0.0) + working_time() - start

    # --- what the steps do ----------------------------------------------------------------------------------------------

    def _ordinary(self, task: Task, view: View, other: View | None) -> View:
        """Call a stage with those data that it names."""
        step, stage = task.step, task.step.stage
        view = _ready(step, view, step.reads)
        data = _data(step, view)
        if other:
            other = _ready(step, other, step.other_reads)
            data["other"] = other.keeping(step.other_reads)
        if stage.slot == "matching_cost" and view.search.direction < 0:
            for part in step.inner or (step,):
                if (check_direction, part) not in self.kept:
                    check_direction(part, view.reference)
                    self.kept[check_direction, part] = None
        if stage.resume and task.shorter and view.partial:
            done = task.shorter.step.parameters[stage.resume]
            step = step.having(**{stage.resume: step.parameters[stage.resume] - done})
        result = step(data)
        if stage.slot in ("matcher", "optimization") and isinstance(result, Views):
            check_returned(step, result.match, other or view, data)
            if task.twin:
                # Nobody computes the other side any more: what that would take is taken here.
                if other:
                    there = other
                    for one in task.twin.inputs:
                        one.drop()
                else:
                    self.compute(task.twin.before)
                    there = task.twin.before.take()
                task.twin.state = TAKE[stage.slot](there, result.match, stage.name).keeping(task.twin.needs)
            result = result.reference
        elif stage.slot == "optimization" and other:
            raise wrong_return(stage, f"{in_short(result)}; expected Views of both disparity maps, since it names other")
        check_returned(step, result, view, data)
        return TAKE[stage.slot](view, result, stage.name)

    def _restore(self, task: Task, view: View, other: View | None) -> View:
        return restored(view, out_of_view=True)

    def _prepare(self, task: Task, view: View, other: View | None) -> View:
        """Change both images, of which each side has its own turn to be the reference."""
        if task.step.stage.data[0] == "reference":
            return self._ordinary(task, view, other)
        changed: dict[int, Any] = {}
        for image in (view.reference, view.match, *view.corrected):
            if id(image) not in changed:
                data = {**_data(task.step, view), "image": image}
                result = task.step(data)
                check_returned(task.step, result, view, data)
                changed[id(image)] = frozen(result)
        pair = replace(view.pair, reference=changed[id(view.reference)], match=changed[id(view.match)])
        return View.of(pair, tuple(changed[id(image)] for image in view.corrected), view.alternatives)

    def _alternatives(self, task: Task, view: View, other: View | None) -> View:
        """Match the pair, or both its sides, by other methods; what stays are maps, status and confidence."""
        both, pair = "both" in task.needs, view.pair
        about = pair.reference.ctypes.data, pair.match.ctypes.data, pair.shape, pair.search, id(pair.domain), both
        # An alternative of an alternative may be one already.
        missing = [method for _, method in task.step.inner if (method, about) not in self.kept]
        for index, found in Walk(missing, pair, both=both, kept=self.kept):
            if isinstance(found, Exception):
                raise found
            views = tuple(View(m.disparity, m.status, m.search, m.confidence) for m in (found if both else [found]))
            self.kept[missing[index], about] = pair, views
        return replace(view, alternatives={name: self.kept[method, about][1] for name, method in task.step.inner})

    def _scheme(self, task: Task, view: View, other: View | None) -> View:
        """Let a scheme make pairs and match them by the method under it."""
        step, [method] = task.step, task.step.inner
        solve = method
        # A scheme that cuts pairs up cuts the exchanged one in other places.
        if step.stage.largest is not None:
            solve = functools.partial(self.solve, method) if self.solve else method
        elif task.twin and same_from_both_sides(method):
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
        own, others = walked(method, pair, both=True)
        self.solved.append((pair, others))
        return own

    # --- matches --------------------------------------------------------------------------------------------------------

    def _match(self, index: int, leaf: Task) -> Match | Exception:
        view = leaf.take()
        if isinstance(view, Exception):
            return view
        ran = sorted((task for task in leaf.all() if task.seconds is not None), key=lambda task: task.depth)
        addresses = self.pipelines[index].addresses
        reports = [task.report for task in ran if task.report]
        seconds: dict[str, float] = {}
        for task in ran:
            # A stage that only warns has spent its own time.
            taken = task.report.seconds if task.report and not task.report.warning else task.seconds
            if taken is not None:
                seconds[addresses[task.depth]] = seconds.get(addresses[task.depth], 0.0) + taken
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
            objective=_objective(view, self.pipelines[index].plan),
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


_HOW = {
    "restore_outside": Walk._restore,
    "preprocessing": Walk._prepare,
    "alternatives": Walk._alternatives,
    "scheme": Walk._scheme,
}


def _ready(step: Step, view: View, reads: Collection[str]) -> View:
    """A view whose volumes are as a step wants them: an optimizer with what takes no part closed, others than of integers float32."""
    if step.stage.slot == "optimization" and not view.restored:
        view = restored(view, out_of_view=False)
    return view if step.stage.integer else view.floats(reads)


def _data(step: Step, view: View) -> dict[str, Any]:
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


def walked(method: Any, pair: Pair, **options: Any) -> Any:
    """What a `Walk` gives for a single pipeline; what it raised is raised."""
    [(_, found)] = Walk([method], pair, **options)
    if isinstance(found, Exception):
        raise found
    return found


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
