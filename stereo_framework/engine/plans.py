"""Plans of several pipelines on one pair, and the steps that these plans share.

A plan is the tuple of the steps that run for a pipeline. A beginning is the tuple of
the first steps of a plan. A state is a beginning together with a side of the pair. It
stands for this side after these steps. If two plans have the same beginning, they share
its states, and the runner computes these states only once.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stereo_framework.engine.planned_steps import PlannedStep

Beginning = tuple[PlannedStep, ...]
"""The first steps of a plan, or the whole plan."""

REFERENCE, MATCH = 0, 1
"""The two sides of a pair. Each side is named after its image."""


class State(NamedTuple):
    """One side of the pair after some steps.

    Parameters
    ----------
    steps : tuple of PlannedStep
        The steps that have run.
    side : int
        `REFERENCE` or `MATCH`.
    """

    steps: Beginning
    side: int

    @property
    def last_step(self) -> PlannedStep:
        """The step that produces this state."""
        return self.steps[-1]

    @property
    def before_last_step(self) -> State:
        """The state of the same side before the last step."""
        return State(self.steps[:-1], self.side)

    @property
    def on_other_side(self) -> State:
        """The state of the other side after the same steps."""
        return State(self.steps, 1 - self.side)


class Plans:
    """The plans of several pipelines, and the states that the plans share.

    Parameters
    ----------
    plans : sequence of tuple of PlannedStep
        One plan for each pipeline.
    sides : sequence of int
        The sides whose disparity maps are needed.
    keep_volume : bool
        If True, the cost volume at the end of each plan is needed as well.

    Attributes
    ----------
    order : list of int
        Indices of the plans in running order. Plans with the same first steps follow
        each other. A plan with more iterations follows the plan with fewer iterations.
    checkpoints : set of tuple of PlannedStep
        Beginnings after which the runner keeps the view. Another plan, the other side
        or a run with more iterations starts from this view.
    shorter_runs : dict of tuple of PlannedStep to tuple of PlannedStep
        The beginning of a longer run, mapped to the beginning of a shorter run. The two
        beginnings differ only in the iterations of their last step. The longer run
        continues the result of the shorter run.
    needs : dict of State to frozenset of str
        Names of the data in each state that later steps read, such as ``volume``,
        ``raw`` or ``auxiliary``. The name ``both`` means that the auxiliary methods
        must match both sides.

    Examples
    --------
    Two pipelines share their matching cost. The state after this matching cost is a
    checkpoint, and the two optimizers read its cost volume.

    >>> from stereo_framework.engine.pipeline import Pipeline
    >>> simple = Pipeline(["census", "winner_take_all"])
    >>> smooth = Pipeline(["census", "semi_global"])
    >>> plans = Plans([simple.plan, smooth.plan], [REFERENCE], keep_volume=False)
    >>> after_census = simple.plan[:1]
    >>> after_census in plans.checkpoints
    True
    >>> sorted(plans.needs[State(after_census, REFERENCE)])
    ['volume']

    A refinement that reads the other side needs the state of this side before the
    refinement.

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

        self.needs: defaultdict[State, frozenset[str]] = defaultdict(frozenset)
        for plan in plans:
            for state, needs in self.needs_of(plan).items():
                self.needs[state] |= needs

    def needs_of(self, plan: Beginning) -> dict[State, frozenset[str]]:
        """Return all states of a plan, and the names of the data that later steps read.

        Parameters
        ----------
        plan : tuple of PlannedStep
            All steps of a plan.

        Returns
        -------
        dict of State to frozenset of str
            The states, from the last state to the first, with the same values as the
            attribute `needs`.
        """
        needs: defaultdict[State, frozenset[str]] = defaultdict(frozenset)
        needs_at_end = frozenset({"volume"}) if self._keep_volume else frozenset()
        for side in self._sides:
            needs[State(plan, side)] = needs_at_end

        # A state is always visited before the states from which it is computed.
        lengths = range(len(plan), -1, -1)
        for length, side in itertools.product(lengths, (MATCH, REFERENCE)):
            state = State(plan[:length], side)
            if state not in needs:
                continue
            for source, source_needs in _sources(state, needs[state]):
                needs[source] |= source_needs
        return needs

    def beginnings_of(self, plan: Beginning) -> set[Beginning]:
        """Return all beginnings of a plan, and the shorter runs that they continue."""
        beginnings = {plan[:length] for length in range(len(plan) + 1)}
        longer_runs = beginnings & self.shorter_runs.keys()
        return beginnings | {self.shorter_runs[steps] for steps in longer_runs}


def steps_for_both_images(plan: Beginning) -> Beginning:
    """Return the first steps of a plan, which run once for both images."""
    # Every plan starts with these steps, so counting them is enough.
    count = sum(step.is_for_both_images for step in plan)
    return plan[:count]


def sort_key(plan: Beginning, step_numbers: dict[PlannedStep, int]) -> list[tuple[int, int]]:
    """Return a key that sorts plans with the same first steps next to each other.

    If two plans differ only in the number of iterations of a step, the plan with fewer
    iterations comes first.

    Parameters
    ----------
    plan : tuple of PlannedStep
    step_numbers : dict of PlannedStep to int
        Number of each step of all plans so far. Steps that differ only in the number of
        iterations have the same number. This function adds new steps to the dictionary,
        so plans that are sorted together must share one dictionary.

    Returns
    -------
    list of (int, int)
        For each step of the plan, its number in `step_numbers` and its number of
        iterations.
    """
    key = []
    for step in plan:
        number = step_numbers.setdefault(step.without_iterations, len(step_numbers))
        key.append((number, step.iterations))
    return key


def _sources(state: State, needs: frozenset[str]) -> Iterator[tuple[State, frozenset[str]]]:
    """Yield each state from which a state is computed, and the data that it needs.

    Parameters
    ----------
    state : State
        The state to compute.
    needs : frozenset of str
        Names of the data in this state that later steps read.

    Yields
    ------
    source : State
        A state from which `state` is computed.
    source_needs : frozenset of str
        Names of the data that the source must contain.
    """
    same_for_both_sides = not state.steps or state.last_step.is_for_both_images
    if same_for_both_sides and state.side == MATCH:
        # The match side is the reference side with its two images exchanged.
        source_needs = frozenset({"both"}) if "auxiliary" in needs else frozenset()
        yield state.on_other_side, source_needs
        return
    if not state.steps:
        # The first state of the reference side is the loaded pair.
        return

    step = state.last_step
    # A step replaces the data that it makes, so their earlier values are not needed.
    yield state.before_last_step, step.reads | (needs - step.makes)
    if step.reads_other:
        yield state.before_last_step.on_other_side, step.other_reads


def _checkpoints(plans: Sequence[Beginning]) -> set[Beginning]:
    """Return the beginnings from which another plan or the other side starts.

    The plans are in running order. The beginnings from which a run with more iterations
    starts are not included.
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
    """Map the beginning of each longer run to the beginning of the shorter run.

    The plans are in running order.
    """
    shorter_runs = {}
    for plan, next_plan in itertools.pairwise(plans):
        length = _common_length(plan, next_plan)
        if length == min(len(plan), len(next_plan)):
            continue
        step, next_step = plan[length], next_plan[length]
        # Two different steps are equal without iterations if only these differ.
        if step.without_iterations == next_step.without_iterations:
            shorter_runs[next_plan[: length + 1]] = plan[: length + 1]
    return shorter_runs


def _common_length(plan: Beginning, next_plan: Beginning) -> int:
    """Return the number of first steps that two plans share."""
    for length, (step, next_step) in enumerate(zip(plan, next_plan, strict=False)):
        if step != next_step:
            return length
    return min(len(plan), len(next_plan))
