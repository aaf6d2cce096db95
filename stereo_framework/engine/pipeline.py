"""The class `Pipeline`, a stereo method that matches the two images of a scene."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.arguments import checked, describe_value
from stereo_framework.core.call_context import stored_results
from stereo_framework.core.cost_of_pairs import CostOfPairs
from stereo_framework.core.errors import ParameterError, StereoFrameworkError, warn
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.former_names import report_attributes
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import step as create_step
from stereo_framework.core.scene import Scene
from stereo_framework.core.search import SearchRange
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.step import Step
from stereo_framework.engine.changed_method import ChangedMethod
from stereo_framework.engine.memory import FramesInMemory, peak_memory
from stereo_framework.engine.method_checks import pipeline_faults, steps_below_a_pixel
from stereo_framework.engine.planned_steps import PlannedStep, plan_with_addresses
from stereo_framework.engine.plans import REFERENCE
from stereo_framework.engine.runner import cost_volume_of_pair, run_pipeline
from stereo_framework.engine.tiling import refusal
from stereo_framework.kernels.free_memory import free_memory

STAGES = "a list of stages: names, functions, or step(NAME, parameter=value)"
"""Description of the argument `steps` of a pipeline, for error messages."""

_SLOT_NUMBERS = {slot: number for number, slot in enumerate(SLOTS)}


@report_attributes
@dataclass(init=False, repr=False, unsafe_hash=True)
class Pipeline:
    """A stereo method that consists of steps, such as a matching cost and an optimizer.

    The pipeline sorts the steps into execution order, such as aggregation before
    refinement. Steps of the same kind, such as two refinements, keep their given order.
    If a method has several matching costs, their cost volumes are added up.

    Parameters
    ----------
    steps : Step or iterable of Step
        Steps of the method, which may be given as nested lists. The name or the
        function of a stage stands for a step with default parameters.
    auxiliary : mapping of str to Pipeline
        Auxiliary methods by name, which match the same pair of images. A stage reads
        the disparity maps of auxiliary methods through its argument ``auxiliary``.

    Raises
    ------
    ParameterError
        If a required stage is missing, or if a slot has too many stages. The error is
        also raised if a stage needs data that the method does not create.

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
        self.steps = _sorted_steps(steps)
        self.auxiliary = tuple((auxiliary or {}).items())
        # A sweep plans thousands of methods. This attribute needs less memory than a
        # cached property, for which Python creates a dictionary in each pipeline.
        self._stages = self._addressed_stages()
        faults = [f"{address}: {message}" for address, message in pipeline_faults(self)]
        if faults:
            raise ParameterError("\n".join(faults))

    def having(self, **changes: Any) -> Pipeline:
        """Return a copy of the method with changed parameters or other stages.

        Parameters
        ----------
        **changes
            New parameter values, such as ``**{"aggregation.box.size": 9}``. The short
            form ``p1=10`` is enough if only one stage has the parameter ``p1``. The
            short addresses ``box.size`` and ``cross_scale.inner.size`` are allowed,
            too. The name of a slot replaces all stages of the slot, as in
            ``refinement=["median"]``. The value None removes all stages of a slot, as
            in ``smoothness=None``. The argument ``auxiliary`` replaces all auxiliary
            methods. All other values belong to the new stages and the new auxiliary
            methods. The order of the arguments has no effect.

        Raises
        ------
        ParameterError
            If no stage has a given parameter, or if several stages have the parameter.

        Examples
        --------
        >>> from stereo_framework import Pipeline
        >>> method = Pipeline(["absolute_difference", "box", "winner_take_all"])
        >>> method.having(size=5, truncation=20)
        Pipeline(absolute_difference(truncation=20) > box(size=5) > winner_take_all)
        """
        stages_of_slots = {slot: changes.pop(slot) for slot in SLOTS if slot in changes}
        auxiliary = changes.pop("auxiliary", dict(self.auxiliary))
        if auxiliary is None:
            auxiliary = {}
        is_mapping = isinstance(auxiliary, Mapping)
        if not is_mapping or not all(isinstance(each, Pipeline) for each in auxiliary.values()):
            message = (
                f"Pipeline.having: auxiliary is {describe_value(auxiliary)}; "
                "expected a mapping of names to Pipelines"
            )
            raise ParameterError(message)

        steps: list[Any] = [step for step in self.steps if step.stage.slot not in stages_of_slots]
        for slot, stages in stages_of_slots.items():
            steps += _steps_of_slot(slot, stages)
        changed_method = ChangedMethod(_with_addresses(_sorted_steps(steps)), auxiliary)
        changed_method.change(changes)
        return Pipeline(changed_method.steps, changed_method.auxiliary)

    def __reduce__(self) -> tuple[Any, ...]:
        return Pipeline, (self.steps, dict(self.auxiliary))

    def __repr__(self) -> str:
        steps = " > ".join(map(repr, self.steps))
        auxiliary = f", {dict(self.auxiliary)!r}" if self.auxiliary else ""
        return f"Pipeline({steps}{auxiliary})"

    # --- the steps --------------------------------------------------------------------

    def addressed_steps(self, prefix: str = "") -> tuple[tuple[str, Step], ...]:
        """Return the steps of the method, each with its address.

        The steps of auxiliary methods are left out.

        Parameters
        ----------
        prefix : str
            Text with which all returned addresses begin, such as ``auxiliary.robust.``.
        """
        return _with_addresses(self.steps, prefix)

    @checked()
    def stages(self, prefix: str = "") -> tuple[tuple[str, Step], ...]:
        """Return the address and the step of each stage, auxiliary methods first.

        Scripts use the same addresses of stages, such as ``aggregation.box``. If a slot
        contains a stage twice, a number replaces the stage name, as in
        ``refinement.1``. Addresses of stages in auxiliary methods begin with
        ``auxiliary.NAME.``. An inner stage follows its outer stage, for example with
        the address ``aggregation.cross_scale.inner``.

        Parameters
        ----------
        prefix : str
            Text with which all returned addresses begin, such as ``auxiliary.robust.``.
        """
        if not prefix:
            return self._stages
        return tuple((f"{prefix}{address}", step) for address, step in self._stages)

    def _addressed_stages(self) -> tuple[tuple[str, Step], ...]:
        """Return the address and the step of each stage, auxiliary methods first."""
        stages: list[tuple[str, Step]] = []
        for name, method in self.auxiliary:
            stages += method.stages(f"auxiliary.{name}.")
        for address, step in self.addressed_steps():
            stages += step.walk(address)
        return tuple(stages)

    @property
    def reads_frames(self) -> bool:
        """Return whether a stage of the method or of an auxiliary method reads frames.

        Frames are the other images of a scene, which are neither the reference image
        nor the match image.
        """
        return any("frames" in step.data for _, step in self.stages())

    @checked()
    def in_slot(self, slot: str) -> tuple[Step, ...]:
        """Return all steps in a slot, such as ``aggregation``."""
        return tuple(step for step in self.steps if step.stage.slot == slot)

    @property
    def name(self) -> str:
        """Name of the optimizer or matcher that computes the disparity map."""
        return next(step.stage.name for step in self.steps if step.stage.rules.makes_disparity)

    def files(self, scene: Scene | None = None) -> dict[str, tuple[Path, ...]]:
        """Return the external files that each stage reads, by address of the stage."""
        return {address: step.files(scene) for address, step in self.stages() if step.stage.files}

    @checked()
    def check_step(self, step: float) -> None:
        """Raise an error if a stage does not support the step of the search range.

        Parameters
        ----------
        step : float
            Distance between neighbouring disparities of the search range, in pixels.

        Raises
        ------
        ParameterError
            A stage supports only steps of whole pixels, but the step is below one
            pixel. The message names the stage, and the parameter that sets the step.
        """
        for unsupported in steps_below_a_pixel(self, step):
            source = unsupported.scheme or "search"
            raise ParameterError(f"{source}.step: {unsupported.message()}")

    # --- running ----------------------------------------------------------------------

    @functools.cached_property
    def planned_steps(self) -> tuple[tuple[str, PlannedStep], ...]:
        """The address and the planned step of each step that the engine runs.

        The address is the key of the run time of the step in an estimate.
        """
        return tuple(plan_with_addresses(self))

    @functools.cached_property
    def plan(self) -> tuple[PlannedStep, ...]:
        """All steps that run for the method, in the order of execution."""
        return tuple(planned_step for _, planned_step in self.planned_steps)

    def cost_of_pairs(self, pair: Pair) -> CostOfPairs:
        """Return the matching cost of the method as a function of a pair of images.

        Parameters
        ----------
        pair : Pair
            Pair for the attribute `pair` of the result.

        Raises
        ------
        ParameterError
            The method computes no cost volume, because it has a matcher or a scheme.

        Examples
        --------
        >>> from stereo_framework import Pair, Pipeline, load_scene
        >>> method = Pipeline(["absolute_difference", "box", "winner_take_all"])
        >>> pair = Pair.of(load_scene("synthetic/planes"))
        >>> cost = method.cost_of_pairs(pair)
        >>> cost(pair).costs.shape == (*pair.shape, pair.search.levels)
        True
        """
        counts = [i for i, step in enumerate(self.plan) if "raw" in step.makes]
        if not counts:
            raise ParameterError("the method has no matching cost outside of a scheme")
        first_steps = self.plan[: counts[-1] + 1]
        return CostOfPairs(pair, functools.partial(cost_volume_of_pair, first_steps, REFERENCE))

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
        """Match the two images of a scene or of a pair.

        Parameters
        ----------
        scene : Scene or Pair
        search : SearchRange, optional
            Range of disparities to search. The default is the search range of the
            scene. If a scene is given, its search direction is used.
        keep_volume : bool
            If True, the estimate contains the cost volume of the optimizer. The option
            needs memory for the cost volume of the whole image.

        Returns
        -------
        Estimate

        Raises
        ------
        DataError
            If the scene has no search range, or if its images are missing or differ in
            size.
        ParameterError
            If the argument is neither a scene nor a pair.
        StereoFrameworkError
            If a stage refuses its input, or if the cost volumes do not fit into memory.

        Warns
        -----
        ResultWarning
            If the estimate contains warnings, for example about a narrow search range.
        """
        estimate = self.estimate(scene, search, keep_volume=keep_volume)
        is_called_by_stage = stored_results() is not None
        # If a stage calls a method, the stage decides which warnings are issued.
        if not is_called_by_stage:
            warn(estimate.warnings)
        return estimate

    def estimate(
        self, scene: Scene | Pair, search: SearchRange | None = None, **options: Any
    ) -> Estimate:
        """Match a scene or a pair without issuing warnings.

        The returned estimate contains the warnings, so that the caller can report the
        warnings. The options are further arguments of the class `PipelineRunner`.
        """
        if isinstance(scene, Scene):
            pair = Pair.of(scene, search)
        else:
            pair = replace(scene, search=search or scene.search)
        self.check_step(pair.search.step)
        for _, step in self.addressed_steps():
            step.check_files(pair.scene)

        keep_volume = options.get("keep_volume", False)
        frames = FramesInMemory.of(len(pair.frames), pair.reference)
        peak = peak_memory([self], pair.shape, pair.search, keep_volume=keep_volume, frames=frames)
        free = free_memory()
        if peak.size > free:
            message = refusal(self, pair.shape, pair.search, peak, free, "free", frames)
            raise StereoFrameworkError(message)
        estimate: Estimate = run_pipeline(self, pair, **options)
        return estimate


def _sorted_steps(stages: Any) -> tuple[Step, ...]:
    """Convert stages to steps in execution order, with weights in a sum of costs."""
    steps = sorted(_steps_of(stages), key=lambda step: _SLOT_NUMBERS[step.stage.slot])
    return tuple(_with_weights(steps))


def _with_addresses(steps: Sequence[Step], prefix: str = "") -> tuple[tuple[str, Step], ...]:
    """Return the steps of a method, each with its address.

    Parameters
    ----------
    steps : sequence of Step
        Steps in execution order.
    prefix : str
        Text with which all returned addresses begin.
    """
    names = [step.name for step in steps]
    addressed_steps = []
    slot, number = "", 0
    for step in steps:
        is_next_of_slot = step.stage.slot == slot
        number = number + 1 if is_next_of_slot else 0
        slot = step.stage.slot
        address = f"{prefix}{slot}"
        if step.is_in_list:
            # If a slot contains a stage twice, the address ends with the number of the
            # step in the slot.
            last_part = step.stage.name if names.count(step.name) == 1 else number
            address = f"{address}.{last_part}"
        # Thousands of settings have the same addresses.
        addressed_steps.append((sys.intern(address), step))
    return tuple(addressed_steps)


def _with_weights(steps: list[Step]) -> Iterator[Step]:
    """Yield all steps, with a weight of 1 for each of several matching costs."""
    counts = Counter(step.stage.slot for step in steps)
    for step in steps:
        is_one_of_several = step.stage.rules.added and counts[step.stage.slot] > 1
        yield step.having(weight=1) if is_one_of_several and not step.is_summand else step


def _steps_of_slot(slot: str, stages: Any) -> list[Step]:
    """Convert a stage or a list of stages of one slot to a list of steps.

    Raises
    ------
    ParameterError
        If an item is no stage, or if the stage belongs to another slot.
    """
    steps = list(_steps_of(stages))
    for new_step in steps:
        stage = new_step.stage
        if stage.slot != slot:
            raise ParameterError(f"{slot}: {stage.name} is a stage of {stage.slot}")
    return steps


def _steps_of(stages: Any) -> Iterator[Step]:
    """Convert a stage or a list of stages, which may be nested, to steps.

    Raises
    ------
    ParameterError
        If an item of the list is not a stage.
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
