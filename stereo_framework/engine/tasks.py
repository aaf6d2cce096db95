"""Tasks: the steps of pipelines on both sides of a pair, what each is computed from, and how often the state after it is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stereo_framework.core.view import View
from stereo_framework.engine.step import EXCHANGE, VOLUMES, Step


class Task:
    """A step on one side of a pair. Pipelines that begin alike share the tasks of what they begin with.

    Attributes
    ----------
    step : Step
    depth : int
        How many steps come before it.
    before : Task
        The step before on the same side; that before all steps is its own.
    other : Task or None
        The step before on the other side, where the step looks across.
    shorter : Task or None
        The same with fewer iterations, which it continues.
    twin : Task or None
        The same on the other side, where somebody wants it.
    uses : int
        How often its state is still taken.
    needs : set of str
        What later steps read of its state: volumes, ``alternatives``, and ``both`` for alternatives of both sides.
    state : View, Exception or None
        What it has made, or what was raised in its place.
    seconds, report
        How long it took, and what its stage reported.
    """

    def __init__(self, step: Step, before: Task | None, depth: int):
        self.step, self.before, self.depth = step, before or self, depth
        self.other: Task | None = None
        self.shorter: Task | None = None
        self.twin: Task | None = None
        self.uses, self.needs = 0, set[str]()
        self.state: View | Exception | None = None
        self.seconds: float | None = None
        self.report: Any = None

    @property
    def inputs(self) -> list[Task]:
        """The tasks whose states it takes."""
        return [one for one in (self.before, self.other, self.shorter) if one not in (None, self)]

    def count_uses(self) -> None:
        """Tell the tasks whose states it takes, and what is read of these."""
        for one in self.inputs:
            one.uses += 1
        passed_on = self.needs - VOLUMES if self.step.stage.slot == "matching_cost" else self.needs
        if self.step is EXCHANGE:
            passed_on = {"both"} if "alternatives" in self.needs else set()
        self.before.needs |= self.step.reads | passed_on | ({"alternatives"} & self.step.data)
        if self.other:
            self.other.needs |= self.step.other_reads
        if self.shorter:
            self.shorter.needs.add("volume")

    def take(self) -> Any:
        """Its state, a view or what was raised in its place. The last who takes it may write into its volume."""
        state = self.state
        self.uses -= 1
        if not self.uses:
            self.state = None
        elif isinstance(state, View) and not state.shared:
            return replace(state, shared=True)
        return state

    def given(self) -> tuple[View, View | None]:
        """Take what it is computed from, none of which failed: the views of its own side, with what the shorter one made, and of the other one."""
        states: list[Any] = [one and one.take() for one in (self.before, self.other, self.shorter)]
        view, other, shorter = states
        # What fails with fewer iterations may do with more.
        if isinstance(shorter, View):
            view = replace(view, volumes={**view.volumes, "partial": shorter.volume})
        return view, other

    def drop(self) -> None:
        """Do without its state. What nobody takes is not computed, and takes nothing."""
        self.uses -= 1
        if not self.uses:
            for one in self.inputs if self.state is None else ():
                one.drop()
            self.state = None

    def all(self) -> list[Task]:
        """The task and all that its state comes from."""
        found = [self]
        for one in found:  # which grows meanwhile
            found += [source for source in one.inputs if source not in found]
        return found


def planned(
    pipelines: Sequence[Any], sides: Sequence[int], *, keep_volume: bool
) -> tuple[list[Task], list[tuple[int, list[Task]]]]:
    """All tasks, each after those that it takes states of, and, in running order, each pipeline's index and its last task of each side.

    In that order stands together what begins alike, fewer iterations before more.

    Parameters
    ----------
    pipelines : sequence of Pipeline
    sides : sequence of int
        Those that are wanted: 0 the reference image's, 1 the match image's.
    keep_volume : bool
        Whether the volumes after the last step are wanted too.
    """
    numbers: dict[Step, int] = {}
    places = [[(numbers.setdefault(line, len(numbers)), count) for line, count in (s.line for s in p.plan)] for p in pipelines]
    order = sorted(range(len(places)), key=places.__getitem__)
    # With which steps the next one with fewer iterations ends.
    shorter: dict[Any, tuple[Step, ...] | None] = {}
    shortest: dict[Any, tuple[Step, ...]] = {}
    for plan in (pipelines[index].plan for index in order):
        for end, step in enumerate(plan, 1):
            if step.stage.resume and plan[:end] not in shorter:
                about = plan[: end - 1], step.line[0]
                shorter[plan[:end]], shortest[about] = shortest.get(about), plan[:end]
    tasks: dict[tuple[Any, int], Task] = {}

    def task(steps: tuple[Step, ...], side: int) -> Task:
        if (steps, side) in tasks:
            return tasks[steps, side]
        step = steps[-1] if steps else EXCHANGE
        if side and (step is EXCHANGE or step.stage.slot in ("preprocessing", "alternatives")):
            found = Task(EXCHANGE, task(steps, 0), 0)
        else:
            found = Task(step, task(steps[:-1], side) if steps else None, len(steps) - 1)
            if "other" in step.data:
                found.other = task(steps[:-1], 1 - side)
            if fewer := shorter.get(steps):
                found.shorter = task(fewer, side)
        found.twin = tasks.get((steps, 1 - side))
        if found.twin:
            found.twin.twin = found
        # After those that it takes states of.
        tasks[steps, side] = found
        return found

    task((), 0)
    leaves = [(index, [task(pipelines[index].plan, side) for side in sides]) for index in order]
    for leaf in (leaf for _, both in leaves for leaf in both):
        leaf.uses += 1
        leaf.needs |= {"volume"} if keep_volume else set()
    for one in reversed(tasks.values()):
        one.count_uses()
    return list(tasks.values()), leaves
