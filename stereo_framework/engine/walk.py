"""Walk: pipelines on one pair, by state(k, side) = step k of (state(k - 1, side), other = state(k - 1, other side)).

A state is the `View` of a side after some steps. What several pipelines begin with is computed once, and so is what both sides or several stages ask for. A
state is kept until it was taken as often as it is needed; the last who takes it may write into its volume.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stereo_framework.core.brief import in_short
from stereo_framework.core.call_reports import CallReport, collecting_reports
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.per_image import keeping
from stereo_framework.core.scene import Scene, Search, scale_doubt
from stereo_framework.core.view import View, Views, frozen
from stereo_framework.engine.match import Match, match_of
from stereo_framework.engine.returns import check_direction, check_returned, restored, taken
from stereo_framework.engine.stage_errors import wrong_return
from stereo_framework.engine.step import VOLUMES, Step
from stereo_framework.engine.strips import Strips, strip_rows
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.counting import counted

State = tuple[tuple[Step, ...], int]
"""After which steps, and of which side: 0 the reference image's, 1 the match image's."""


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
        Called in place of `walked` with a method, a pair and ``watch``, for pairs that schemes make.
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
        solve: Callable[..., Match] | None = None,
        kept: dict[Hashable, Any] | None = None,
    ):
        self.pipelines, self.keep_volume = pipelines, keep_volume
        self.watch, self.solve, self.kept = watch, solve or walked, {} if kept is None else kept
        self.views: dict[State, View | Exception] = {}
        self.uses: Counter[State] = Counter()  # how often each is still taken
        # What later steps read of it: volumes, alternatives, and both sides of these.
        self.needs: dict[State, frozenset[str]] = {}
        self.seconds: Counter[State] = Counter()  # that its last step took
        self.reports: dict[State, CallReport] = {}  # of its last step's stage
        self.solved: list[tuple[Pair, Match]] = []
        self.order, self.shorter = _in_order([pipeline.plan for pipeline in pipelines])
        self.sides = (0, 1) if both else (0,)
        for index, side in itertools.product(self.order, self.sides):
            self.uses[pipelines[index].plan, side] += 1
            self._need((pipelines[index].plan, side), frozenset({"volume"} if keep_volume else ()))
        try:
            pair = problem if isinstance(problem, Pair) else Pair.of(problem, search)
            self.views[(), 0], self.scale = View.of(pair), scale_doubt(pair.reference)
        except Exception as error:
            self.views[(), 0] = error

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        for index in self.order:
            found = []
            for side in self.sides:
                self._compute((self.pipelines[index].plan, side))
                found.append(self._match(index, side))
            failed = [one for one in found if isinstance(one, Exception)]
            yield index, failed[0] if failed else tuple(found) if len(found) > 1 else found[0]

    # --- states ---------------------------------------------------------------------------------------------------------

    def _sources(self, state: State) -> dict[str, tuple[State, frozenset[str]]]:
        """The states that one is made of, each with what is read of it."""
        (steps, side), needs = state, self.needs[state]
        if side and (not steps or steps[-1].stage.slot in ("preprocessing", "alternatives")):  # both sides at once
            return {"exchanged": ((steps, 0), frozenset({"both"} if "alternatives" in needs else ()))}
        if not steps:
            return {}
        step, before = steps[-1], steps[:-1]
        found = {"own": ((before, side), step.reads | (needs - VOLUMES if step.stage.slot == "matching_cost" else needs))}
        if "other" in step.data:
            found["other"] = (before, 1 - side), step.other_reads
        if steps in self.shorter:
            found["shorter"] = (self.shorter[steps], side), frozenset({"volume"})
        return found

    def _need(self, state: State, needs: frozenset[str]) -> None:
        """Note what is read of a state, and that it takes those that it is made of."""
        new, known = state not in self.needs, self.needs.get(state, frozenset())
        if new or not needs <= known:
            self.needs[state] = known | needs
            for source, reads in self._sources(state).values():
                self.uses[source] += new
                self._need(source, reads)

    def _take(self, state: State) -> Any:
        """A state, or what was raised in its place. The last who takes it may write into its volume.

        Of one that is not there, None: somebody does without it. What nobody takes any more is not computed, and takes nothing.
        """
        self.uses[state] -= 1
        if self.uses[state]:
            view = self.views.get(state)
            return replace(view, shared=True) if isinstance(view, View) and not view.shared else view
        for source, _ in self._sources(state).values() if state not in self.views else ():
            self._take(source)
        return self.views.pop(state, None)

    def _compute(self, state: State) -> None:
        """Have a state there, or what was raised in its place, so that all that begin so fail alike."""
        todo = []
        while state not in self.views:
            todo.append(state)
            state, _ = next(iter(self._sources(state).values()))
        while todo:
            group = self._local(todo)
            del todo[-len(group) :]
            # No name here holds a view while the next one is computed.
            self.views[group[-1]] = self._made(group)

    def _local(self, todo: Sequence[State]) -> Sequence[State]:
        """Which of the states that are to be computed, the next one last, are made together, strip by strip; else the next one alone.

        These are the next local steps up to the last that touches a volume: what comes after that works on maps, which are small. Nothing but the
        last one's state may be needed elsewhere. The smoothness does not come between local steps: it is computed before them. No halo comes after an
        optimizer: its objective would be that of overlapping strips.
        """
        length, slots = 1, set[str]()
        for number, (steps, side) in enumerate(reversed(todo), 1):
            slot, halo = (steps[-1].stage.slot, steps[-1].halo) if steps else ("", None)
            if (halo is None and slot != "smoothness") or (halo and "optimization" in slots):
                break
            slots.add(slot)
            length = number if steps[-1].touches_volume else length
            if self.uses[steps, side] > 1:
                break
        return todo[: -length - 1 : -1]

    def _made(self, group: Sequence[State]) -> View | Exception:
        """What a group of states comes to, or what was raised in its place."""
        sources = {role: source for role, (source, _) in self._sources(group[0]).items()}
        own, *others = sources.values()
        for source in others if isinstance(self.views[own], View) else ():
            self._compute(source)
        given = {role: self._take(source) for role, source in sources.items()}
        # What fails with fewer iterations may do with more.
        failed = [one for role, one in given.items() if role != "shorter" and isinstance(one, Exception)]
        if failed:
            return failed[0]
        if "exchanged" in given:
            return given["exchanged"].exchanged()
        view, shorter = given["own"], given.pop("shorter", None)
        if isinstance(shorter, View):
            view = replace(view, volumes={**view.volumes, "partial": shorter.volume})
        del given["own"], shorter
        try:
            return self._run(group, view, given.get("other"))
        except Exception as error:
            return error

    def _run(self, group: Sequence[State], view: View, other: View | None) -> View:
        """Run local steps on one strip of rows after the other, so that the volumes between them never exist whole, or a single step on the whole."""
        local = [state for state in group if len(group) == 1 or state[0][-1].stage.slot != "smoothness"]
        for state in group:
            if state not in local:  # needs the images alone
                view = self._step(state, view, None)
        steps, rows = [done[-1] for done, _ in local], view.shape[0]
        halos, height = [step.halo or 0 for step in steps], strip_rows(steps, *view.shape, view.search.levels)
        whole = Strips(view)
        for number in counted(math.ceil(rows / height), "strip") if height < rows else range(1):
            start, stop = number * height, min((number + 1) * height, rows)
            top, bottom = max(0, start - sum(halos)), min(rows, stop + sum(halos))
            strip = view.rows(top, bottom)
            for i, state in enumerate(local):
                # Of the volumes only those stay that later steps read.
                strip = self._step(state, strip, other).keeping(self.needs[state])
                rest = sum(halos[i + 1 :])
                first, last = max(0, start - rest), min(rows, stop + rest)
                strip, top, bottom = strip.rows(first - top, last - top), first, last
            whole.add(strip, start)
        return whole.view

    # --- what the steps do ----------------------------------------------------------------------------------------------

    def _step(self, state: State, view: View, other: View | None) -> View:
        """Run a step, and note what that tells: that it begins, its time, what its stage reports."""
        step = state[0][-1]
        if self.watch:
            self.watch(step)
        start = working_time()
        try:
            with keeping(self.kept), collecting_reports() as reports:
                view = _HOW.get(step.stage.slot, Walk._ordinary)(self, state, view, other)
            if reports:
                self.reports[state] = reports[-1]
            return view
        except MemoryError as error:
            raise StereoFrameworkError(f"{step.name}: out of memory ({error})") from error
        finally:
            self.seconds[state] += working_time() - start  # type: ignore[assignment]

    def _ordinary(self, state: State, view: View, other: View | None) -> View:
        """Call a stage with those data that it names."""
        step, stage = state[0][-1], state[0][-1].stage
        view = _ready(step, view, step.reads)
        data = _data(step, view)
        if other:
            data["other"] = other = _ready(step, other, step.other_reads).keeping(step.other_reads)
        if stage.slot == "matching_cost" and view.search.direction < 0:
            for part in step.inner or (step,):
                check_direction(part, view.reference)
        if view.partial and stage.resume:
            done = self.shorter[state[0]][-1].parameters[stage.resume]
            step = step.having(**{stage.resume: step.parameters[stage.resume] - done})
        result = step(data)
        if isinstance(result, Views) and stage.slot in ("matcher", "optimization"):
            self._take_other(state, result.match, view, other)
            result = result.reference
        elif stage.slot == "optimization" and other:
            raise wrong_return(stage, f"{in_short(result)}; expected Views of both disparity maps, since it names other")
        return taken(stage, result, view)

    def _take_other(self, state: State, result: Any, view: View, other: View | None) -> None:
        """Keep what a stage has found for the other side, if anybody wants it. Nobody computes that any more: what it would take is taken here."""
        (*_, step), side = state
        twin = state[0], 1 - side
        for source, _ in self._sources(twin).values() if twin in self.needs else ():
            if other is None:
                self._compute(source)
            given = self._take(source)
            other = other or given
        found = taken(step.stage, result, other or view)
        if twin in self.needs:
            self.views[twin] = found.keeping(self.needs[twin])

    def _prepare(self, state: State, view: View, other: View | None) -> View:
        """Change both images, of which each side has its own turn to be the reference."""
        step = state[0][-1]
        if step.stage.data[0] == "reference":
            return self._ordinary(state, view, other)
        images = (view.reference, view.match, *view.corrected)
        changed = {id(image): image for image in images}
        for key, image in changed.items():
            result = step({**_data(step, view), "image": image})
            check_returned(step.stage, result, view)
            changed[key] = frozen(result)
        reference, match, *corrected = (changed[id(image)] for image in images)
        return View.of(replace(view.pair, reference=reference, match=match), tuple(corrected), view.alternatives)

    def _alternatives(self, state: State, view: View, other: View | None) -> View:
        """Match the pair, or both its sides, by other methods; what stays are maps, status and confidence."""
        both, pair, methods = "both" in self.needs[state], view.pair, dict(state[0][-1].inner)
        about = pair.reference.ctypes.data, pair.match.ctypes.data, pair.shape, pair.search, id(pair.mask), both
        # An alternative of an alternative may be one already.
        missing = [method for method in methods.values() if (method, about) not in self.kept]
        for index, found in Walk(missing, pair, both=both, watch=self.watch, kept=self.kept):
            if isinstance(found, Exception):
                raise found
            views = tuple(View(m.disparity, m.status, m.search, m.confidence) for m in (found if both else [found]))
            self.kept[missing[index], about] = pair, views
        return replace(view, alternatives={name: self.kept[method, about][1] for name, method in methods.items()})

    def _scheme(self, state: State, view: View, other: View | None) -> View:
        """Let a scheme make pairs and match them by the method under it."""
        (*_, step), side = state
        [method] = step.inner
        solve = functools.partial(self.solve, method, watch=self.watch)
        # A scheme that cuts pairs up cuts the exchanged one in other places.
        if step.stage.memory is None and (state[0], 1 - side) in self.needs and _same_from_both_sides(method):
            solve = functools.partial(self._solve_both, method)
        return taken(step.stage, step({"solve": solve, "pair": replace(view.pair, scene=None)}), view)

    def _solve_both(self, method: Any, pair: Pair) -> Match:
        """Match both sides of a pair at once, and give the other's match when the exchanged pair is asked for."""
        if pair.mask is not None:
            return walked(method, pair, watch=self.watch)
        for other, match in self.solved:
            images = (pair.reference, other.match), (pair.match, other.reference)
            if pair.exchanged().search == other.search and all(np.array_equal(*two) for two in images):
                return match
        own, others = walked(method, pair, both=True, watch=self.watch)
        self.solved.append((pair, others))
        return own

    def _match(self, index: int, side: int) -> Match | Exception:
        """What came of a pipeline."""
        pipeline = self.pipelines[index]
        ran = [(pipeline.plan, side)]
        view = self._take(ran[0])
        if isinstance(view, Exception):
            return view
        for state in ran:  # which grows meanwhile
            ran += [source for source, _ in self._sources(state).values() if source not in ran]
        ran = sorted((state for state in ran if state in self.seconds), key=lambda state: len(state[0]))
        reports = [self.reports[state] for state in ran if state in self.reports]
        seconds: dict[str, float] = {}
        addresses = pipeline.addresses
        for state in ran:
            report, taken = self.reports.get(state), self.seconds[state]
            # A stage that only warns has spent its own time.
            spent = report.seconds if report and not report.warning else taken
            if spent is not None:
                address = addresses[len(state[0]) - 1]
                seconds[address] = seconds.get(address, 0.0) + spent
        return match_of(view, seconds, reports, self.scale, keep_volume=self.keep_volume)


_HOW: dict[str, Callable[..., View]] = {
    "restore_outside": lambda walk, state, view, other: restored(view, out_of_view=True),
    "preprocessing": Walk._prepare,
    "alternatives": Walk._alternatives,
    "scheme": Walk._scheme,
}


def _in_order(plans: Sequence[tuple[Step, ...]]) -> tuple[list[int], dict[tuple[Step, ...], tuple[Step, ...]]]:
    """In which order plans run, what begins alike together; and what each continues that ends with more iterations of an earlier one."""
    numbers: dict[Step, int] = {}
    places = [[(numbers.setdefault(line, len(numbers)), count) for line, count in (s.line for s in plan)] for plan in plans]
    order = sorted(range(len(plans)), key=places.__getitem__)
    shorter: dict[tuple[Step, ...], tuple[Step, ...]] = {}
    before: dict[tuple[Any, ...], tuple[Step, ...]] = {}
    for plan in map(plans.__getitem__, order):
        for end in (end for end, step in enumerate(plan, 1) if step.stage.resume):
            about = *plan[: end - 1], plan[end - 1].line[0]
            if before.get(about, plan[:end]) != plan[:end]:
                shorter.setdefault(plan[:end], before[about])
            before[about] = plan[:end]
    return order, shorter


def _ready(step: Step, view: View, reads: Any) -> View:
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


def _same_from_both_sides(method: Any) -> bool:
    """Whether the view of the match image that a method gives with the other is the one that it gives of the exchanged pair."""
    return not any(
        step.stage.slot in ("alternatives", "matcher", "scheme")
        or (step.stage.slot == "preprocessing" and step.stage.data[0] == "reference")
        for step in method.plan
    )
