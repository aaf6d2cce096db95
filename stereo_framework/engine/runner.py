"""Run several pipelines on one image pair, and run their shared steps only once.

The runner computes the data of an image after step k by one equation::

    view(k, side) = step_k(view(k - 1, side), other=view(k - 1, other side))

The two sides are the reference image and the match image of the pair. A view contains
all data of one image after k steps, such as a cost volume. The view of the match image
is only computed if a step reads this view, or with the option ``both``. The runner
stores a view if a later pipeline begins with the same steps. The runner also stores a
view that a step for the other image reads. The module
`stereo_framework.engine.plans` defines the terms plan, beginning, state and checkpoint.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from stereo_framework.core.call_context import (
    CallReport,
    Stopped,
    collecting_reports,
    is_stopped,
    storing_results,
)
from stereo_framework.core.cost_of_pairs import CostOfPairs
from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.other_frames import changed_frames
from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import in_short
from stereo_framework.core.scene import Image, Scene, SearchRange, intensity_scale_warning
from stereo_framework.core.step import Step
from stereo_framework.core.view import (
    VOLUMES,
    BothSides,
    DisparityMap,
    PreparedImages,
    View,
    kernel_array,
)
from stereo_framework.core.volume import CostVolume
from stereo_framework.engine.direction_check import check_direction
from stereo_framework.engine.estimates import estimate_of
from stereo_framework.engine.planned_steps import (
    AuxiliaryMatching,
    CostSum,
    OutsideCostReset,
    SchemeCall,
)
from stereo_framework.engine.plans import (
    MATCH,
    REFERENCE,
    Beginning,
    State,
    shared_plans,
    steps_for_both_images,
)
from stereo_framework.engine.return_checks import check_returned, wrong_return
from stereo_framework.engine.returned_numbers import call_stage
from stereo_framework.engine.returns import view_after, view_with_raw_volume
from stereo_framework.engine.strips import Strips, strip_rows
from stereo_framework.kernels.compiling import processor_time, working_time
from stereo_framework.kernels.progress import announce_step, counted

if TYPE_CHECKING:
    from stereo_framework.engine.pipeline import Pipeline

Outcome = Estimate | tuple[Estimate, Estimate] | Exception
"""Result of a pipeline: one estimate, the estimates of both images, or an exception."""


class PipelineRunner:
    """A runner that matches one pair of images with several pipelines.

    Iteration over the runner yields the index and the outcome of each pipeline. The
    outcome is an `Estimate`, or the exception that the pipeline raised. The runner
    changes the order of the pipelines, so that pipelines with the same first steps run
    one after another.

    If several pipelines share a step, each estimate contains the full run time of the
    shared step. The run times of all estimates may add up to more than the elapsed
    time.

    Parameters
    ----------
    pipelines : sequence of Pipeline
    problem : Scene or Pair
        Pair of images to match, or a scene that contains the two images.
    search : SearchRange, optional
        Range of disparities to search. The default is the search range of the scene.
    both : bool
        If True, compute the disparity maps of both images. The outcome for both images
        is a tuple, with the estimate of the reference image first.
    keep_volume : bool
        If True, each estimate contains the cost volume of the optimizer.
    solve : callable, optional
        Function ``solve(method, pair, *, keep_volume=False)`` that matches a pair
        created by a scheme. With ``keep_volume=True``, the estimate must contain the
        cost volume of the optimizer. Default: `run_pipeline`.
    cache : dict, optional
        Cache for the disparity maps of auxiliary methods and for the results of
        `per_image`. By default, the runner creates a new cache. Two runners that get
        the same cache share all stored results.

    Examples
    --------
    If two methods share a matching cost, the runner computes the cost only once. The
    estimates of both methods contain the run time of the shared matching cost.

    >>> from stereo_framework import Pipeline, load_scene
    >>> scene = load_scene("synthetic/planes")
    >>> methods = [
    ...     Pipeline(["absolute_difference", "winner_take_all"]),
    ...     Pipeline(["absolute_difference", "box", "winner_take_all"]),
    ... ]
    >>> estimates = dict(PipelineRunner(methods, scene))
    >>> list(estimates[0].seconds)
    ['matching_cost', 'optimization']
    >>> list(estimates[1].seconds)
    ['matching_cost', 'aggregation.box', 'restore_outside_cost', 'optimization']
    >>> estimates[0].seconds["matching_cost"] == estimates[1].seconds["matching_cost"]
    True

    With the option ``both``, the runner returns the disparity maps of both images.

    >>> [(_, (left, right))] = PipelineRunner(methods[:1], scene, both=True)
    >>> left.search.direction, right.search.direction
    (1, -1)

    A method with a box filter reads only nearby rows, so it runs on strips of 128 rows.
    An image with 240 rows is divided into two strips.

    >>> from stereo_framework.engine.strips import strip_rows
    >>> strip_rows(methods[1].plan, 240, 320, scene.search.levels)
    128

    The scheme ``tiles`` divides the image pair into tiles. The runner matches each tile
    with the other steps of the method.

    >>> tiled = methods[0].having(scheme=["tiles"])
    >>> tiled.plan[0].method
    Pipeline(absolute_difference > winner_take_all)
    >>> [(_, estimate)] = PipelineRunner([tiled], scene)
    >>> bool((estimate.disparity == estimates[0].disparity).all())
    True
    """

    def __init__(
        self,
        pipelines: Sequence[Pipeline],
        problem: Scene | Pair,
        search: SearchRange | None = None,
        *,
        both: bool = False,
        keep_volume: bool = False,
        solve: Callable[..., Estimate] | None = None,
        cache: dict[Hashable, Any] | None = None,
    ):
        self.pipelines = pipelines
        self.sides = (REFERENCE, MATCH) if both else (REFERENCE,)
        self.solve = solve or run_pipeline
        self.cache: dict[Hashable, Any] = {} if cache is None else cache
        plans = tuple(pipeline.plan for pipeline in pipelines)
        self.plans = shared_plans(plans, self.sides, keep_volume)
        self.views: dict[State, View | Exception] = {}
        # The runner records the run time and the processor time of each step in
        # seconds. The runner also records warnings and messages that a stage reports.
        self.seconds: dict[State, float] = {}
        self.processor_seconds: dict[State, float] = {}
        self.reports: dict[State, CallReport] = {}
        self.estimates_of_schemes: dict[Hashable, Estimate] = {}

        start = State((), REFERENCE)
        try:
            pair = problem if isinstance(problem, Pair) else Pair.of(problem, search)
            self.views[start] = View.of(pair)
            self.intensity_warning = intensity_scale_warning(pair.reference)
            self.announced_scene = f"{pair.scene.name}: " if pair.scene else ""
        except Exception as error:
            # If the scene cannot be loaded, the error becomes the outcome of every
            # pipeline. The constructor raises no error, so that every pipeline has an
            # outcome.
            self.views[start] = error

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        order = self.plans.order
        for index, next_index in itertools.zip_longest(order, order[1:]):
            outcome = self._outcome(self.pipelines[index])
            next_plan = None if next_index is None else self.pipelines[next_index].plan
            self._release_views(next_plan)
            yield index, outcome

    def _outcome(self, pipeline: Pipeline) -> Outcome:
        """Return the result of a pipeline: one or two estimates, or an exception."""
        estimates = []
        errors = []
        for side in self.sides:
            view = self._view(State(pipeline.plan, side))
            if isinstance(view, View):
                estimates.append(self._estimate_of(pipeline, view))
            else:
                errors.append(view)
        if errors:
            return errors[0]
        if len(estimates) == 1:
            return estimates[0]
        reference_estimate, match_estimate = estimates
        return reference_estimate, match_estimate

    def _release_views(self, next_plan: Beginning | None) -> None:
        """Release all intermediate results that the next pipeline does not need."""
        # After the last pipeline, the runner needs no intermediate results.
        needed = set() if next_plan is None else self.plans.beginnings_of(next_plan)
        self.views = {state: view for state, view in self.views.items() if state.steps in needed}

    def volume_after(self, state: State) -> CostVolume:
        """Return the cost volume of an image after several steps.

        Raises
        ------
        Exception
            If a stage raises an exception, the method raises the same exception.
        """
        view = self._view(state)
        if isinstance(view, Exception):
            raise view
        return view.volume

    # --- states -----------------------------------------------------------------------

    def _view(self, state: State) -> View | Exception:
        """Compute the view of an image after several steps, from the last stored view.

        If a stage raises an exception, the runner stores the exception instead of a
        result. All pipelines that share the failed step then fail with the same
        exception.
        """
        count, view = self._last_kept_view(state)
        while count < len(state.steps) and isinstance(view, View):
            group = self._next_group(state, count)
            count += len(group)
            try:
                view = self._run_group(group, *self._views_before(group[0], view))
            except Exception as error:
                # A stage of a plug-in may raise any type of exception.
                view = error

            if isinstance(view, Exception):
                self.views[group[-1]] = view
            elif group[-1].steps in self.plans.checkpoints:
                view = replace(view, volumes=replace(view.volumes, is_shared=True))
                self.views[group[-1]] = view
        return view

    def _last_kept_view(self, state: State) -> tuple[int, View | Exception]:
        """Find the last stored view from which a state can be computed.

        Returns
        -------
        count : int
            Number of steps that have already run for the stored view.
        view : View or Exception
            Stored view, or the exception that a step has raised.
        """
        for count in range(len(state.steps), -1, -1):
            earlier = State(state.steps[:count], state.side)
            if earlier in self.views:
                return count, self.views[earlier]

        # No view of the match image is stored yet. The first steps of a pipeline may
        # run only once for both images. The view of the match image follows from an
        # exchange of the two images.
        common_steps = steps_for_both_images(state.steps)
        view = self._view(State(common_steps, REFERENCE))
        if isinstance(view, View):
            view = view.exchanged()
        return len(common_steps), view

    def _next_group(self, state: State, count: int) -> list[State]:
        """Return the states after each step of the next group of steps.

        A group is a single step, or several local steps that run together on strips of
        rows. A step is local if each row of the result depends only on nearby rows.
        Between the steps of a group, only the data of one strip are in memory.

        Four rules limit the size of a group of steps:

        - A step that needs the whole image begins a new group.
        - After an optimizer, a step that reads nearby rows begins a new group.
          Overlapping strips would change the objective of the optimizer.
        - A group ends with a step on a cost volume, because all other data are small.
        - A group ends at a checkpoint, where the runner stores the data of the whole
          image.
        """
        end_of_group = count + 1
        contains_optimizer = False
        for end, step in enumerate(state.steps[count:], count + 1):
            if step.halo is None or (step.halo and contains_optimizer):
                break
            if "disparity" in step.makes:
                contains_optimizer = True
            if step.touches_volume:
                end_of_group = end
            if state.steps[:end] in self.plans.checkpoints:
                break
        lengths = range(count + 1, end_of_group + 1)
        return [State(state.steps[:length], state.side) for length in lengths]

    def _views_before(self, state: State, view: View) -> tuple[View, View | None]:
        """Return the views of both images that the last step of a state reads.

        Parameters
        ----------
        state : State
        view : View
            View of the image before the last step of the state.

        Returns
        -------
        view : View
            View of the image before the last step of the state. If a run with fewer
            iterations exists, the view also contains its cost volume.
        other : View or None
            View of the other image, or None if the step does not read the other image.
        """
        shorter_run = self.plans.shorter_runs.get(state.steps)
        if shorter_run is not None:
            shorter_state = State(shorter_run, state.side)
            shorter_view = self.views.get(shorter_state)
            # If a run with fewer iterations has failed, the run with more iterations
            # starts from the beginning.
            if isinstance(shorter_view, View):
                view = replace(view, volumes=replace(view.volumes, partial=shorter_view.volume))
                for times in (self.seconds, self.processor_seconds):
                    times[state] = times.get(shorter_state, 0.0)

        if not state.last_step.reads_other:
            return view, None

        other = self._view(state.before_last_step.on_other_side)
        if isinstance(other, Exception):
            raise other
        return view, other

    def _run_group(self, group: Sequence[State], view: View, other: View | None) -> View:
        """Run a group of steps on the whole image or on strips of image rows.

        Parameters
        ----------
        group : sequence of State
            States of the image after each step of the group.
        view : View
            View of the image before the first step of the group.
        other : View or None
            View of the other image, or None if the first step does not read the other
            image.
        """
        steps = [state.last_step for state in group]
        rows = view.shape[0]
        height = strip_rows(steps, *view.shape, view.search.levels)
        count = math.ceil(rows / height)
        if count == 1:
            return self._run_strip(group, view, other, 0, rows)

        strips = Strips(view)
        for number in counted(count, "strip"):
            start = number * height
            stop = min(start + height, rows)
            strips.add(self._run_strip(group, view, other, start, stop), start)
        return strips.view()

    def _run_strip(
        self, group: Sequence[State], view: View, other: View | None, start: int, stop: int
    ) -> View:
        """Run a group of steps on the image rows from `start` to `stop` - 1.

        At first, the strip includes halo rows, the rows above and below that the steps
        read. After each step, the halo rows of the step are removed from the strip.
        """
        rows = view.shape[0]
        halo = sum(state.last_step.halo or 0 for state in group)
        top, bottom = max(0, start - halo), min(rows, stop + halo)
        strip = view.rows(top, bottom)
        for state in group:
            with self._recorded(state):
                strip = self._run_step(state, strip, other)
            strip = strip.keeping(self.plans.needs[state])

            halo -= state.last_step.halo or 0
            new_top, new_bottom = max(0, start - halo), min(rows, stop + halo)
            strip = strip.rows(new_top - top, new_bottom - top)
            top = new_top
        return strip

    @contextlib.contextmanager
    def _recorded(self, state: State) -> Iterator[None]:
        """Show the name of the running step, and record its times and warnings.

        Raises
        ------
        Stopped
            If the caller has cancelled the computation.
        StereoFrameworkError
            If the stage runs out of memory.
        """
        step = state.last_step
        if is_stopped():
            raise Stopped
        announce_step(f"{self.announced_scene}{step.short_name}")
        processor_start = processor_time()
        start = working_time()
        try:
            with storing_results(self.cache), collecting_reports() as reports:
                yield
            if reports:
                self.reports[state] = reports[-1]
        except MemoryError as error:
            message = f"{step.name}: out of memory ({error})"
            raise StereoFrameworkError(message) from error
        finally:
            # The times are added up, because a step may run on several strips. A step
            # may also continue an earlier run with fewer iterations.
            seconds = working_time() - start
            processor_seconds = processor_time() - processor_start
            self.seconds[state] = self.seconds.get(state, 0.0) + seconds
            earlier_processor_seconds = self.processor_seconds.get(state, 0.0)
            self.processor_seconds[state] = earlier_processor_seconds + processor_seconds

    # --- running one step -------------------------------------------------------------

    def _run_step(self, state: State, view: View, other: View | None) -> View:
        """Run one step on the view of an image, and return the new view."""
        match state.last_step:
            case OutsideCostReset():
                return view.with_restored_cells(outside_image=True)
            case CostSum() as cost_sum:
                return _add_costs(cost_sum, view)
            case AuxiliaryMatching() as matching:
                return self._match_auxiliary_methods(matching, state, view)
            case SchemeCall() as scheme_call:
                return self._call_scheme(scheme_call, state, view)
            case Step() as step if step.stage.data[0] == "image":
                return _preprocess_each_image(step, view)
            case Step() as step:
                return self._call_stage(step, state, view, other)

    def _call_stage(self, step: Step, state: State, view: View, other: View | None) -> View:
        """Call a stage with its input data, and return the view with the result.

        Parameters
        ----------
        step : Step
            Stage to call, with the parameters of the stage.
        state : State
        view, other : View
            Views of both images before the stage is called.
        """
        stage = step.stage
        view = with_converted_volumes(step, view, step.reads)
        data = data_of_stage(step, view)
        if "cost" in step.data:
            data["cost"] = self._cost_of_pairs(state, view)
        if other is not None:
            other = with_converted_volumes(step, other, step.other_reads)
            other = other.keeping(step.other_reads)
            data["other"] = other
        _check_direction_of_costs(step, view)
        if view.partial is not None and stage.resume is not None:
            done = self.plans.shorter_runs[state.steps][-1].iterations
            step = step.having(**{stage.resume: step.iterations - done})

        result = call_stage(step, data)
        if isinstance(result, BothSides) and stage.rules.returns_both_sides:
            # For a matcher, the view of the other image contains only the exchanged
            # images.
            other_before = other or view.exchanged()
            self._keep_other_view(state, view_after(stage, result.match, other_before))
            return view_after(stage, result.reference, view)
        if other is not None and stage.rules.returns_both_sides:
            expected = "expected BothSides of both disparity maps, since it names other"
            raise wrong_return(stage, f"{in_short(result)}; {expected}")
        return view_after(stage, result, view)

    def _cost_of_pairs(self, state: State, view: View) -> CostOfPairs:
        """Return the matching cost of the method as a function of a pair of images.

        Parameters
        ----------
        state : State
            State after the aggregation that gets the function.
        view : View
            View of the image before the aggregation.
        """
        indices_of_costs = [i for i, step in enumerate(state.steps) if "raw" in step.makes]
        # The steps up to the matching cost make the cost volume before aggregation.
        first_steps = state.steps[: max(indices_of_costs) + 1]
        return CostOfPairs(
            view.require_pair(),
            functools.partial(cost_volume_of_pair, first_steps, state.side, cache=self.cache),
        )

    def _keep_other_view(self, state: State, other_view: View) -> None:
        """Store the view of the other image after a stage has matched both images."""
        other_state = state.on_other_side
        needs = self.plans.needs.get(other_state, frozenset())
        self.views[other_state] = other_view.keeping(needs)

    def _match_auxiliary_methods(
        self, matching: AuxiliaryMatching, state: State, view: View
    ) -> View:
        """Add the disparity maps of the auxiliary methods to a view."""
        pair = view.prepared_pair()
        both_sides = "both" in self.plans.needs[state]
        image_addresses = (pair.reference.ctypes.data, pair.match.ctypes.data)
        frames_and_mask = id(pair.frames), id(pair.mask)
        pair_key = (image_addresses, pair.shape, pair.search, frames_and_mask, both_sides)

        methods = dict(matching.methods)
        # The cache may already contain the result of a method, because nested auxiliary
        # methods use the same cache.
        missing = [method for method in methods.values() if (method, pair_key) not in self.cache]
        runner = PipelineRunner(missing, pair, both=both_sides, cache=self.cache)
        for index, outcome in runner:
            if isinstance(outcome, Exception):
                raise outcome
            estimates = outcome if both_sides else (outcome,)
            maps = tuple(map(_disparity_map_of, estimates))
            # The cache key contains the memory addresses of the two images. The cache
            # also stores the pair, so that other images cannot get the same addresses.
            self.cache[missing[index], pair_key] = pair, maps

        maps_by_name = {}
        for name, method in methods.items():
            _, maps_by_name[name] = self.cache[method, pair_key]
        return replace(view, auxiliary=maps_by_name)

    def _call_scheme(self, scheme_call: SchemeCall, state: State, view: View) -> View:
        """Call a scheme, such as tiling, and return the view with the estimate.

        A scheme creates new image pairs and matches each new pair with the other steps.
        """
        stage, method = scheme_call.step.stage, scheme_call.method
        solve_method = functools.partial(self.solve, method)
        # A scheme with the option `memory` divides the pair into parts, such as tiles.
        # The tiles of the match image lie at other positions than the tiles of the
        # reference image. The estimate of a tile cannot be reused for the other image
        # of the pair.
        divides_pair = stage.memory is not None
        needs_both_sides = state.on_other_side in self.plans.needs
        if needs_both_sides and not divides_pair and _is_symmetric(method):
            solve_method = functools.partial(self._solve_both_sides, method)
        reason = _reason_without_volume(scheme_call)
        solve = functools.partial(_solve_for_scheme, solve_method, reason)
        pair = replace(view.prepared_pair(), scene=None)
        estimate = call_stage(scheme_call.step, {"solve": solve, "pair": pair})
        return view_after(stage, estimate, view)

    def _solve_both_sides(
        self, method: Pipeline, pair: Pair, *, keep_volume: bool = False
    ) -> Estimate:
        """Return the estimate of a pair, and store the estimate of the exchanged pair.

        A scheme runs once for the reference image and once for the match image. In the
        second run, the scheme creates the same pairs with exchanged images. The second
        run uses the stored estimates instead of a new computation.
        """
        if pair.mask is not None:
            # The cache key contains no mask, so estimates of masked pairs are not
            # stored.
            estimate: Estimate = run_pipeline(method, pair, keep_volume=keep_volume)
            return estimate
        key = (*_content_key(method, pair), keep_volume)
        if key not in self.estimates_of_schemes:
            estimate, other_estimate = run_pipeline(
                method, pair, both=True, keep_volume=keep_volume
            )
            other_key = (*_content_key(method, pair.exchanged()), keep_volume)
            self.estimates_of_schemes[key] = estimate
            self.estimates_of_schemes[other_key] = other_estimate
        return self.estimates_of_schemes[key]

    # --- estimates --------------------------------------------------------------------

    def _estimate_of(self, pipeline: Pipeline, view: View) -> Estimate:
        """Create the estimate of a pipeline from the data after the last step."""
        states = list(reversed(self.plans.needs_of(pipeline.plan)))
        reports = [self.reports[state] for state in states if state in self.reports]

        seconds: dict[str, float] = {}
        for state in states:
            seconds_of_step = self._seconds_of(state)
            if seconds_of_step is not None:
                address, _ = pipeline.planned_steps[len(state.steps) - 1]
                seconds[address] = seconds.get(address, 0.0) + seconds_of_step
        return estimate_of(
            view,
            seconds,
            reports,
            self.intensity_warning,
            processor_seconds=self._processor_seconds_of(states),
        )

    def _processor_seconds_of(self, states: Sequence[State]) -> float | None:
        """Return the processor time of the last steps of states, or None if unknown.

        The time is the sum over all steps that have a run time, in seconds. It is
        unknown if a stage has reported its run time without its processor time.
        """
        times: list[float] = []
        for state in states:
            if self._seconds_of(state) is None:
                continue
            report = self.reports.get(state)
            seconds = self.processor_seconds.get(state)
            if report is not None and not report.warning:
                seconds = report.processor_seconds
            if seconds is None:
                return None
            times.append(seconds)
        return sum(times) if times else None

    def _seconds_of(self, state: State) -> float | None:
        """Return the run time of the last step in seconds, or None if unknown.

        If the stage reports its run time, the reported time replaces the measured time.
        """
        report = self.reports.get(state)
        # A report with a warning contains no run time.
        if report is not None and not report.warning:
            return report.seconds
        return self.seconds.get(state)


def run_pipeline(method: Pipeline, pair: Scene | Pair, **options: Any) -> Any:
    """Match a single pair of images with a single pipeline.

    Parameters
    ----------
    method : Pipeline
    pair : Scene or Pair
    **options
        Further keyword arguments of the class `PipelineRunner`, such as ``both``.

    Returns
    -------
    outcome : Estimate or tuple of Estimate
        Estimate of the pipeline. With ``both=True``, the estimates of both images are
        returned.

    Raises
    ------
    Exception
        If a stage raises an exception, the function raises the same exception.
    """
    [(_, outcome)] = PipelineRunner([method], pair, **options)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def cost_volume_of_pair(
    first_steps: Beginning, side: int, pair: Pair, *, cache: dict[Hashable, Any] | None = None
) -> CostVolume:
    """Compute the cost volume of a pair before aggregation.

    Parameters
    ----------
    first_steps : tuple of PlannedStep
        Steps of a method up to its matching cost.
    side : int
        `REFERENCE`, or `MATCH` for a pair whose reference image is the match image of
        the method. Preprocessing of both images then gets the images in the order of
        the method.
    pair : Pair
    cache : dict, optional
        Cache for results of `per_image`, see `PipelineRunner`.
    """
    is_match_side = side == MATCH
    if is_match_side:
        pair = pair.exchanged()
    # `_FirstSteps` replaces a Pipeline, which must have an optimizer. The runner reads
    # only its plan. The runner computes the match side only with the option ``both``.
    methods: list[Any] = [_FirstSteps(first_steps)]
    runner = PipelineRunner(methods, pair, both=is_match_side, keep_volume=True, cache=cache)
    return runner.volume_after(State(first_steps, side))


class _FirstSteps(NamedTuple):
    """The first steps of a method, which end with its matching cost."""

    plan: Beginning


def _solve_for_scheme(
    solve: Callable[..., Estimate],
    reason_without_volume: str,
    pair: Pair,
    *,
    keep: Literal["volume"] | None = None,
) -> Estimate:
    """Match a pair for a scheme, and add the cost volume to the estimate on request.

    Parameters
    ----------
    solve : callable
        Function that takes the pair and the option ``keep_volume``. A function of the
        caller may lack the option if no scheme needs the cost volume.
    reason_without_volume : str
        Error message for a method that has no cost volume. The message is empty if the
        method has one.
    pair : Pair
    keep : {"volume", None}
        With ``volume``, the estimate contains the cost volume of the optimizer.

    Raises
    ------
    ParameterError
        `keep` has another value, or the method has no cost volume.
    """
    if keep not in ("volume", None):
        raise ParameterError(f"solve: keep is {in_short(keep)}; expected 'volume' or None")
    if keep is None:
        return solve(pair)
    if reason_without_volume:
        raise ParameterError(reason_without_volume)
    return solve(pair, keep_volume=True)


def _reason_without_volume(scheme_call: SchemeCall) -> str:
    """Return an error message if a scheme cannot get the cost volume of a pair.

    The message is empty if the method of the scheme has a cost volume.
    """
    method = scheme_call.method
    name = scheme_call.step.stage.name
    event = f"{name}: solve(pair, keep='volume') finds no cost volume, because"
    further_schemes = method.in_slot("scheme")
    matchers = method.in_slot("matcher")
    if further_schemes:
        further_name = further_schemes[0].stage.name
        return (
            f"{event} the scheme {further_name} follows and divides or changes the pair again; "
            f"remove {further_name}, or list {name} after it"
        )
    if matchers:
        matcher_name = matchers[0].stage.name
        return (
            f"{event} the matcher {matcher_name} computes only a disparity map; replace "
            f"{matcher_name} by a matching cost and an optimizer"
        )
    return ""


def with_converted_volumes(step: Step, view: View, names: Collection[str]) -> View:
    """Convert the cost volumes of a view to the form that a step expects.

    For an optimizer, the cells that must not be chosen are marked in the cost volume.
    Integer costs are converted to float32 if the stage does not accept integers.

    Parameters
    ----------
    step : Step
    view : View
    names : collection of str
        Names of the cost volumes that the step reads, such as ``volume``.
    """
    if step.stage.rules.chooses_from_costs and not view.volumes.is_restored:
        view = view.with_restored_cells(outside_image=False)
    return view if step.accepts_integers else view.floats(names)


def data_of_stage(step: Step, view: View) -> dict[str, Any]:
    """Return the input data of a stage and its inner stages, from a single view.

    The data of the other image, ``cost``, and ``image`` are not included.
    """
    stage = step.stage
    names = {*step.data} - {"image", "other", "auxiliary", "cost"}
    # After a matcher, there are no cost volumes. A stage that does not require them may
    # have a default value, or it may give its inner stages another cost volume.
    missing_volumes = VOLUMES - view.volumes.by_name().keys()
    names -= {name for name in missing_volumes if not step.requires(name)}
    data = {name: getattr(view, name) for name in names}
    if "auxiliary" in step.data:
        # The first disparity map of each auxiliary method belongs to the image of the
        # view.
        data["auxiliary"] = {name: maps[0] for name, maps in view.auxiliary.items()}
    # An optimizer that reads the other image gets the corrected images, too.
    optimizes_both_images = stage.rules.chooses_from_costs and "other" in step.data
    if stage.rules.images == "corrected" or optimizes_both_images:
        data["reference"], data["match"] = view.corrected
    return data


def _add_costs(cost_sum: CostSum, view: View) -> View:
    """Add the sum of several matching costs to a view, as a cost volume."""
    data: dict[str, Any] = {}
    for cost in cost_sum.costs:
        _check_direction_of_costs(cost, view)
        data |= data_of_stage(cost, view)
    return view_with_raw_volume(view, cost_sum(data))


def _check_direction_of_costs(step: Step, view: View) -> None:
    """Raise an error if a matching cost for the right image ignores the direction."""
    if step.stage.rules.makes_raw_volume and view.search.direction < 0:
        check_direction(step, view.reference)


def _preprocess_each_image(step: Step, view: View) -> View:
    """Apply a preprocessing stage for single images to both images of a pair.

    A view contains each image twice, before and after a joint correction of both
    images. If both versions of an image are the same array, the stage is called only
    once.
    """
    images = (view.reference, view.match, *view.corrected)
    distinct_images = {id(image): image for image in images}
    processed = {}
    for key, image in distinct_images.items():
        result = call_stage(step, {**data_of_stage(step, view), "image": image})
        check_returned(step.stage, result, view.reference.shape, view.search)
        processed[key] = kernel_array(result)
    reference, match, *corrected = [processed[id(image)] for image in images]
    frames = changed_frames(view.frames, functools.partial(_processed_frame, step, view))
    prepared = PreparedImages(reference, match, (corrected[0], corrected[1]), frames)
    view = replace(view, prepared=prepared)
    # The constructor of a pair raises an error if no stage can match the intensities.
    view.prepared_pair()
    return view


def _processed_frame(step: Step, view: View, image: Image) -> Image:
    """Apply a preprocessing stage to the image of another frame."""
    result = call_stage(step, {**data_of_stage(step, view), "image": image})
    check_returned(step.stage, result, image.shape, view.search)
    return kernel_array(result)


def _disparity_map_of(estimate: Estimate) -> DisparityMap:
    """Convert the estimate of an auxiliary method to a `DisparityMap` for stages."""
    return DisparityMap(estimate.disparity, estimate.status, estimate.search, estimate.confidence)


def _content_key(method: Pipeline, pair: Pair) -> tuple[Hashable, ...]:
    """Return a cache key that is equal for pairs with equal images and search range.

    The other frames of a pair belong to its images only if the method or one of its
    auxiliary methods reads them.
    """
    key = method, pair.search, pair.shape, pair.reference.tobytes(), pair.match.tobytes()
    if not method.reads_frames:
        return key
    frames = [(frame.baseline, frame.time, frame.image.tobytes()) for frame in pair.frames]
    return *key, *frames


def _is_symmetric(method: Pipeline) -> bool:
    """Return whether a stereo method treats both images of a pair in the same way.

    If the images of a symmetric method are exchanged, the two disparity maps are
    exchanged, too. Methods with auxiliary methods, a matcher or a scheme do not count
    as symmetric. A preprocessing stage that takes both images also makes a method
    asymmetric.
    """
    for step in method.plan:
        match step:
            case AuxiliaryMatching() | SchemeCall():
                return False
            case Step(stage=stage):
                takes_both_images = stage.rules.is_for_both_images and "image" not in stage.data
                if stage.slot == "matcher" or takes_both_images:
                    return False
    return True
