"""Makes the pipelines of a method from the contents of its slots.

The faults that only whole methods show are reported here: parameters that cannot be
used together, files that are missing, and stages that do not fit together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.registration import step
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.step import Step
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.io.document import Document
from stereo_framework.io.locations import Location, join
from stereo_framework.script.addresses import names, split
from stereo_framework.script.effects import (
    IGNORES_SMOOTHNESS,
    auxiliary_methods_read,
    unread_reason,
)
from stereo_framework.script.halo_check import halo_fault
from stereo_framework.script.methods import Method
from stereo_framework.script.rehearsal import direction_faults, name_faults
from stereo_framework.script.slot_stages import NOTHING


class StoredResults:
    """Stores the results of functions, which many settings share."""

    def __init__(self) -> None:
        self._results: dict[tuple[Any, ...], Any] = {}

    def of(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function, or return its stored result for equal arguments."""
        key = (function.__name__, *arguments)
        if key not in self._results:
            self._results[key] = function(*arguments)
        return self._results[key]

    def clear(self) -> None:
        """Delete all results, to free their memory."""
        self._results.clear()


@dataclass(eq=False)
class PipelineBuilder:
    """Makes the pipelines of a method, and reports their faults.

    Settings with equal slots share their steps, and settings with equal auxiliary
    methods share the pipelines of these.

    Parameters
    ----------
    method : Method
    tuning : bool
        True if parameters that cannot be used together are allowed, because a search
        for the best values tries them and finds out that they fail.
    stored : StoredResults

    Attributes
    ----------
    has_fault : bool
        Whether a pipeline had a fault.
    """

    method: Method
    tuning: bool
    stored: StoredResults
    has_fault: bool = False
    _reported_stages: set[tuple[str, int]] = field(default_factory=set)

    def draws_random_numbers(self, slots: Mapping[str, Document]) -> bool:
        """Return whether a stage draws random numbers with the script's seed."""
        return any(
            self.stored.of(self._slot_draws, slot, content) for slot, content in slots.items()
        )

    def _slot_draws(self, slot: str, content: Document) -> bool:
        """Return whether a stage of a slot uses the script's seed."""
        for outer_step in self.method.steps(slot, content) or ():
            for _, each_step in outer_step.walk(slot):
                lacks_seed = "seed" in each_step.stage.parameters.keys() - each_step.parameters
                if lacks_seed and not unread_reason(each_step, "seed"):
                    return True
        return False

    def pipeline(self, prefix: str, seed: int, *slots: tuple[str, Document]) -> Pipeline:
        """Return the pipeline of a method or of an auxiliary method.

        Settings with equal auxiliary methods share their pipelines.

        Parameters
        ----------
        prefix : str
            Prefix of the auxiliary method; empty for the method itself.
        seed : int
        *slots : tuple of str and Document
            Addresses and contents of all slots, including those of auxiliary methods.
        """
        content_of_slot = dict(slots)
        auxiliary = {}
        for inner_prefix in self.method.auxiliary_prefixes(prefix):
            inner_slots = [slot for slot in slots if slot[0].startswith(inner_prefix)]
            auxiliary[names(inner_prefix)[-1]] = self.stored.of(
                self.pipeline, inner_prefix, seed, *inner_slots
            )
        steps: list[Step] = []
        for slot in SLOTS:
            content = content_of_slot.get(prefix + slot)
            if content is None:
                continue
            checked_steps = self.method.steps(slot, content)
            if checked_steps:
                steps += self.stored.of(self._steps, prefix + slot, content, seed)
            elif checked_steps is None:
                self.has_fault = True
                if slot == "smoothness":
                    # Without a term in its place, the optimizer would report that the
                    # smoothness term is missing.
                    steps.append(step("potts"))
        try:
            pipeline = Pipeline(steps, auxiliary)
            self._note_unread_parts(prefix, content_of_slot, pipeline)
            _check_beginnings(pipeline)
            return pipeline
        except ParameterError as error:
            self.has_fault = True
            self._report_faults(prefix, content_of_slot, error)
            # A pipeline without faults stands in, because there may be further faults.
            return Pipeline(["absolute_difference", "winner_take_all"])

    def _steps(self, slot: str, content: Document, seed: int) -> list[Step]:
        """Return the steps of a slot with all seeds, and report their faults.

        These faults need all parameters: parameters that cannot be used together, files
        that are missing, and wrong halos.
        """
        checked_steps = self.method.steps(slot, content) or ()
        steps = []
        for index, (item, stage_step) in enumerate(
            zip(content.items(), checked_steps, strict=True)
        ):
            stage_step = _with_seed(stage_step, seed)
            steps.append(stage_step)
            self._note_unread_parameters(item, stage_step)
            for _, each_step in stage_step.walk(slot):
                execution = each_step.stage.execution(each_step.parameters)
                if execution:
                    self.method.model.findings.note_execution(execution, item.location)
            # One message for each stage is enough.
            if (slot, index) in self._reported_stages:
                continue
            message = self._fault_of_step(stage_step)
            if message:
                self._reported_stages.add((slot, index))
                self.method.fault(item.location, message)
        return steps

    def _fault_of_step(self, outer_step: Step) -> str:
        """Return why a stage cannot run with its parameters; empty if it can."""
        for _, each_step in outer_step.walk(""):
            message = "" if self.tuning else _misfit(each_step)
            message = message or halo_fault(each_step)
            if message and each_step is not outer_step:
                return f"{outer_step.stage.name}: {message}"
            if message:
                return message
        return ""

    def _note_unread_parameters(self, stage: Document, stage_step: Step) -> None:
        """Note whether a stage reads the parameters that the script gives it."""
        for name in stage.mapping:
            parameter = stage_step.stage.parameters.get(name)
            if parameter is not None and stage_step.parameters.get(name) != parameter.default:
                reason = unread_reason(stage_step, name)
                self.method.model.findings.note_reading(stage.locations[name,], reason)
            if name in stage_step.inner_steps:
                self._note_unread_parameters(stage.part(name), stage_step.inner_steps[name])

    def _note_unread_parts(
        self, prefix: str, slots: Mapping[str, Document], pipeline: Pipeline
    ) -> None:
        """Note whether stages read the smoothness term and the auxiliary methods."""
        term = slots.get(f"{prefix}smoothness", NOTHING)
        if pipeline.in_slot("smoothness"):
            for optimizer in pipeline.in_slot("optimization"):
                reason = ""
                if "smoothness" not in optimizer.data:
                    reason = (
                        f"{optimizer.stage.name} {IGNORES_SMOOTHNESS}; the term counts only in "
                        "the reported energy"
                    )
                self.method.model.findings.note_reading(term.location, reason)
        read_methods = auxiliary_methods_read(pipeline)
        for name, _ in pipeline.auxiliary:
            reason = "no stage reads the map of this auxiliary method"
            location = self.method.locations[f"{prefix}auxiliary.{name}."]
            self.method.model.findings.note_reading(
                location, "" if name in read_methods else reason
            )

    def _report_faults(
        self, prefix: str, slots: Mapping[str, Document], error: ParameterError
    ) -> None:
        """Report why the stages of a method do not fit together.

        Parameters
        ----------
        prefix : str
            Prefix of the method, such as ``auxiliary.robust.``.
        slots : mapping of str to Document
            Contents of the slots of the method and of its auxiliary methods, by
            address.
        error : ParameterError
            Error of the pipeline, with a line for each fault.
        """
        steps_of_slots = {slot: self.method.steps(slot, slots[slot]) for slot in slots}
        locations: dict[str, Location] = {}
        # Messages about other stages name the matcher or the scheme of the method.
        named_stages: list[tuple[str, Location]] = []
        for slot, steps in steps_of_slots.items():
            rules = SLOTS[split(slot).word]
            is_named = split(slot).home == prefix and (rules.excludes or rules.withholds)
            items = slots[slot].items()
            for index, (item, stage_step) in enumerate(zip(items, steps or (), strict=False)):
                name = stage_step.stage.name
                for address in (slot, f"{slot}.{name}", f"{slot}.{index}"):
                    locations[address] = item.location
                if is_named:
                    named_stages.append((name, item.location))

        for line in str(error).splitlines():
            address, _, message = line.partition(": ")
            for name, location in named_stages:
                name_with_location = f"{name}{location.in_brackets()} makes"
                message = message.replace(f"{name} makes", name_with_location)
            if prefix + address in locations:
                self.method.fault(locations[prefix + address], message)
                continue
            # A slot is not missing if its stages, or the matcher, have a fault.
            steps_at_address = steps_of_slots.get(prefix + address, ())
            matcher = steps_of_slots.get(f"{prefix}matcher", ())
            if steps_at_address is not None and matcher is not None:
                location = self.method.locations[prefix]
                self.method.model.findings.fault(
                    replace(location, path=join(location.path, address)), message
                )


def _check_beginnings(pipeline: Pipeline) -> None:
    """Refuse stages that would fail in every run, as far as this shows without a pair.

    Raises
    ------
    ParameterError
        A line for each of these stages, with its address and its message.
    """
    faults = [*name_faults(pipeline), *direction_faults(pipeline)]
    if faults:
        raise ParameterError("\n".join(f"{address}: {message}" for address, message in faults))


def _misfit(stage_step: Step) -> str:
    """Return why parameters cannot be used together, or which file is missing."""
    name = stage_step.stage.name
    message = stage_step.stage.misfit(stage_step.parameters)
    if message:
        return f"{name}: {message}"
    try:
        missing_files = [path for path in stage_step.files() if not path.exists()]
    except ParameterError as error:
        return str(error)
    return f"{name}: no file {missing_files[0]}" if missing_files else ""


def _with_seed(stage_step: Step, seed: int) -> Step:
    """Fill in the seed of a step and of its inner steps, where no seed is given."""
    changes: dict[str, Any] = {
        name: _with_seed(inner_step, seed) for name, inner_step in stage_step.inner_steps.items()
    }
    if "seed" in stage_step.stage.parameters.keys() - stage_step.parameters:
        changes["seed"] = seed
    return stage_step.having(**changes) if changes else stage_step
