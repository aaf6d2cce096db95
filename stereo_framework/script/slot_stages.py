"""The stages that stand in a slot of a script, with their checked parameters."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stereo_framework.core import registration
from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.parameters import as_yaml, parameter_faults, resolve_paths
from stereo_framework.core.registration import step
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.stage import Stage
from stereo_framework.core.step import FACTORS, Step, weighted
from stereo_framework.io.document import DataPath, Document, same_location
from stereo_framework.io.locations import Location
from stereo_framework.script.addresses import Steps, parameter_names, unknown_parameter_message
from stereo_framework.script.findings import Findings
from stereo_framework.script.layers import as_stage, merged_stage
from stereo_framework.script.setting import written_stage

NOTHING = Document(None, {(): Location()})
"""Stands for the content of a slot if a method does not have the slot."""

FAULTY = Document(None, {(): Location()})
"""Stands for a content or a value that has a fault, which was already reported."""

_SWITCHES = {"yes": True, "on": True, "no": False, "off": False}
"""Truth values of unquoted texts that YAML 1.2 no longer reads as truth values."""


@dataclass(eq=False)
class SlotReader:
    """Reads the stages in slots, and reports the faults of the stages.

    Parameters
    ----------
    findings : Findings
    """

    findings: Findings
    _steps: dict[tuple[str, Document], Steps] = field(default_factory=dict)

    def read(self, slot: str, content: Document) -> Steps:
        """Return the stages of a slot, or None if one of them has a fault.

        Parameters
        ----------
        slot : str
            Name of the slot, without the prefix of an auxiliary method.
        content : Document
            One stage or a list of stages. A stage is a name, or a mapping with the key
            ``use``.
        """
        if content is FAULTY:
            return None
        if (slot, content) not in self._steps:
            self._steps[slot, content] = self._read(slot, content)
        return self._steps[slot, content]

    def forget(self) -> None:
        """Delete the stored stages, to free their memory."""
        self._steps.clear()

    def _read(self, slot: str, content: Document) -> Steps:
        rules = SLOTS[slot]
        if content is NOTHING or (content.data is None and rules.optional):
            return ()
        is_list = isinstance(content.data, list)
        is_sum = rules.added and is_list
        if is_list and not rules.many and not is_sum:
            self._report_list(content, slot)
            return None
        if is_sum and not content.data:
            message = f"the list is empty; name at least one stage of {slot}"
            self.findings.fault(content.location, message)
            return None
        steps = [self._stage(slot, item, is_summand=is_sum) for item in content.items()]
        checked_steps = [checked_step for checked_step in steps if checked_step is not None]
        return tuple(checked_steps) if len(checked_steps) == len(steps) else None

    def _report_list(self, document: Document, name: str) -> None:
        """Report a list where a slot or a parameter takes a single stage."""
        message = (
            f"a list is not allowed here, because {name} is one stage; "
            "write a name or {use: NAME, parameter: value}"
        )
        self.findings.fault(document.location, message)

    def _stage(self, slot: str, document: Document, *, is_summand: bool) -> Step | None:
        """Return a stage with the parameters that have no fault, or None."""
        stage = self._named_stage(slot, document)
        if stage is None:
            return None
        known_names = parameter_names(stage, added=is_summand)
        values: dict[str, Document] = {}
        for name, entry in as_stage(document).entries().items():
            if name in known_names:
                values[name] = entry
            elif name != "use":
                key_location = entry.location.key or document.location
                message = unknown_parameter_message(stage, name, added=is_summand)
                self.findings.fault(key_location, message)

        inner_steps = {}
        has_faulty_inner_stage = False
        for name, inner_slot in stage.inner_slots.items():
            if name in values and values[name].data is not None:
                inner_step = self._inner_stage(name, inner_slot, values[name])
                if inner_step is None:
                    has_faulty_inner_stage = True
                    del values[name]
                else:
                    inner_steps[name] = inner_step

        parameters, faults = _checked_parameters(stage, values, inner_steps, is_summand=is_summand)
        for name, message in faults.items():
            self.findings.fault(values[name].location, message)
        if has_faulty_inner_stage:
            return None
        factors = {"weight": 1.0} if is_summand else {}
        complete_step = step(stage.function, **{**factors, **parameters})
        return _without_default_seeds(complete_step, parameters)

    def _named_stage(self, slot: str, document: Document) -> Stage | None:
        """Return the registered stage that a document names, or None after a fault."""
        use = self._use(slot, document)
        if use is None:
            return None
        try:
            return registration.find(slot, use.data)
        except ParameterError as error:
            message = str(error).removeprefix(f"{slot}: ")
        faults = self.findings.faults
        if faults.without_plugins:
            # A plug-in that is not imported may define the stage.
            faults.unknown.append(f"{slot} {use.data}")
            return None
        # The path of a list item contains the name of its stage, which is wrong here.
        path = document.location.path.removesuffix(f".{use.data}")
        faults.add(replace(use.location, path=path), message)
        return None

    def _use(self, slot: str, document: Document) -> Document | None:
        """Return the name of a stage: a text, or the value of the key ``use``.

        The result is None after a fault.
        """
        use = document
        if isinstance(document.data, dict):
            use = document.part("use")
        if isinstance(use.data, str):
            return use
        stage_names = [stage.name for stage in registration.stages(slot)]
        names = nearest("", stage_names, kind="stages")
        if isinstance(document.data, dict) and "use" not in document.data:
            message = f"the stage has no key 'use'; write use: NAME; {names}"
        else:
            message = (
                f"{as_yaml(use.data)} is not the name of a stage; "
                f"write NAME or {{use: NAME, parameter: value}}; {names}"
            )
        self.findings.fault(use.location, message)
        return None

    def _inner_stage(self, name: str, slot: str, document: Document) -> Step | None:
        """Return the inner stage that a script gives, or None if it has a fault.

        Parameters
        ----------
        name : str
            Name of the parameter of the outer stage.
        slot : str
            Slot of the inner stage.
        document : Document
        """
        if isinstance(document.data, list):
            self._report_list(document, name)
            return None
        return self._stage(slot, document, is_summand=False)


def _checked_parameters(
    stage: Stage,
    given: Mapping[str, Document],
    inner_steps: Mapping[str, Step],
    *,
    is_summand: bool,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Check the parameters that a script gives a stage.

    Parameters
    ----------
    stage : Stage
    given : mapping of str to Document
        Values by the name of the parameter.
    inner_steps : mapping of str to Step
        Values that are stages, by the name of the parameter.
    is_summand : bool
        True for a matching cost in a sum, which also has the parameters `FACTORS`.

    Returns
    -------
    values : dict of str to object
        Allowed values by the name of the parameter.
    faults : dict of str to str
        Messages about the other values.
    """
    values: dict[str, Any] = {name: document.data for name, document in given.items()}
    values |= inner_steps
    factors = {name: values.pop(name) for name in FACTORS if is_summand and name in values}
    faults = parameter_faults(weighted, factors) | parameter_faults(stage.function, values)

    for name in values.keys() & faults.keys():
        unquoted_text = given[name].location.unquoted_text or ""
        truth_value = _SWITCHES.get(unquoted_text.lower())
        if truth_value is not None and not parameter_faults(stage.function, {name: truth_value}):
            values[name] = truth_value
            del faults[name]

    for name, value in values.items():
        may_name_files = isinstance(value, str | list)
        if may_name_files and name not in faults:
            annotation = stage.parameters[name].annotation
            values[name] = resolve_paths(annotation, value, given[name].location.folder)
    values |= factors
    return {name: value for name, value in values.items() if name not in faults}, faults


def _without_default_seeds(stage_step: Step, script_parameters: Collection[str]) -> Step:
    """Remove the seeds that a script does not give, because its own seed fills them.

    Parameters
    ----------
    stage_step : Step
        Step with all parameters. The inner steps that the script gives have no default
        seeds any more.
    script_parameters : collection of str
        Names of the parameters that the script gives.
    """
    parameters = {}
    for name, value in stage_step.parameters.items():
        is_default = name not in script_parameters
        if isinstance(value, Step) and is_default:
            value = _without_default_seeds(value, ())
        if name != "seed" or not is_default:
            parameters[name] = value
    return replace(stage_step, parameters=parameters)


def with_parameter(
    stage: Document, stage_step: Step, name: str, value: Document, *, merges: bool
) -> Document:
    """Return the mapping of a stage with a new value of a parameter.

    Parameters
    ----------
    stage : Document
        Mapping of the stage, such as ``{use: box, size: 5}``.
    stage_step : Step
        The stage with all its parameters.
    name : str
        Name of the parameter, such as ``size``, or ``inner.size`` in an inner stage.
    value : Document
    merges : bool
        True if a value that is the same inner stage as before changes only the
        parameters that it gives.
    """
    first_name, _, rest = name.partition(".")
    path: DataPath = (first_name,)
    old_value = stage.part(first_name) if first_name in stage.mapping else None
    if not rest:
        if merges and old_value is not None and first_name in stage_step.inner_steps:
            value = merged_stage(old_value, value)
        return stage.with_value(path, value)
    inner_step = stage_step.inner_steps[first_name]
    if old_value is None or old_value.data is None:
        # The script does not give the inner stage, so its default is written out.
        old_value = same_location(written_stage(inner_step), value.location)
    inner_stage = with_parameter(as_stage(old_value), inner_step, rest, value, merges=merges)
    return stage.with_value(path, inner_stage)
