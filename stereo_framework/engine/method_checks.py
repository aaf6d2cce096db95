"""Checks of the stages of a stereo method that need no images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from stereo_framework.core.errors import nearest
from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.step import Step
from stereo_framework.core.view import VOLUMES

if TYPE_CHECKING:
    from stereo_framework.engine.pipeline import Pipeline


def pipeline_faults(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Yield the address and the error message of each invalid combination of stages.

    Each auxiliary method was already checked when it was created. Of its stages, only
    those are reported that need data which the main method withholds.
    """
    names = {slot: [step.stage.name for step in pipeline.in_slot(slot)] for slot in SLOTS}
    filled_slots = [slot for slot in SLOTS if names[slot]]
    replacing_slots = {excluded: slot for slot in filled_slots for excluded in SLOTS[slot].excludes}
    yield from _slot_faults(names, replacing_slots)

    yield from _frame_faults(pipeline)

    withholding_slots = {data: slot for slot in filled_slots for data in SLOTS[slot].withholds}
    # The data of a step include the data of its inner steps. Therefore, an inner step
    # needs no check of its own.
    for address, step in _outer_steps(pipeline):
        for data_name, slot in sorted(withholding_slots.items()):
            if not step.gets(data_name):
                continue
            message = (
                f"{_reader(step, data_name)} needs the {data_name}, "
                f"but the {slot} {names[slot][0]} makes pairs without the {data_name}"
            )
            yield address, message
        is_auxiliary = address.startswith("auxiliary.")
        if not is_auxiliary:
            for message in _step_faults(step, pipeline, names, replacing_slots):
                yield address, message


def _outer_steps(pipeline: Pipeline, prefix: str = "") -> Iterator[tuple[str, Step]]:
    """Yield all steps of a method and its auxiliary methods, but no inner steps.

    Parameters
    ----------
    pipeline : Pipeline
    prefix : str
        Text with which the yielded addresses begin, such as ``auxiliary.robust.``.
    """
    for name, method in pipeline.auxiliary:
        yield from _outer_steps(method, f"{prefix}auxiliary.{name}.")
    yield from pipeline.addressed_steps(prefix)


def _frame_faults(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Yield an error message for each stage of both images that precedes other frames.

    Such a stage, for example an alignment of rows, corrects only the two images of the
    pair. It cannot correct the other frames.
    """
    # An inner stage counts even if the code of its outer stage names the frames. If the
    # outer stage does not give the frames, the inner stage would read wrong images.
    readers = [step for step in pipeline.steps if "frames" in step.data]
    if not readers:
        return
    for address, step in pipeline.addressed_steps():
        if step.stage.slot == "preprocessing" and "image" not in step.stage.data:
            message = (
                f"{step.stage.name} corrects the two images of a pair, but "
                f"{_reader(readers[0], 'frames')} reads the other frames of the scene, which "
                "are not corrected; remove one of the two stages"
            )
            yield address, message


def _slot_faults(
    names: Mapping[str, list[str]], replacing_slots: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the name and the error message of each slot with missing or surplus stages.

    Parameters
    ----------
    names : mapping of str to list of str
        Names of the stages by slot, such as ``{"aggregation": ["box"]}``.
    replacing_slots : mapping of str to str
        Slots that must be empty, each with the slot whose stage replaces it.
    """
    for slot, stage_names in names.items():
        rules = SLOTS[slot]
        replacing_slot = replacing_slots.get(slot)
        if len(stage_names) > 1 and not (rules.many or rules.added):
            count = len(stage_names)
            yield slot, f"the slot takes one stage, not {count}: {', '.join(stage_names)}"
        if stage_names and replacing_slot is not None:
            name = names[replacing_slot][0]
            message = f"the {replacing_slot} {name} replaces this stage; "
            yield slot, f"{message}remove the stage or {name}"
        if not stage_names and not rules.optional and replacing_slot is None:
            allowed = nearest("", [stage.name for stage in stages(slot)], kind="stages")
            yield slot, f"the method has no stage in this slot; add a stage or a matcher; {allowed}"


def _step_faults(
    step: Step,
    pipeline: Pipeline,
    names: Mapping[str, list[str]],
    replacing_slots: Mapping[str, str],
) -> Iterator[str]:
    """Yield an error message for each part of the method that a stage needs.

    The function `_slot_faults` describes the parameters `names` and `replacing_slots`.
    """
    stage = step.stage
    named_volumes = {name for name in VOLUMES if step.requires(name)}
    if step.requires("other"):
        named_volumes |= step.other_reads
    # A matcher replaces the matching cost, so the method has no cost volume. Stages
    # that the matcher replaces are reported by `_slot_faults`.
    replacing_slot = replacing_slots.get("matching_cost")
    if named_volumes and replacing_slot is not None and stage.slot not in replacing_slots:
        name = names[replacing_slot][0]
        volume_name = min(named_volumes)
        needed = f"{_reader(step, volume_name)} needs the {volume_name}"
        yield f"{needed}, but the {replacing_slot} {name} makes no cost volume"

    needs_auxiliary = step.requires("auxiliary")
    if needs_auxiliary and not pipeline.auxiliary:
        name = _reader(step, "auxiliary")
        yield f"{name} needs the disparity maps of auxiliary methods; add an auxiliary method"
    smoothness = next(iter(names["smoothness"]), None)
    yield from _misfits(step, smoothness)
    for _, each_step in step.walk(""):
        yield from _inner_optimizer_faults(each_step)


def _misfits(step: Step, smoothness: str | None) -> Iterator[str]:
    """Yield an error message for each stage that does not fit the smoothness term.

    The message about an inner stage names the outer stage, too. If the outer stage
    gives the smoothness term to its inner stages, they are not checked.
    """
    if misfit := step.stage.misfit({"smoothness": smoothness}):
        yield f"{step.stage.name}: {misfit}"
    for inner_step in step.inner_steps.values():
        gets_other_term = "smoothness" in inner_step.data and not step.gets("smoothness")
        if gets_other_term:
            continue
        for message in _misfits(inner_step, smoothness):
            yield f"{message} (inside {step.stage.name})"


def _inner_optimizer_faults(step: Step) -> Iterator[str]:
    """Yield an error message for each inner optimizer that matches both images.

    Such an inner stage returns `BothSides`, but its outer stage matches one image.
    """
    stage = step.stage
    for inner_step in step.inner_steps.values():
        # An inner stage that returns one map gets its own message about the stages
        # inside it.
        matches_both_images = "other" in inner_step.data and not _returns_one_map(inner_step)
        if matches_both_images and _returns_one_map(step):
            yield (
                f"{stage.name} contains {inner_step.stage.name}, which computes the disparity "
                f"maps of both images, but {stage.name} computes only one disparity map"
            )


def _returns_one_map(step: Step) -> bool:
    """Return whether a step is an optimizer or a matcher of a single image."""
    return step.stage.rules.returns_both_sides and "other" not in step.stage.data


def _reader(step: Step, data_name: str) -> str:
    """Return the name of the stage of a step that reads some data.

    If an inner stage reads the data, the result names this stage and the outer stage.
    """
    stage = step.stage
    reads_itself = data_name in stage.data and data_name not in stage.data_for_inner
    for inner_step in step.inner_steps.values():
        if not reads_itself and data_name in inner_step.data:
            return f"{_reader(inner_step, data_name)} (inside {step.stage.name})"
    return step.stage.name


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
        Address of the scheme that changes the step of the search range. The text is
        empty if no scheme changes the step.
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
        Address of the scheme that changes the step of the search range. The text is
        empty if no scheme changes the step.
    """
    for address, stage_step in pipeline.addressed_steps(prefix):
        scheme_step = stage_step.parameters.get("step")
        if stage_step.stage.slot == "scheme" and scheme_step is not None:
            step = scheme_step
            scheme = address

    for name, method in pipeline.auxiliary:
        yield from steps_below_a_pixel(method, step, f"{prefix}auxiliary.{name}.", scheme)
    # A search range has a step of 1/N pixel or of N pixels, so a step from 1 is whole.
    if step is None or step >= 1:
        return
    for address, stage_step in pipeline.addressed_steps(prefix):
        if reason := stage_step.whole_steps:
            yield UnsupportedStep(address, stage_step.stage.name, reason, step, scheme)
