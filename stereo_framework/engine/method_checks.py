"""Checks of a method that need no pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from stereo_framework.core.errors import nearest
from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS, exclusions
from stereo_framework.core.step import Step
from stereo_framework.core.view import VOLUMES

if TYPE_CHECKING:
    from stereo_framework.engine.pipeline import Pipeline


def pipeline_faults(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Yield the address and the message of each fault in a combination of stages.

    An auxiliary method was checked when it was created. Its stages are checked again
    for data that the outer method withholds.
    """
    names = {slot: [step.stage.name for step in pipeline.in_slot(slot)] for slot in SLOTS}
    yield from _slot_faults(names)
    for address, step in pipeline.stages():
        messages = list(_faults_of_withheld_data(step, names))
        is_auxiliary = address.startswith("auxiliary.")
        if not is_auxiliary:
            messages += _faults_of_excluded_volumes(step, names)
            messages += _faults_of_step(step, pipeline)
        for message in messages:
            yield address, message


def _slot_faults(names: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield the slot and the message of each slot with missing or too many stages.

    Parameters
    ----------
    names : mapping of str to list of str
        Names of the stages in each slot.
    """
    filled_slots = [slot for slot, stage_names in names.items() if stage_names]
    excluding_slots = {excluded: excluding for excluding, excluded in exclusions(filled_slots)}
    replaced_slots = {excluded for slot in filled_slots for excluded in SLOTS[slot].excludes}
    for slot, stage_names in names.items():
        rules = SLOTS[slot]
        if len(stage_names) > 1 and not (rules.many or rules.added):
            count = len(stage_names)
            yield slot, f"takes one stage, but has {count}: {', '.join(stage_names)}"
        if slot in excluding_slots:
            excluding = excluding_slots[slot]
            name = names[excluding][0]
            yield slot, f"the {excluding} {name} replaces this slot; remove one of both"
        if not stage_names and not rules.optional and slot not in replaced_slots:
            allowed = nearest("", [stage.name for stage in stages(slot)], kind="stages")
            yield slot, f"missing; a method needs a stage here, or a matcher; {allowed}"


def _faults_of_withheld_data(step: Step, names: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield a message if a stage names data that another stage withholds."""
    for slot, stage_names in names.items():
        if stage_names:
            for data_name in sorted(SLOTS[slot].withholds & {*step.stage.data}):
                yield (
                    f"{step.stage.name} needs the {data_name}, "
                    f"but the {slot} {stage_names[0]} makes pairs without one"
                )


def _faults_of_excluded_volumes(step: Step, names: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield a message if a stage names a cost volume that no stage of the method makes.

    A matcher excludes the matching cost, and makes no cost volume.
    """
    named_volumes = VOLUMES & {*step.stage.data, *step.stage.other_needs}
    for slot, stage_names in names.items():
        excluded_slots = SLOTS[slot].excludes
        # `_slot_faults` reports a stage whose own slot is excluded.
        if not stage_names or step.stage.slot in excluded_slots:
            continue
        excluded_data = {data for excluded in excluded_slots for data in SLOTS[excluded].makes}
        for volume in sorted(named_volumes & excluded_data)[:1]:
            yield (
                f"{step.stage.name} needs the {volume}, "
                f"but the {slot} {stage_names[0]} makes no cost volume"
            )


def _faults_of_step(step: Step, pipeline: Pipeline) -> Iterator[str]:
    """Yield messages about missing auxiliary methods and smoothness terms."""
    stage = step.stage
    needs_auxiliary = "auxiliary" in stage.data and not stage.defaults("auxiliary")
    if needs_auxiliary and not pipeline.auxiliary:
        yield f"{stage.name} needs auxiliary methods, but the method has no auxiliary methods"
    smoothness_names = [term.stage.name for term in pipeline.in_slot("smoothness")]
    smoothness = smoothness_names[0] if smoothness_names else None
    if misfit := stage.misfit({"smoothness": smoothness}):
        yield f"{stage.name}: {misfit}"


class UnsupportedStep(NamedTuple):
    """A stage that does not support the step of its search range.

    Parameters
    ----------
    address, name : str
        Address and name of the stage.
    reason : str
        Reason why the stage supports only whole steps. In a message, this text follows
        the name of the stage.
    step : float
        Step of the search range of the stage, in pixels.
    scheme : str
        Address of the scheme that determines the step; empty if the search range
        determines it.
    """

    address: str
    name: str
    reason: str
    step: float
    scheme: str

    def message(self) -> str:
        """Return the fault and the remedy, without the name of the parameter."""
        return (
            f"{self.step:g} pixel is not a whole step, and {self.name} ({self.address}) "
            f"{self.reason}; use a step of 1, and refine the disparities afterwards"
        )


def steps_below_a_pixel(
    pipeline: Pipeline, step: float | None, prefix: str = "", scheme: str = ""
) -> Iterator[UnsupportedStep]:
    """Yield the stages that need whole steps, but get a step below a pixel.

    The auxiliary methods are included. A scheme with a parameter ``step`` makes pairs
    whose search ranges have this step.

    Parameters
    ----------
    pipeline : Pipeline
    step : float or None
        Step of the search range in pixels; None if the scene determines it.
    prefix : str
        Beginning of the addresses.
    scheme : str
        Address of the scheme that determines the step; empty if the search range
        determines it.
    """
    for address, stage_step in pipeline.addressed_steps(prefix):
        scheme_step = stage_step.parameters.get("step")
        if stage_step.stage.slot == "scheme" and scheme_step is not None:
            step = scheme_step
            scheme = address

    for name, method in pipeline.auxiliary:
        yield from steps_below_a_pixel(method, step, f"{prefix}auxiliary.{name}.", scheme)
    if step is None or step >= 1:
        return
    for address, stage_step in pipeline.addressed_steps(prefix):
        if reason := stage_step.stage.whole_steps:
            yield UnsupportedStep(address, stage_step.stage.name, reason, step, scheme)
