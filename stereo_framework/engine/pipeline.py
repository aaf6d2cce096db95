"""A stereo method as a sequence of steps, which matches a scene."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.arguments import checked, describe_value
from stereo_framework.core.call_context import stored_results
from stereo_framework.core.errors import ParameterError, StereoFrameworkError, nearest, warn
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.former_names import new_name_hint, parameter_hint, report_attributes
from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import Scene
from stereo_framework.core.search import SearchRange
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.step import Step
from stereo_framework.core.step import step as create_step
from stereo_framework.engine.memory import peak_memory
from stereo_framework.engine.method_checks import pipeline_faults, steps_below_a_pixel
from stereo_framework.engine.planned_steps import PlannedStep, plan_with_addresses
from stereo_framework.engine.runner import run_pipeline
from stereo_framework.engine.tiling import refusal
from stereo_framework.kernels.free_memory import free_memory

STAGES = "a list of stages: names, functions, or step(NAME, parameter=value)"
"""Description of the steps of a pipeline, for messages."""

_SLOT_NUMBERS = {slot: number for number, slot in enumerate(SLOTS)}


@report_attributes
@dataclass(init=False, repr=False, unsafe_hash=True)
class Pipeline:
    """A stereo method: a sequence of steps, and auxiliary methods.

    The steps are sorted by their slots. Steps of the same slot keep their order. Two or
    more matching costs are added up.

    Parameters
    ----------
    steps : Step or iterable of Step
        The name of a stage, or its function, means a step with default parameters. A
        list in this list means its items.
    auxiliary : mapping of str to Pipeline
        Auxiliary methods by name. They match the same pair. A stage with the data
        argument ``auxiliary`` gets their disparity maps.

    Raises
    ------
    ParameterError
        A stage is missing, or a slot has too many stages. A stage needs data that no
        other stage makes, or a missing smoothness term.

    Examples
    --------
    >>> from stereo_framework import Pipeline, load_scene, step
    >>> box = step("box", size=9)
    >>> method = Pipeline(["absolute_difference", box, "winner_take_all"])
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
        sorted_steps = sorted(_steps_of(steps), key=lambda step: _SLOT_NUMBERS[step.stage.slot])
        self.steps = tuple(_with_weights(sorted_steps))
        self.auxiliary = tuple((auxiliary or {}).items())
        faults = [f"{address}: {message}" for address, message in pipeline_faults(self)]
        if faults:
            raise ParameterError("\n".join(faults))

    def having(self, **changes: Any) -> Pipeline:
        """Return a copy with new values of parameters, or new stages in some slots.

        Parameters
        ----------
        **changes
            Values by address, such as ``**{"aggregation.box.size": 9}``. The name of a
            parameter alone, such as ``p1=10``, is enough if only one stage has this
            parameter. The name of a slot gives it new stages:
            ``refinement=["median"]``, ``smoothness=None``. ``auxiliary`` replaces all
            auxiliary methods.

        Raises
        ------
        ParameterError
            No stage has such a parameter, or more than one stage has it.

        Examples
        --------
        >>> from stereo_framework import Pipeline
        >>> method = Pipeline(["absolute_difference", "box", "winner_take_all"])
        >>> method.having(size=5, truncation=20)
        Pipeline(absolute_difference(truncation=20) > box(size=5) > winner_take_all)
        """
        stages_of_slots = {slot: changes.pop(slot) for slot in SLOTS if slot in changes}
        auxiliary = changes.pop("auxiliary", dict(self.auxiliary))
        if not isinstance(auxiliary, Mapping | None):
            message = (
                f"Pipeline.having: auxiliary is {describe_value(auxiliary)}; "
                "expected a mapping of names to Pipelines"
            )
            raise ParameterError(message)

        methods = dict(auxiliary or {})
        steps = dict(self.addressed_steps())
        for name, value in changes.items():
            address, parameter = self._address_of_parameter(name)
            if address in steps:
                steps[address] = steps[address].having(**{parameter: value})
            else:
                _, method_name, inner_address = address.split(".", 2)
                method = methods[method_name]
                methods[method_name] = method.having(**{f"{inner_address}.{parameter}": value})

        new_steps = [step for step in steps.values() if step.stage.slot not in stages_of_slots]
        for slot, stages in stages_of_slots.items():
            new_steps += _steps_of_slot(slot, stages)
        return Pipeline(new_steps, methods)

    def _address_of_parameter(self, name: str) -> tuple[str, str]:
        """Find the stage that has a parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``size``, or its address. An address such as
            ``aggregation.box.size`` may be shortened to ``box.size``.

        Returns
        -------
        address : str
            Address of the stage.
        parameter : str
            Name of the parameter.

        Raises
        ------
        ParameterError
            No stage has such a parameter, or more than one stage has it.
        """
        typed_address, _, parameter = name.rpartition(".")
        addresses = []
        for address, step in self.stages():
            stage = step.stage
            accepted = ("", address, stage.slot, stage.name, step.name)
            if parameter in step.parameters and typed_address in accepted:
                addresses.append(address)
        if len(addresses) == 1:
            return addresses[0], parameter
        if addresses:
            raise ParameterError(
                f"{name}: {' and '.join(addresses)} have this parameter; "
                f"name one of them, as in **{{'{addresses[0]}.{parameter}': ...}}"
            )
        remedy = self._new_name_hint(name) or nearest(name, self._names_of_parameters(name))
        raise ParameterError(f"{name}: no stage has this parameter; {remedy}")

    def _names_of_parameters(self, name: str) -> set[str]:
        """Return the allowed names of parameters, with addresses if `name` has one."""
        names = set()
        for address, step in self.stages():
            for parameter in step.parameters:
                names.add(f"{address}.{parameter}" if "." in name else parameter)
        return names

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

    # --- the steps --------------------------------------------------------------------

    def addressed_steps(self, prefix: str = "") -> tuple[tuple[str, Step], ...]:
        """Return (address, step) of all steps, without those of auxiliary methods.

        Parameters
        ----------
        prefix : str
            Beginning of all addresses, such as ``auxiliary.robust.``.
        """
        names = [step.name for step in self.steps]
        addressed_steps = []
        slot, number = "", 0
        for step in self.steps:
            is_next_of_slot = step.stage.slot == slot
            number = number + 1 if is_next_of_slot else 0
            slot = step.stage.slot
            address = f"{prefix}{slot}"
            if SLOTS[slot].many or step.is_summand:
                # A stage that occurs twice in a slot is addressed by its number.
                last_part = step.stage.name if names.count(step.name) == 1 else number
                address = f"{address}.{last_part}"
            addressed_steps.append((address, step))
        return tuple(addressed_steps)

    @checked()
    def stages(self, prefix: str = "") -> tuple[tuple[str, Step], ...]:
        """Return (address, step) of all steps, first those of the auxiliary methods.

        The addresses are those of scripts, such as ``aggregation.box``. A stage
        that occurs twice in a slot is addressed by its number, such as
        ``refinement.1``. Addresses in auxiliary methods begin with
        ``auxiliary.NAME.``.

        Parameters
        ----------
        prefix : str
            Beginning of all addresses.
        """
        stages: list[tuple[str, Step]] = []
        for name, method in self.auxiliary:
            stages += method.stages(f"{prefix}auxiliary.{name}.")
        return (*stages, *self.addressed_steps(prefix))

    @checked()
    def in_slot(self, slot: str) -> tuple[Step, ...]:
        """Return the steps of a slot."""
        return tuple(step for step in self.steps if step.stage.slot == slot)

    @property
    def name(self) -> str:
        """Name of the optimizer or of the matcher, which computes the disparity map."""
        return next(step.stage.name for step in self.steps if step.stage.rules.makes_disparity)

    def files(self, scene: Scene | None = None) -> dict[str, tuple[Path, ...]]:
        """Return the external files of all stages by address; see `Step.files`."""
        return {address: step.files(scene) for address, step in self.stages() if step.stage.files}

    @checked()
    def check_step(self, step: float) -> None:
        """Raise an error if a stage does not support the step of a search range.

        Parameters
        ----------
        step : float
            Distance of neighbouring levels, in pixels.

        Raises
        ------
        ParameterError
            A stage needs whole steps, and its step is below a pixel. The message names
            the parameter that determines the step, and the stage.
        """
        for unsupported in steps_below_a_pixel(self, step):
            source = unsupported.scheme or "search"
            raise ParameterError(f"{source}.step: {unsupported.message()}")

    # --- running ----------------------------------------------------------------------

    @functools.cached_property
    def plan(self) -> tuple[PlannedStep, ...]:
        """The steps that run, in running order."""
        return tuple(planned_step for _, planned_step in plan_with_addresses(self))

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
        """Match the two images of a scene, or a pair.

        Parameters
        ----------
        scene : Scene or Pair
        search : SearchRange, optional
            Default: the search range of the scene. The direction is taken from the
            scene.
        keep_volume : bool
            Keep the cost volume of the optimizer in the result. The whole volume is
            then in memory.

        Returns
        -------
        Estimate

        Raises
        ------
        DataError
            The scene has no search range, or its images differ in size or are missing.
        ParameterError
            The argument is neither a scene nor a pair.
        StereoFrameworkError
            A stage refuses its input, or the cost volumes do not fit into memory.

        Warns
        -----
        ResultWarning
            The warnings of the estimate.
        """
        estimate = self.estimate(scene, search, keep_volume=keep_volume)
        is_called_by_stage = stored_results() is not None
        # A stage that calls a method decides itself whether it passes warnings on.
        if not is_called_by_stage:
            warn(estimate.warnings)
        return estimate

    def estimate(
        self, scene: Scene | Pair, search: SearchRange | None = None, **options: Any
    ) -> Estimate:
        """Return the estimate of a call without issuing its warnings.

        Some callers report the warnings of the estimate themselves. The options are
        arguments of `PipelineRunner`.
        """
        if isinstance(scene, Scene):
            pair = Pair.of(scene, search)
        else:
            pair = replace(scene, search=search or scene.search)
        self.check_step(pair.search.step)

        keep_volume = options.get("keep_volume", False)
        needed = peak_memory([self], pair.shape, pair.search, keep_volume=keep_volume)
        free = free_memory()
        if needed > free:
            message = refusal(self, pair.shape, pair.search, needed, free, "free")
            raise StereoFrameworkError(message)
        estimate: Estimate = run_pipeline(self, pair, **options)
        return estimate


def _with_weights(steps: list[Step]) -> Iterator[Step]:
    """Yield the steps. Two or more matching costs get a weight."""
    counts = {slot: sum(step.stage.slot == slot for step in steps) for slot in SLOTS}
    for step in steps:
        is_one_of_several = step.stage.rules.added and counts[step.stage.slot] > 1
        yield step.having(weight=1) if is_one_of_several and not step.is_summand else step


def _steps_of_slot(slot: str, stages: Any) -> list[Step]:
    """Return the steps of a stage or of a list of stages of one slot.

    Raises
    ------
    ParameterError
        An item is no stage, or a stage of another slot.
    """
    steps = list(_steps_of(stages))
    for new_step in steps:
        stage = new_step.stage
        if stage.slot != slot:
            raise ParameterError(f"{slot}: {stage.name} is a stage of {stage.slot}")
    return steps


def _steps_of(stages: Any) -> Iterator[Step]:
    """Yield the steps of a stage, or of a list of stages, which may contain lists.

    Raises
    ------
    ParameterError
        An item is no stage.
    """
    if stages is None:
        return
    if isinstance(stages, Step | str) or callable(stages):
        yield create_step(stages)
        return
    if isinstance(stages, Mapping | bytes | np.ndarray) or not isinstance(stages, Iterable):
        message = f"Pipeline: a step is {describe_value(stages)}; expected {STAGES}"
        raise ParameterError(message)
    for stage in stages:
        yield from _steps_of(stage)
