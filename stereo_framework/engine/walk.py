"""Walk: pipelines on one pair, by state(k, side) = step k of (state(k - 1, side), other = state(k - 1, other side)).

A state is a side of the pair after some steps, and its `View` what is known there. Pipelines run one after the other, in an order in which those that begin
alike are neighbours. A view is kept while the pipeline that runs begins so, if another one begins so as well or a stage of the other side looks at it.
"""

import contextlib
import functools
import itertools
import math
import operator
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from stereo_framework.core.call_context import (
    CallReport,
    Stopped,
    collecting_reports,
    is_stopped,
    storing_results,
)
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import in_short
from stereo_framework.core.scene import Scene, SearchRange, intensity_scale_warning
from stereo_framework.core.step import Step
from stereo_framework.core.view import (
    VOLUMES,
    BothSides,
    DisparityMap,
    PreparedImages,
    View,
    kernel_array,
)
from stereo_framework.engine.engine_steps import sort_key
from stereo_framework.engine.estimates import estimate_of
from stereo_framework.engine.returns import (
    check_direction,
    check_returned,
    plain_report,
    view_after,
    wrong_return,
)
from stereo_framework.engine.strips import Strips
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.progress import announce_step, counted

Steps = tuple[Step, ...]

State = tuple[Steps, int]
"""After which steps, and of which side: 0 the reference image's, 1 the match image's."""

_BOTH = ("preprocessing", "auxiliary")
"""The slots whose steps are run for both sides at once."""

STRIP_ROWS = 128
"""Most rows of a strip, without its halo."""

_STRIP_BYTES = 64 * 2**20
"""Size of a strip's volume above which strips are halved, for less memory at the price of computing more halos."""


class Walk:
    """Pipelines on a pair. Iterate for (index, `Estimate` or exception): in which order is the walk's choice.

    The seconds of a stage that several pipelines share are told by each of them, as if it had been alone.

    Parameters
    ----------
    pipelines : sequence of Pipeline
    problem : Scene or Pair
    search : SearchRange, optional
        Instead of the scene's own.
    both : bool
        Match both sides: each outcome is a pair of estimates, the reference image's first.
    keep_volume : bool
        Keep each optimizer's volume in its estimate.
    solve : callable, optional
        Called in place of `walked` with a method and a pair, for pairs that schemes make.
    kept : dict, optional
        What stages keep of single images, see `per_image`, and maps of auxiliary methods; those of a walk around this one.
    """

    def __init__(
        self,
        pipelines: Sequence[Any],
        problem: Scene | Pair,
        search: SearchRange | None = None,
        *,
        both: bool = False,
        keep_volume: bool = False,
        solve: Callable[..., Estimate] | None = None,
        kept: dict[Hashable, Any] | None = None,
    ):
        self.pipelines, self.sides, self.keep_volume = (
            pipelines,
            (0, 1) if both else (0,),
            keep_volume,
        )
        self.solve, self.kept = solve or walked, {} if kept is None else kept
        self.views: dict[State, View | Exception] = {}
        self.seconds: dict[State, float] = {}  # that its last step took
        self.reports: dict[State, CallReport] = {}  # of its last step's stage
        self.solved: dict[Hashable, Estimate] = {}
        plans = [pipeline.plan for pipeline in pipelines]
        numbers: dict[Step, int] = {}
        self.order = sorted(
            range(len(plans)), key=[sort_key(plan, numbers) for plan in plans].__getitem__
        )
        self.branches, self.shorter = _branches([plans[index] for index in self.order])
        # What later steps read of each state: volumes, auxiliary views, and both sides of these.
        self.needs: defaultdict[State, frozenset[str]] = defaultdict(frozenset)
        for plan in plans:
            for state, reads in self._states(plan).items():
                self.needs[state] |= reads
        try:
            pair = problem if isinstance(problem, Pair) else Pair.of(problem, search)
            self.views[(), 0], self.scale = View.of(pair), intensity_scale_warning(pair.reference)
            self.scene = f"{pair.scene.name}: " if pair.scene else ""
        except Exception as error:
            self.views[(), 0] = error

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        for index, following in itertools.zip_longest(self.order, self.order[1:]):
            pipeline, found = self.pipelines[index], []
            for side in self.sides:
                view = self._view(pipeline.plan, side)
                found.append(self._match(pipeline, view) if isinstance(view, View) else view)
            # What the next one does not begin with has been of use.
            plan = () if following is None else self.pipelines[following].plan
            begins = {plan[:end] for end in range(len(plan) + 1)}
            begins |= {self.shorter[steps] for steps in begins & self.shorter.keys()}
            self.views = {state: view for state, view in self.views.items() if state[0] in begins}
            failed = [one for one in found if isinstance(one, Exception)]
            yield index, failed[0] if failed else tuple(found) if len(found) > 1 else found[0]

    def _states(self, plan: Steps) -> dict[State, frozenset[str]]:
        """The states that a plan runs through, the last ones first, each with what later steps read of it."""
        found: defaultdict[State, frozenset[str]] = defaultdict(frozenset)
        found |= {
            (plan, side): frozenset({"volume"} if self.keep_volume else ()) for side in self.sides
        }
        for end, side in itertools.product(range(len(plan), -1, -1), (1, 0)):
            state = plan[:end], side
            for source, reads in _sources(state, found[state]) if state in found else ():
                found[source] |= reads
        return found

    # --- states ---------------------------------------------------------------------------------------------------------

    def _view(self, steps: Steps, side: int) -> View | Exception:
        """What is known of a side after some steps, or what was raised on the way there, so that all that begin so fail alike."""
        end = max(
            (end for end in range(len(steps) + 1) if (steps[:end], side) in self.views),
            default=None,
        )
        if end is not None:
            view = self.views[steps[:end], side]
        else:
            end = sum(step.stage.slot in _BOTH for step in steps)
            first = self._view(steps[:end], 0)
            view = first.exchanged() if isinstance(first, View) else first
        while end < len(steps) and isinstance(view, View):
            start, end = end, self._together(steps, end)
            group = [(steps[:number], side) for number in range(start + 1, end + 1)]
            try:
                view = self._run(group, *self._given(group[0], view))
            except Exception as error:
                view = error
            if isinstance(view, Exception):
                self.views[group[-1]] = view
            elif steps[:end] in self.branches:
                volumes = replace(view.volumes, is_shared=True)
                self.views[group[-1]] = view = replace(view, volumes=volumes)
        return view

    def _together(self, steps: Steps, start: int) -> int:
        """The end of those steps that are run together, strip by strip; else of the one at the start alone.

        These are the next local steps up to the last that touches a volume: what comes after that works on maps, which are small. Nothing but the
        last one's view may be kept. No halo comes after an optimizer: its objective would be that of overlapping strips.
        """
        found, decided = start + 1, False
        for end, step in enumerate(steps[start:], start + 1):
            if step.halo is None or (step.halo and decided):
                break
            decided |= step.stage.slot == "optimization"
            found = end if step.touches_volume else found
            if steps[:end] in self.branches:
                break
        return found

    def _given(self, state: State, view: View) -> tuple[View, View | None]:
        """What a step is run on: its side's view, with what fewer iterations have come to, and, where its stage looks across, the other side's."""
        (*before, step), side = state
        shorter = (
            self.views.get((self.shorter[state[0]], side)) if state[0] in self.shorter else None
        )
        if isinstance(shorter, View):  # what fails with fewer iterations may do with more
            view = replace(view, volumes=replace(view.volumes, partial=shorter.volume))
            self.seconds[state] = self.seconds.get((self.shorter[state[0]], side), 0.0)
        other = self._view(tuple(before), 1 - side) if "other" in step.stage.data else None
        if isinstance(other, Exception):
            raise other
        return view, other

    def _run(self, group: Sequence[State], view: View, other: View | None) -> View:
        """Run local steps on one strip of rows after the other, so that the volumes between them never exist whole, or a single step on the whole."""
        steps, rows = [done[-1] for done, _ in group], view.shape[0]
        halos, height = (
            [step.halo or 0 for step in steps],
            strip_rows(steps, *view.shape, view.search.levels),
        )
        whole = Strips(view)
        for number in counted(math.ceil(rows / height), "strip") if height < rows else range(1):
            start, stop = number * height, min((number + 1) * height, rows)
            top, bottom = max(0, start - sum(halos)), min(rows, stop + sum(halos))
            strip = view.rows(top, bottom)
            for i, state in enumerate(group):
                # What does more than call a stage has a method of its own.
                run = getattr(self, f"_{steps[i].stage.slot}", self._ordinary)
                with self._noted(state):
                    strip = run(state, strip, other)
                # Of the volumes only those stay that later steps read.
                strip = strip.keeping(self.needs[state])
                rest = sum(halos[i + 1 :])
                first, last = max(0, start - rest), min(rows, stop + rest)
                strip, top, bottom = strip.rows(first - top, last - top), first, last
            whole.add(strip, start)
        return whole.view()

    @contextlib.contextmanager
    def _noted(self, state: State) -> Iterator[None]:
        """Tell that the last step of a state begins, unless nobody waits any more, and note its time and what its stage reports."""
        step = state[0][-1]
        if is_stopped():
            raise Stopped
        announce_step(f"{self.scene}{step.stage.name}")
        start = working_time()
        try:
            with storing_results(self.kept), collecting_reports() as reports:
                yield
            if reports:
                self.reports[state] = plain_report(step.stage, reports[-1])
        except MemoryError as error:
            raise StereoFrameworkError(f"{step.name}: out of memory ({error})") from error
        finally:
            self.seconds[state] = self.seconds.get(state, 0.0) + working_time() - start

    # --- what the steps do ----------------------------------------------------------------------------------------------

    def _ordinary(self, state: State, view: View, other: View | None) -> View:
        """Call a stage with those data that it names."""
        (*_, step), side = state
        stage = step.stage
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
        if isinstance(result, BothSides) and stage.slot in ("matcher", "optimization"):
            result, found = result
            other_state = state[0], 1 - side
            # Before a matcher nothing is known of the other side but its images.
            other_view = view_after(stage, found, other or view.exchanged())
            self.views[other_state] = other_view.keeping(self.needs.get(other_state, ()))
        elif stage.slot == "optimization" and other:
            raise wrong_return(
                stage,
                f"{in_short(result)}; expected BothSides of both disparity maps, since it names other",
            )
        return view_after(stage, result, view)

    def _preprocessing(self, state: State, view: View, other: View | None) -> View:
        """Change both images, of which each side has its own turn to be the reference."""
        step = state[0][-1]
        if step.stage.data[0] == "reference":
            return self._ordinary(state, view, other)
        images = (view.reference, view.match, *view.corrected)
        changed = {id(image): image for image in images}
        for key, image in changed.items():
            result = step({**_data(step, view), "image": image})
            check_returned(step.stage, result, view.reference.shape, view.search)
            changed[key] = kernel_array(result)
        reference, match, *corrected = (changed[id(image)] for image in images)
        prepared = PreparedImages(reference, match, corrected=(corrected[0], corrected[1]))
        view = replace(view, prepared=prepared)
        # The constructor of a pair refuses intensities that no stage can match.
        view.prepared_pair()
        return view

    def _restore_outside_cost(self, state: State, view: View, other: View | None) -> View:
        """Reset the cells out of view to their cost after the last aggregation."""
        return view.with_restored_cells(outside_image=True)

    def _auxiliary(self, state: State, view: View, other: View | None) -> View:
        """Match the pair, or both its sides, by the auxiliary methods; what stays are maps, status and confidence."""
        both, methods = "both" in self.needs[state], dict(state[0][-1].inner)
        pair = view.prepared_pair()
        about = (
            pair.reference.ctypes.data,
            pair.match.ctypes.data,
            pair.shape,
            pair.search,
            id(pair.mask),
            both,
        )
        # An auxiliary method of an auxiliary method may have been matched already.
        missing = [method for method in methods.values() if (method, about) not in self.kept]
        for index, found in Walk(missing, pair, both=both, kept=self.kept):
            if isinstance(found, Exception):
                raise found
            views = tuple(
                DisparityMap(m.disparity, m.status, m.search, m.confidence)
                for m in (found if both else [found])
            )
            self.kept[missing[index], about] = pair, views
        return replace(
            view,
            auxiliary={name: self.kept[method, about][1] for name, method in methods.items()},
        )

    def _scheme(self, state: State, view: View, other: View | None) -> View:
        """Let a scheme make pairs and match them by the method under it."""
        (*_, step), side = state
        [method] = step.inner
        solve = functools.partial(self.solve, method)
        # A scheme that cuts pairs up cuts the exchanged one in other places.
        if (
            step.stage.memory is None
            and (state[0], 1 - side) in self.needs
            and _same_from_both_sides(method)
        ):
            solve = functools.partial(self._solve_both, method)
        pair = replace(view.prepared_pair(), scene=None)
        return view_after(step.stage, step({"solve": solve, "pair": pair}), view)

    def _solve_both(self, method: Any, pair: Pair) -> Estimate:
        """Match both sides of a pair at once, and give the other's estimate when the exchanged pair is asked for."""
        if pair.mask is not None:
            return walked(method, pair)
        sides = pair, pair.exchanged()
        about, back = (
            (method, one.search, one.shape, one.reference.tobytes(), one.match.tobytes())
            for one in sides
        )
        if about not in self.solved:
            self.solved[about], self.solved[back] = walked(method, pair, both=True)
        return self.solved[about]

    def _match(self, pipeline: Any, view: View) -> Estimate:
        """What comes of a pipeline, of which this is the last view."""
        ran = [*reversed(self._states(pipeline.plan))]
        reports = [self.reports[state] for state in ran if state in self.reports]
        seconds: dict[str, float] = {}
        addresses = [address for address, _ in pipeline.addressed_plan()]
        for state in ran:
            report = self.reports.get(state)
            # A stage that only warns has spent its own time.
            spent = report.seconds if report and not report.warning else self.seconds.get(state)
            if spent is not None:
                address = addresses[len(state[0]) - 1]
                seconds[address] = seconds.get(address, 0.0) + spent
        return estimate_of(view, seconds, reports, self.scale)


def strip_rows(steps: Sequence[Step], rows: int, columns: int, levels: int) -> int:
    """Rows of a strip of these steps, without its halo; all where they see the whole."""
    # So does a single cost: no further step reads the costs while they are in the cache; made at once they are where they stay, and nothing is
    # computed twice.
    if len(steps) == 1 and (
        steps[0].halo is None
        or steps[0].stage.slot == "matching_cost"
        or not steps[0].touches_volume
    ):
        return rows
    return (
        max(1, STRIP_ROWS // 2) if 4 * STRIP_ROWS * columns * levels > _STRIP_BYTES else STRIP_ROWS
    )


def _sources(state: State, needs: frozenset[str]) -> Iterator[tuple[State, frozenset[str]]]:
    """The states that one is made of, each with what is read of it, if later steps read ``needs``."""
    steps, side = state
    if side and (not steps or steps[-1].stage.slot in _BOTH):
        yield (steps, 0), frozenset({"both"} if "auxiliary" in needs else ())
    elif steps:
        step, before = steps[-1], steps[:-1]
        yield (
            (before, side),
            step.reads | (needs - VOLUMES if step.stage.slot == "matching_cost" else needs),
        )
        if "other" in step.stage.data:
            yield (before, 1 - side), step.other_reads


def _branches(plans: Sequence[Steps]) -> tuple[set[Steps], dict[Steps, Steps]]:
    """After which steps of plans in order views are kept, and what is continued: for those that end with more iterations those with fewer.

    They are kept where neighbours part, before what looks across, where both sides part, and where more iterations follow.
    """
    kept = {
        plan[:end] for plan in plans for end, step in enumerate(plan) if "other" in step.stage.data
    }
    kept |= {plan[: sum(step.stage.slot in _BOTH for step in plan)] for plan in plans}
    shorter = {}
    for one, two in itertools.pairwise(plans):
        end = [*map(operator.eq, one, two), False].index(False)
        kept.add(one[:end])
        if one[end:] and two[end:] and one[end].line[0] == two[end].line[0]:
            shorter[two[: end + 1]] = one[: end + 1]
    return kept | set(shorter.values()), shorter


def _ready(step: Step, view: View, reads: Any) -> View:
    """A view whose volumes are as a step wants them: an optimizer with what takes no part closed, others than of integers float32."""
    if step.stage.slot == "optimization" and not view.volumes.is_restored:
        view = view.with_restored_cells(outside_image=False)
    return view if step.stage.integer else view.floats(reads)


def _data(step: Step, view: View) -> dict[str, Any]:
    """The data that a step names, but for the other view."""
    data = {
        name: getattr(view, name) for name in {*step.stage.data} - {"image", "other", "auxiliary"}
    }
    # An optimizer of both sides looks at the images once more.
    if step.stage.slot in ("matching_cost", "matcher", "preprocessing") or (
        step.stage.slot == "optimization" and "other" in step.stage.data
    ):
        data |= dict(zip(("reference", "match"), view.corrected, strict=True))
    if "auxiliary" in step.stage.data:
        data["auxiliary"] = {name: maps[0] for name, maps in view.auxiliary.items()}
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
        step.stage.slot in ("auxiliary", "matcher", "scheme")
        or (step.stage.slot == "preprocessing" and step.stage.data[0] == "reference")
        for step in method.plan
    )
