"""Plans for running several pipelines on one image pair without repeating steps.

A plan is the tuple of all steps that run for a pipeline. A beginning is the tuple of
the first steps of a plan. A state names one image of the pair and the steps that have
run on this image. If two pipelines begin with the same steps, the runner runs the
shared steps only once.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stereo_framework.engine.planned_steps import PlannedStep

Beginning = tuple[PlannedStep, ...]
"""The first steps of a pipeline, or all steps of the pipeline."""

REFERENCE, MATCH = 0, 1
"""Numbers of the two images of a pair: the reference image and the match image."""


class State(NamedTuple):
    """The state of one image of a pair after the first steps of a pipeline.

    Parameters
    ----------
    steps : tuple of PlannedStep
        Steps that have already run, in the order of execution.
    side : int
        `REFERENCE` or `MATCH`.
    """

    steps: Beginning
    side: int

    @property
    def last_step(self) -> PlannedStep:
        """Step that runs last and computes the data of the state."""
        return self.steps[-1]

    @property
    def before_last_step(self) -> State:
        """State of the image before the last step."""
        return State(self.steps[:-1], self.side)

    @property
    def on_other_side(self) -> State:
        """State of the other image of the pair after the same steps."""
        return State(self.steps, 1 - self.side)


class Plans:
    """Plans of several pipelines that share the results of their first steps.

    Parameters
    ----------
    plans : sequence of tuple of PlannedStep
        All steps of each pipeline, in the order of execution.
    sides : sequence of int
        Images of the pair for which disparity maps are needed.
    keep_volume : bool
        If True, the runner also returns the last cost volume of each pipeline.

    Attributes
    ----------
    order : list of int
        Indices of the pipelines in the order in which they run. Pipelines with the same
        first steps run one after another. If only the iterations differ, the pipeline
        with fewer iterations runs first.
    checkpoints : set of tuple of PlannedStep
        Sequences of first steps after which the runner keeps the intermediate results.
        Other pipelines, the other image or longer runs reuse the intermediate results.
    shorter_runs : dict of tuple of PlannedStep to tuple of PlannedStep
        The dictionary maps the steps of a run to the steps of a run with fewer
        iterations. The two runs differ only in the number of iterations of the last
        step. The run with more iterations continues the result of the run with fewer
        iterations.
    needs : dict of State to frozenset of str
        Names of the data that later steps read from each state, such as ``volume``. The
        name ``both`` means that auxiliary methods compute the disparity maps of both
        images.

    Examples
    --------
    Two pipelines share the census matching cost. The runner keeps the census cost
    volume, because the optimizers of both pipelines read the volume.

    >>> from stereo_framework.engine.pipeline import Pipeline
    >>> simple = Pipeline(["census", "winner_take_all"])
    >>> smooth = Pipeline(["census", "semi_global"])
    >>> plans = Plans([simple.plan, smooth.plan], [REFERENCE], keep_volume=False)
    >>> after_census = simple.plan[:1]
    >>> after_census in plans.checkpoints
    True
    >>> sorted(plans.needs[State(after_census, REFERENCE)])
    ['volume']

    A left-right consistency check also needs the disparity map of the match image.

    >>> checked = Pipeline(["census", "winner_take_all", "left_right_check"])
    >>> plans = Plans([checked.plan], [REFERENCE], keep_volume=False)
    >>> State(checked.plan[:2], MATCH) in plans.needs
    True
    """

    def __init__(self, plans: Sequence[Beginning], sides: Sequence[int], *, keep_volume: bool):
        self._sides = sides
        self._keep_volume = keep_volume
        step_numbers: dict[PlannedStep, int] = {}
        sort_keys = [sort_key(plan, step_numbers) for plan in plans]
        self.order = sorted(range(len(plans)), key=sort_keys.__getitem__)

        sorted_plans = [plans[index] for index in self.order]
        self.shorter_runs = _shorter_runs(sorted_plans)
        self.checkpoints = _checkpoints(sorted_plans) | set(self.shorter_runs.values())

        self._needs_of_plans: dict[Beginning, dict[State, frozenset[str]]] = {}
        self.needs: defaultdict[State, frozenset[str]] = defaultdict(frozenset)
        for plan in plans:
            for state, needs in self.needs_of(plan).items():
                self.needs[state] |= needs

    def needs_of(self, plan: Beginning) -> dict[State, frozenset[str]]:
        """Return all states of a pipeline, and the names of data that are read later.

        Parameters
        ----------
        plan : tuple of PlannedStep
            All steps of the pipeline, in the order of execution.

        Returns
        -------
        needs : dict of State to frozenset of str
            Names of the data that later steps read, such as ``volume``, for each state.
            The states are sorted from the last step to the first step.
        """
        # The runner asks again for the needs when it makes the estimate.
        if plan not in self._needs_of_plans:
            self._needs_of_plans[plan] = self._compute_needs(plan)
        return self._needs_of_plans[plan]

    def _compute_needs(self, plan: Beginning) -> dict[State, frozenset[str]]:
        """Compute the result of `needs_of`."""
        needs: defaultdict[State, frozenset[str]] = defaultdict(frozenset)
        needs_at_end = frozenset({"volume"}) if self._keep_volume else frozenset()
        for side in self._sides:
            needs[State(plan, side)] = needs_at_end

        # The loop runs backwards, because each step determines which earlier results
        # are needed.
        lengths = range(len(plan), -1, -1)
        for length, side in itertools.product(lengths, (MATCH, REFERENCE)):
            state = State(plan[:length], side)
            if state not in needs:
                continue
            for source, source_needs in _sources(state, needs[state]):
                needs[source] |= source_needs
        return needs

    def beginnings_of(self, plan: Beginning) -> set[Beginning]:
        """Return all step sequences whose results a pipeline can reuse.

        The result contains each sequence of first steps, from no step to all steps. If
        a pipeline continues a run with fewer iterations, the result also contains the
        steps of this run.
        """
        beginnings = {plan[:length] for length in range(len(plan) + 1)}
        longer_runs = beginnings & self.shorter_runs.keys()
        return beginnings | {self.shorter_runs[steps] for steps in longer_runs}


@functools.lru_cache(maxsize=8)
def shared_plans(plans: tuple[Beginning, ...], sides: tuple[int, ...], keep_volume: bool) -> Plans:
    """Return the plans of several pipelines, which are computed only once.

    The estimate of the memory, the run itself and the runs of equal methods on many
    tiles use the same plans.

    Parameters
    ----------
    plans, sides, keep_volume
        As in `Plans`.
    """
    return Plans(plans, sides, keep_volume=keep_volume)


def steps_for_both_images(plan: Beginning) -> Beginning:
    """Return the first steps of a pipeline that run only once for both images."""
    # In every pipeline, the steps for both images come before all other steps.
    count = sum(step.is_for_both_images for step in plan)
    return plan[:count]


def sort_key(plan: Beginning, step_numbers: dict[PlannedStep, int]) -> list[tuple[int, int]]:
    """Return a sort key that places pipelines with the same first steps together.

    If only the iterations of a step differ, the pipeline with fewer iterations comes
    first.

    Parameters
    ----------
    plan : tuple of PlannedStep
    step_numbers : dict of PlannedStep to int
        Numbers that earlier calls of the function have given to steps. Steps that
        differ only in their number of iterations get the same number. The function adds
        the new steps of a pipeline to the dictionary. Pipelines that are sorted
        together must share one dictionary.

    Returns
    -------
    key : list of (int, int)
        For each step, the number from `step_numbers` and the number of iterations.
    """
    key = []
    for step in plan:
        number = step_numbers.setdefault(step.without_iterations, len(step_numbers))
        key.append((number, step.iterations))
    return key


def _sources(state: State, needs: frozenset[str]) -> Iterator[tuple[State, frozenset[str]]]:
    """Yield the earlier states that a state needs, with the names of the needed data.

    Parameters
    ----------
    state : State
    needs : frozenset of str
        Names of the data that later steps read from the state, such as ``volume``.

    Yields
    ------
    source : State
        Earlier state from which `state` is computed.
    source_needs : frozenset of str
        Names of the data that the earlier state must contain.
    """
    same_for_both_sides = not state.steps or state.last_step.is_for_both_images
    if same_for_both_sides and state.side == MATCH:
        # For the match image, the runner exchanges the two images of the pair.
        source_needs = frozenset({"both"}) if "auxiliary" in needs else frozenset()
        yield state.on_other_side, source_needs
        return
    if not state.steps:
        # The loaded pair is the first state, which needs no earlier state.
        return

    step = state.last_step
    # If a step replaces data, such as the cost volume, later steps do not read the old
    # data.
    yield state.before_last_step, step.reads | (needs - step.makes)
    if step.reads_other:
        yield state.before_last_step.on_other_side, step.other_reads


def _checkpoints(plans: Sequence[Beginning]) -> set[Beginning]:
    """Return the step sequences after which the runner keeps intermediate results.

    There are three reasons to keep a result: the match image begins with it, a step
    reads the result of the other image, or the next plan begins with the same steps. A
    run that is continued with more iterations is kept, too, but the function
    `_shorter_runs` returns these runs.

    Parameters
    ----------
    plans : sequence of Beginning
        Plans in the order of execution.
    """
    checkpoints = {steps_for_both_images(plan) for plan in plans}
    for plan in plans:
        for length, step in enumerate(plan):
            if step.reads_other:
                checkpoints.add(plan[:length])
    for plan, next_plan in itertools.pairwise(plans):
        checkpoints.add(plan[: _common_length(plan, next_plan)])
    return checkpoints


def _shorter_runs(plans: Sequence[Beginning]) -> dict[Beginning, Beginning]:
    """Map each run with more iterations to the shorter run that it continues.

    The plans must be given in the order of execution.
    """
    shorter_runs = {}
    for plan, next_plan in itertools.pairwise(plans):
        length = _common_length(plan, next_plan)
        if length == min(len(plan), len(next_plan)):
            continue
        step, next_step = plan[length], next_plan[length]
        # The comparison is true if the steps differ only in their numbers of
        # iterations.
        if step.without_iterations == next_step.without_iterations:
            shorter_runs[next_plan[: length + 1]] = plan[: length + 1]
    return shorter_runs


def _common_length(plan: Beginning, next_plan: Beginning) -> int:
    """Return how many first steps two pipelines have in common."""
    for length, (step, next_step) in enumerate(zip(plan, next_plan, strict=False)):
        if step != next_step:
            return length
    return min(len(plan), len(next_plan))
