"""Axes and keys of a method that cannot change its result, because no stage reads them.

A stage may have a switch: a parameter that decides whether the stage reads another
parameter. A switch is a mode, or it may be null. A number that makes a term vanish, such
as a weight of 0, is no switch here. Otherwise, the grids of published experiments would
lose some of their settings.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from stereo_framework.core.registration import stages
from stereo_framework.core.stage import Stage
from stereo_framework.core.step import Step
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.script.addresses import Address, locate, names


class Switch(NamedTuple):
    """A parameter that decides whether its stage reads another parameter.

    Parameters
    ----------
    parameter : str
        Name of the deciding parameter.
    is_on : callable
        Function that takes the value of the deciding parameter. It returns whether the
        stage reads the other parameter.
    condition : str
        Words that describe the condition `is_on` in messages.
    """

    parameter: str
    is_on: Callable[[Any], bool]
    condition: str


def _not_null(parameter: str) -> Switch:
    """Return the switch that is on if a parameter is not null."""
    return Switch(parameter, lambda value: value is not None, f"{parameter} is not null")


def _equal_to(parameter: str, mode: str) -> Switch:
    """Return the switch that is on if a parameter selects a mode."""
    return Switch(parameter, lambda value: value == mode, f"{parameter} is {mode}")


SWITCHES: Mapping[str, Switch] = {
    "matcher.opencv_bm.pre_filter_size": _equal_to("pre_filter_type", "normalized"),
    "matching_cost.ad_census.initial": _not_null("residual"),
    "smoothness.linear.gradient_penalty": _not_null("gradient_threshold"),
    "smoothness.potts.gradient_penalty": _not_null("gradient_threshold"),
    "smoothness.truncated_linear.gradient_penalty": _not_null("gradient_threshold"),
    "smoothness.truncated_quadratic.gradient_penalty": _not_null("gradient_threshold"),
    "optimization.graph_cut.seed": _equal_to("order", "random"),
    "optimization.graph_cut_occlusion.seed": _equal_to("order", "random"),
    "optimization.graph_cut_occlusion.gradient_penalty": _not_null("gradient_threshold"),
    "optimization.semi_global.edge_threshold": _equal_to("penalties", "edges"),
    "refinement.confidence_filter.fraction": Switch(
        "min_confidence", lambda value: value is None, "min_confidence is null"
    ),
}
"""Switches of built-in stages, by the parameter that is not always read.

A key consists of the slot, the stage and the parameter.
"""

_SWITCHED_PARAMETERS = {key.split(".")[2] for key in SWITCHES}
"""Names of the parameters that a switch turns off."""

_SWITCHES_OF_AUXILIARY_MAPS: Mapping[str, Switch] = {
    "matching_cost.ad_census": _not_null("residual"),
    "optimization.plane_paths": _not_null("initial"),
}
"""Switches of the stages that name ``auxiliary`` but do not always read it."""

IGNORES_SMOOTHNESS = "does not read the smoothness term"


@dataclass(frozen=True)
class IdleAxis:
    """An axis of a method that has no effect on some of its settings.

    Parameters
    ----------
    reasons : tuple of str
        Clauses that state why no stage reads the value of the axis.
    merged : int
        Number of settings that equal another setting for these reasons.
    everywhere : bool
        Whether the axis has no effect on any setting of the method.
    """

    reasons: tuple[str, ...]
    merged: int
    everywhere: bool

    def _joined_reasons(self) -> str:
        """Join the reasons; optimizers without a smoothness term share a clause."""
        ending = f" {IGNORES_SMOOTHNESS}"
        optimizers = [
            reason.removesuffix(ending) for reason in self.reasons if reason.endswith(ending)
        ]
        phrases = [reason for reason in self.reasons if not reason.endswith(ending)]
        if len(optimizers) > 1:
            phrases.insert(0, f"{' and '.join(optimizers)} do not read the smoothness term")
        elif optimizers:
            phrases.insert(0, f"{optimizers[0]}{ending}")
        return " and ".join(phrases)

    def fault(self, axis: str, method: str) -> str:
        """Return the message that refuses an axis without any effect."""
        reasons = self._joined_reasons()
        # No stage draws random numbers, so there is no remedy to add.
        if axis == "seed":
            return f"this address means nothing, because {reasons}"
        remedy = "remove this axis"
        if any(reason.endswith(IGNORES_SMOOTHNESS) for reason in self.reasons):
            remedy += f", or choose an optimizer that reads the term: {', '.join(readers_of_smoothness())}"
        return f"this axis has no effect on any setting of method {method!r}, because {reasons}; {remedy}"

    def note(self, method: str, first_value: str) -> str:
        """Return the remark on the settings that an axis does not change.

        Parameters
        ----------
        method : str
            Name of the method.
        first_value : str
            First value of the axis. Settings that are equal run once, with this value.
        """
        return (
            f"has no effect on {self.merged} settings of method {method!r}, because {self._joined_reasons()}; "
            f"equal settings run once, with the first value ({first_value}), and their rows show no value of this axis"
        )


def unread_reason(step: Step, parameter: str) -> str:
    """Return why a stage does not read a parameter; empty if it reads the parameter."""
    stage = step.stage
    switch = SWITCHES.get(f"{step.name}.{parameter}") if stage.is_built_in else None
    if switch is None or switch.parameter not in step.parameters:
        return ""
    if switch.is_on(step.parameters[switch.parameter]):
        return ""
    return f"{stage.name} reads {parameter} only if {switch.condition}"


def reads_smoothness(stage: Stage) -> bool:
    """Return whether an optimizer reads the smoothness term."""
    return "smoothness" in stage.data


def readers_of_smoothness() -> list[str]:
    """Return the names of all optimizers that read the smoothness term."""
    return [stage.name for stage in stages("optimization") if reads_smoothness(stage)]


def reads_auxiliary_maps(step: Step) -> bool:
    """Return whether a stage reads the maps of auxiliary methods."""
    if "auxiliary" not in step.stage.data:
        return False
    switch = _SWITCHES_OF_AUXILIARY_MAPS.get(step.name)
    if switch is None or not step.stage.is_built_in:
        return True
    return switch.is_on(step.parameters[switch.parameter])


def auxiliary_methods_read(pipeline: Pipeline) -> set[str]:
    """Return the names of the auxiliary methods whose maps a stage reads.

    If a built-in stage has the parameter ``initial``, it reads only the map with this name.
    """
    all_names = {name for name, _ in pipeline.auxiliary}
    read_names: set[str] = set()
    all_steps: list[Step] = []
    for outer_step in pipeline.steps:
        all_steps += [step for _, step in outer_step.walk("")]
    for step in all_steps:
        if not reads_auxiliary_maps(step):
            continue
        initial = step.parameters.get("initial") if step.stage.is_built_in else None
        read_names |= all_names if initial is None else {initial}
    return read_names


def idle_reason(address: Address, pipeline: Pipeline, search: Mapping[str, Any]) -> str:
    """Return why an address has no effect on a method's result; empty if it may have one.

    Parameters
    ----------
    address : Address
        Address of a slot, a parameter or a key of the search range. It may lie in an
        auxiliary method.
    pipeline : Pipeline
        Stages of the method, without faults.
    search : mapping of str to float
        Keys of the search range that the script sets.
    """
    addressed_pipeline = pipeline
    for name in names(address.home):
        if name not in auxiliary_methods_read(addressed_pipeline):
            return f"no stage reads the map of the auxiliary method {name!r}"
        addressed_pipeline = dict(addressed_pipeline.auxiliary)[name]

    if address.word == "search":
        if address.rest == "truth_margin" and {"minimum", "maximum"} <= search.keys():
            return "search.minimum and search.maximum replace both bounds that it gives"
        return ""
    if address.word == "smoothness":
        for optimizer in addressed_pipeline.in_slot("optimization"):
            if "smoothness" not in optimizer.data:
                return f"{optimizer.stage.name} {IGNORES_SMOOTHNESS}"
    return _idle_parameter(address, addressed_pipeline)


def _idle_parameter(address: Address, pipeline: Pipeline) -> str:
    """Return why the stage at an address does not read the parameter; empty if it does."""
    addresses_slot = not address.rest
    if addresses_slot:
        return ""
    steps = pipeline.in_slot(address.word)
    location = locate(address.word, steps, address.rest)
    # A text is the fault of an address without a stage, which is reported elsewhere.
    if isinstance(location, str):
        return ""
    index, parameter = location
    step = steps[index]
    *names_of_inner_stages, parameter = parameter.split(".")
    for name in names_of_inner_stages:
        step = step.inner_steps[name]
    return unread_reason(step, parameter)


def may_be_idle(address: Address) -> bool:
    """Return whether an address may be without effect in some method.

    The settings of an axis are compared only if its address may be without effect.
    """
    if address.home or address.word in ("smoothness", "seed"):
        return True
    if address.word == "search":
        return address.rest == "truth_margin"
    # An inner stage may belong to another slot than the address.
    parameter = address.rest.rpartition(".")[2]
    return parameter in _SWITCHED_PARAMETERS
