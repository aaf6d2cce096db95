"""Checks of the stages of a stereo method that need no images."""

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
    """Yield the address and the error message of each invalid combination of stages.

    Each auxiliary method was already checked when it was created. The stages of
    auxiliary methods are checked again, because the main method may withhold the scene.
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
    """Yield the name and the error message of each slot with missing or surplus stages.

    Parameters
    ----------
    names : mapping of str to list of str
        Names of the stages by slot, such as ``{"aggregation": ["box"]}``.
    """
    filled_slots = [slot for slot, stage_names in names.items() if stage_names]
    excluding_slots = {excluded: excluding for excluding, excluded in exclusions(filled_slots)}
    replaced_slots = {excluded for slot in filled_slots for excluded in SLOTS[slot].excludes}
    for slot, stage_names in names.items():
        rules = SLOTS[slot]
        if len(stage_names) > 1 and not (rules.many or rules.added):
            count = len(stage_names)
            yield slot, f"the slot takes one stage, not {count}: {', '.join(stage_names)}"
        if slot in excluding_slots:
            excluding = excluding_slots[slot]
            name = names[excluding][0]
            yield slot, f"the {excluding} {name} replaces this stage; remove the stage or {name}"
        if not stage_names and not rules.optional and slot not in replaced_slots:
            allowed = nearest("", [stage.name for stage in stages(slot)], kind="stages")
            yield slot, f"the method has no stage in this slot; add a stage or a matcher; {allowed}"


def _faults_of_withheld_data(step: Step, names: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield an error message if a stage reads data that another stage withholds."""
    for slot, stage_names in names.items():
        if stage_names:
            for data_name in sorted(SLOTS[slot].withholds & {*step.stage.data}):
                yield (
                    f"{step.stage.name} needs the {data_name}, "
                    f"but the {slot} {stage_names[0]} makes pairs without the {data_name}"
                )


def _faults_of_excluded_volumes(step: Step, names: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield an error message if a stage reads a cost volume that no stage creates.

    A method with a matcher has no matching cost and therefore no cost volume.
    """
    named_volumes = VOLUMES & {*step.stage.data, *step.stage.other_needs}
    for slot, stage_names in names.items():
        excluded_slots = SLOTS[slot].excludes
        # The function `_slot_faults` reports stages whose slot must be empty.
        if not stage_names or step.stage.slot in excluded_slots:
            continue
        excluded_data = {data for excluded in excluded_slots for data in SLOTS[excluded].makes}
        for volume in sorted(named_volumes & excluded_data)[:1]:
            yield (
                f"{step.stage.name} needs the {volume}, "
                f"but the {slot} {stage_names[0]} makes no cost volume"
            )


def _faults_of_step(step: Step, pipeline: Pipeline) -> Iterator[str]:
    """Yield error messages about missing auxiliary methods and smoothness terms."""
    stage = step.stage
    needs_auxiliary = "auxiliary" in stage.data and not stage.defaults("auxiliary")
    if needs_auxiliary and not pipeline.auxiliary:
        yield f"{stage.name} needs the disparity maps of auxiliary methods; add an auxiliary method"
    smoothness_names = [term.stage.name for term in pipeline.in_slot("smoothness")]
    smoothness = smoothness_names[0] if smoothness_names else None
    if misfit := stage.misfit({"smoothness": smoothness}):
        yield f"{stage.name}: {misfit}"


class UnsupportedStep(NamedTuple):
    """A stage that needs whole disparities, but gets disparity steps below one pixel.

    Parameters
    ----------
    address, name : str
        Address and name of the stage, such as ``optimization`` and ``stable_matching``.
    reason : str
        Reason why the stage cannot use disparities with fractions of a pixel. In error
        messages, the reason follows the name of the stage.
    step : float
        Distance between neighbouring disparities of the search range, in pixels.
    scheme : str
        Address of the scheme that sets the step of the search range, or an empty text.
    """

    address: str
    name: str
    reason: str
    step: float
    scheme: str

    def message(self) -> str:
        """Return an error message with the step, the stage and the remedy."""
        return (
            f"{self.step:g} pixel is not a whole step, and {self.name} ({self.address}) "
            f"{self.reason}; use a step of 1, and refine the disparities afterwards"
        )


def steps_below_a_pixel(
    pipeline: Pipeline, step: float | None, prefix: str = "", scheme: str = ""
) -> Iterator[UnsupportedStep]:
    """Yield the stages that need whole disparities, but get steps below one pixel.

    The result includes the stages of auxiliary methods. If a scheme has a parameter
    ``step``, this parameter replaces the step of the search range.

    Parameters
    ----------
    pipeline : Pipeline
    step : float or None
        Distance between neighbouring disparities, in pixels. None if the scene
        determines the search range.
    prefix : str
        Text with which the returned addresses begin, such as ``auxiliary.robust.``.
    scheme : str
        Address of the scheme that sets the step of the search range, or an empty text.
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
