"""Pipeline: a stereo method, its steps in order; one scene in, one Estimate out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stereo_framework.core.arguments import checked, describe_value
from stereo_framework.core.call_context import stored_results
from stereo_framework.core.errors import ParameterError, StereoFrameworkError, nearest, warn
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.former_names import new_name_hint, parameter_hint, report_attributes
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stages
from stereo_framework.core.scene import Scene
from stereo_framework.core.search import SearchRange
from stereo_framework.core.slots import SLOTS, VOLUME_SLOTS
from stereo_framework.core.step import Step, step
from stereo_framework.core.view import VOLUMES
from stereo_framework.engine.engine_steps import AUXILIARY, RESTORE, cost_sum
from stereo_framework.engine.memory import free_memory, peak_memory, refusal
from stereo_framework.engine.walk import walked


class UnsupportedStep(NamedTuple):
    """A step of a search range that a stage does not support.

    Parameters
    ----------
    address, name : str
        Address and name of the stage.
    reason : str
        Reason why the stage supports whole steps only, a phrase that continues its name.
    step : float
        Step at which the stage would run, in pixels.
    scheme : str
        Address of the scheme that determines the step; empty if the search range does.
    """

    address: str
    name: str
    reason: str
    step: float
    scheme: str

    def message(self) -> str:
        """Return the fault and the remedy, without the parameter that determines the step."""
        return (
            f"{self.step:g} pixel is not a whole step, and {self.name} ({self.address}) {self.reason}; "
            "use a step of 1, and refine the disparities afterwards"
        )


STAGES = "a list of stages: names, functions, or step(NAME, parameter=value)"
"""Description of the steps of a pipeline, for messages."""

_ORDER = {slot: number for number, slot in enumerate(SLOTS)}


@report_attributes
@dataclass(init=False, repr=False, unsafe_hash=True)
class Pipeline:
    """A stereo method: steps, sorted by the slots of their stages; within a slot they keep their order.

    Parameters
    ----------
    steps : iterable of Step, or a single one
        A registered stage function, or its name, stands for itself with its defaults. Several matching costs are added. A list among them stands for
        its items.
    auxiliary : mapping of str to Pipeline
        Auxiliary methods by name, matched on the same pair, whose maps go to the stages that name ``auxiliary``.

    Raises
    ------
    ParameterError
        A stage is missing, one too many, names what a matcher or a scheme does not give, or needs a smoothness term that is not there.

    Examples
    --------
    >>> from stereo_framework import Pipeline, load_scene, step
    >>> method = Pipeline(["absolute_difference", step("box", size=9), "winner_take_all"])
    >>> method(load_scene("synthetic/planes")).disparity.shape
    (240, 320)
    """

    steps: tuple[Step, ...]
    auxiliary: tuple[tuple[str, Pipeline], ...]

    @checked(steps=STAGES)
    def __init__(
        self,
        steps: Step | str | Callable[..., Any] | Iterable[Any],
        auxiliary: Mapping[str, Pipeline] | None = None,
    ):
        found = sorted(_steps(steps), key=lambda one: _ORDER[one.stage.slot])
        if sum(one.stage.slot == "matching_cost" for one in found) > 1:
            found = [
                one if one.added or one.stage.slot != "matching_cost" else one.having(weight=1)
                for one in found
            ]
        self.steps, self.auxiliary = tuple(found), tuple((auxiliary or {}).items())
        if faults := [f"{address}: {message}" for address, message in self._faults()]:
            raise ParameterError("\n".join(faults))

    def _faults(self) -> Iterator[tuple[str, str]]:
        """(address, message) of what does not go together."""
        of_slot = {slot: [one.stage.name for one in self.in_slot(slot)] for slot in SLOTS}
        matcher, scheme, term = (
            next(iter(of_slot[slot]), None) for slot in ("matcher", "scheme", "smoothness")
        )
        for slot, names in of_slot.items():
            if len(names) > 1 and not (SLOTS[slot].many or SLOTS[slot].added):
                yield slot, f"one stage stands here; these are {len(names)}: {', '.join(names)}"
            if slot in VOLUME_SLOTS and names and matcher:
                yield slot, f"the matcher {matcher} stands instead of it; remove one of both"
            if slot in VOLUME_SLOTS and not (names or matcher or SLOTS[slot].optional):
                allowed = nearest("", [stage.name for stage in stages(slot)], kind="stages")
                yield slot, f"missing; a method needs one, or a matcher; {allowed}"
        for address, one in self.stages():
            stage, name = one.stage, one.stage.name
            if scheme and "scene" in stage.data:
                yield address, f"{name} needs the scene, and {scheme} makes pairs without one"
            if address.startswith("auxiliary."):  # has been asked for the rest
                continue
            volumes = sorted(VOLUMES & {*stage.data, *stage.other_needs})
            if matcher and volumes and stage.slot in ("confidence", "refinement"):
                yield (
                    address,
                    f"{name} needs the {volumes[0]}, and the matcher {matcher} makes none",
                )
            if "auxiliary" in stage.data and not self.auxiliary and not stage.defaults("auxiliary"):
                yield address, f"{name} needs auxiliary methods, and the method names none"
            if wrong := stage.misfit({"smoothness": term}):
                yield address, f"{name}: {wrong}"

    def having(self, **changes: Any) -> Pipeline:
        """The same with other values of some parameters, or other stages in some slots.

        Parameters
        ----------
        **changes
            Values by address, ``**{"aggregation.box.size": 9}``, or by the name of a parameter alone where a single stage has it: ``p1=10``. A slot
            stands for all its stages: ``refinement=["median"]``, ``smoothness=None``; ``auxiliary`` for all auxiliary methods.

        Raises
        ------
        ParameterError
            No stage or more than one has such a parameter.

        Examples
        --------
        >>> from stereo_framework import Pipeline
        >>> Pipeline(["absolute_difference", "box", "winner_take_all"]).having(size=5, truncation=20)
        Pipeline(absolute_difference(truncation=20) > box(size=5) > winner_take_all)
        """
        slots = {name: changes.pop(name) for name in (*SLOTS, "auxiliary") if name in changes}
        auxiliary = slots.pop("auxiliary", dict(self.auxiliary))
        if not isinstance(auxiliary, Mapping | None):
            message = f"Pipeline.having: auxiliary is {describe_value(auxiliary)}; expected a mapping of names to Pipelines"
            raise ParameterError(message)
        others = dict(auxiliary or {})
        own = dict(self.own_stages())
        for name, value in changes.items():
            address, parameter = self._place(name)
            if address in own:
                own[address] = own[address].having(**{parameter: value})
            else:
                _, other, inner = address.split(".", 2)
                others[other] = others[other].having(**{f"{inner}.{parameter}": value})
        kept = [one for one in own.values() if one.stage.slot not in slots]
        for slot, value in slots.items():
            for one in _steps(value):
                if one.stage.slot != slot:
                    raise ParameterError(f"{slot}: {one.stage.name} is a stage of {one.stage.slot}")
                kept.append(one)
        return Pipeline(kept, others)

    def _place(self, name: str) -> tuple[str, str]:
        """Address and name of a parameter: given as both, or by its name alone."""
        address, _, parameter = name.rpartition(".")
        having, allowed = [], set[str]()
        for where, one in self.stages():
            allowed.update(f"{where}.{p}" if address else p for p in one.parameters)
            if parameter in one.parameters and address in (
                "",
                where,
                one.stage.slot,
                one.stage.name,
                one.name,
            ):
                having.append(where)
        if len(having) == 1:
            return having[0], parameter
        if having:
            raise ParameterError(
                f"{name}: {' and '.join(having)} have it; say which, as in **{{'{having[0]}.{parameter}': ...}}"
            )
        remedy = self._new_name_hint(name) or nearest(name, allowed)
        raise ParameterError(f"{name}: no stage has it; {remedy}")

    def _new_name_hint(self, name: str) -> str:
        """Return the clause that gives the new name of a former name in `having`."""
        if hint := new_name_hint("arguments", "Pipeline.having", name):
            return hint
        parameter = name.rpartition(".")[2]
        hints = (parameter_hint(step.stage.function, parameter) for _, step in self.stages())
        return next(filter(None, hints), "")

    def __reduce__(self) -> tuple[Any, ...]:
        return Pipeline, (self.steps, dict(self.auxiliary))

    def __repr__(self) -> str:
        steps = " > ".join(map(repr, self.steps))
        auxiliary = f", {dict(self.auxiliary)!r}" if self.auxiliary else ""
        return f"Pipeline({steps}{auxiliary})"

    def own_stages(self, home: str = "") -> tuple[tuple[str, Step], ...]:
        """(address, step) by slot, without those of the auxiliary methods."""
        names = [one.name for one in self.steps]
        found, slot, number = [], "", 0
        for one in self.steps:
            slot, number = one.stage.slot, number + 1 if one.stage.slot == slot else 0
            own = one.stage.name if names.count(one.name) == 1 else number
            found.append(
                (f"{home}{slot}.{own}" if SLOTS[slot].many or one.added else f"{home}{slot}", one)
            )
        return tuple(found)

    @checked()
    def stages(self, home: str = "") -> tuple[tuple[str, Step], ...]:
        """(address, step) by slot; addresses as in scripts, ``aggregation.box``, by index where a name repeats.

        Those of auxiliary methods come first, under ``auxiliary.NAME.``.
        """
        others = [
            item
            for name, method in self.auxiliary
            for item in method.stages(f"{home}auxiliary.{name}.")
        ]
        return (*others, *self.own_stages(home))

    @checked()
    def in_slot(self, slot: str) -> tuple[Step, ...]:
        """The steps of a slot."""
        return tuple(one for one in self.steps if one.stage.slot == slot)

    @property
    def name(self) -> str:
        """The stage that decides: the optimizer or the matcher."""
        return next(
            one.stage.name for one in self.steps if one.stage.slot in ("matcher", "optimization")
        )

    def files(self, scene: Scene | None = None) -> dict[str, tuple[Path, ...]]:
        """Files from outside that decide what stages do, by address, as of `Step.files`."""
        return {address: one.files(scene) for address, one in self.stages() if one.stage.files}

    def unsupported_steps(
        self, step: float | None, home: str = "", scheme: str = ""
    ) -> Iterator[UnsupportedStep]:
        """Yield the stages that need whole steps, but get a step below a pixel.

        The auxiliary methods are included. A scheme with a parameter ``step`` makes pairs
        that have this step.

        Parameters
        ----------
        step : float or None
            Step of the search range in pixels; None if the scene determines it.
        home : str
            Prefix of the addresses.
        scheme : str
            Address of the scheme that determines the step; empty if the search range does.
        """
        for address, stage_step in self.own_stages(home):
            scheme_step = stage_step.parameters.get("step")
            if stage_step.stage.slot == "scheme" and scheme_step is not None:
                step = scheme_step
                scheme = address

        for name, method in self.auxiliary:
            yield from method.unsupported_steps(step, f"{home}auxiliary.{name}.", scheme)
        if step is None or step >= 1:
            return
        for address, stage_step in self.own_stages(home):
            if reason := stage_step.stage.whole_steps:
                yield UnsupportedStep(address, stage_step.stage.name, reason, step, scheme)

    @checked()
    def check_step(self, step: float) -> None:
        """Refuse a step of the search range that a stage does not support.

        Parameters
        ----------
        step : float
            Distance of neighbouring levels, in pixels.

        Raises
        ------
        ParameterError
            A stage needs whole steps, and its step is below a pixel. The message names the
            parameter that determines the step, and the stage.
        """
        for unsupported in self.unsupported_steps(step):
            source = unsupported.scheme or "search"
            raise ParameterError(f"{source}.step: {unsupported.message()}")

    # --- running --------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def plan(self) -> tuple[Step, ...]:
        """What runs, in this order: costs that are added, auxiliary methods, and all that a scheme stands around are one step each."""
        return tuple(one for _, one in self.addressed_plan())

    def addressed_plan(self) -> list[tuple[str, Step]]:
        """(address, step) of what runs."""
        # Not kept: a sweep may have very many pipelines.
        if schemes := self.in_slot("scheme"):
            under = self.having(scheme=schemes[1:])
            return [(schemes[0].name, replace(schemes[0], inner=(under,)))]
        found = [("auxiliary", Step(AUXILIARY, inner=self.auxiliary))] if self.auxiliary else []
        costs = [one for one in self.steps if one.added]
        for address, one in self.own_stages():
            if found and found[-1][1].stage.slot == "aggregation" != one.stage.slot:
                found.append(("restore_outside_cost", RESTORE))
            if not one.added:
                found.append((address, one))
            elif one is costs[0]:
                found.append((one.stage.slot, cost_sum(costs)))
        return found

    @checked(
        scene="a Scene or a Pair, such as Pair(left, right, SearchRange(0, 63))",
        search="a SearchRange, such as SearchRange(0, 63)",
    )
    def __call__(
        self,
        scene: Scene | Pair,
        search: SearchRange | None = None,
        *,
        keep_volume: bool = False,
    ) -> Estimate:
        """Match the scene's frame pair, or a pair.

        Parameters
        ----------
        scene : Scene or Pair
        search : SearchRange, optional
            Instead of the scene's own; its direction is taken from the scene.
        keep_volume : bool
            Keep the optimizer's volume in the result. It then exists whole.

        Returns
        -------
        Estimate

        Raises
        ------
        DataError
            The scene has no search range, its images differ in size or are missing.
        ParameterError
            Neither a scene nor a pair.
        StereoFrameworkError
            A stage refuses its input, or the volume would not fit into memory.

        Warns
        -----
        ResultWarning
            The warnings of the estimate.
        """
        found = self.estimate(scene, search, keep_volume=keep_volume)
        # A method that a stage calls tells nobody but the stage.
        if stored_results() is None:
            warn(found.warnings)
        return found

    def estimate(
        self, scene: Scene | Pair, search: SearchRange | None = None, **options: Any
    ) -> Estimate:
        """Return the estimate of a call without issuing its warnings.

        Some callers report the warnings of the estimate themselves. The options are those of
        `Walk`.
        """
        pair = (
            Pair.of(scene, search)
            if isinstance(scene, Scene)
            else replace(scene, search=search or scene.search)
        )
        self.check_step(pair.search.step)
        need, free = (
            peak_memory(
                [self], pair.shape, pair.search, keep_volume=options.get("keep_volume", False)
            ),
            free_memory(),
        )
        if need > free:
            raise StereoFrameworkError(refusal(self, pair.shape, pair.search, need, free, "free"))
        match: Estimate = walked(self, pair, **options)
        return match


def _steps(stages: Any) -> Iterator[Step]:
    """Yield the steps of a stage or of a list; lists may contain lists, and None is empty.

    Raises
    ------
    ParameterError
        An item is no stage.
    """
    if stages is None:
        return
    if isinstance(stages, Step | str) or callable(stages):
        yield step(stages)
        return
    if isinstance(stages, Mapping | bytes | np.ndarray) or not isinstance(stages, Iterable):
        message = f"Pipeline: a step is {describe_value(stages)}; expected {STAGES}"
        raise ParameterError(message)
    for stage in stages:
        yield from _steps(stage)
