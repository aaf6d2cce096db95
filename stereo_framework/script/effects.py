"""Parts of a method that no stage reads: axes and keys that cannot change its result.

Only choices count that the documentation of a stage describes as switches: a mode, or
null. A number that makes a term vanish, such as a weight of 0, is a value like any other,
so that the grids of published experiments keep all of their settings.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from stereo_framework.core.stage import Stage, stages
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.step import Step
from stereo_framework.script.specs import Address, locate, names


class Switch(NamedTuple):
    """A parameter that decides whether its stage reads another one.

    Parameters
    ----------
    parameter : str
    is_on : callable
        Takes the value of the parameter.
    condition : str
        Condition under which the other parameter is read, as messages show it.
    """

    parameter: str
    is_on: Callable[[Any], bool]
    condition: str


def _given(parameter: str) -> Switch:
    return Switch(parameter, lambda value: value is not None, f"{parameter} is not null")


def _equal_to(parameter: str, mode: str) -> Switch:
    return Switch(parameter, lambda value: value == mode, f"{parameter} is {mode}")


SWITCHES: Mapping[tuple[str, str, str], Switch] = {
    ("matcher", "opencv_bm", "filter_size"): _equal_to("filter", "normalized"),
    ("matching_cost", "ad_census", "initial"): _given("residual"),
    ("smoothness", "linear", "gradient_penalty"): _given("gradient_threshold"),
    ("smoothness", "potts", "gradient_penalty"): _given("gradient_threshold"),
    ("smoothness", "truncated_linear", "gradient_penalty"): _given("gradient_threshold"),
    ("smoothness", "truncated_quadratic", "gradient_penalty"): _given("gradient_threshold"),
    ("optimization", "graph_cut", "seed"): _equal_to("order", "random"),
    ("optimization", "graph_cut_occlusion", "seed"): _equal_to("order", "random"),
    ("optimization", "graph_cut_occlusion", "gradient_penalty"): _given("gradient_threshold"),
    ("optimization", "semi_global", "edge_threshold"): _equal_to("penalties", "edges"),
    ("refinement", "confidence_filter", "fraction"): Switch("threshold", lambda value: value is None, "threshold is null"),
}
"""Switches of the parameters of shipped stages, by slot, stage and parameter."""

_READS_OF_AUXILIARY_MAPS: Mapping[tuple[str, str], Switch] = {
    ("matching_cost", "ad_census"): _given("residual"),
    ("optimization", "plane_paths"): _given("initial"),
}
"""Switches of the stages that name ``alternatives``, but do not always read them."""

IGNORES_SMOOTHNESS = "does not read the smoothness term"


@dataclass(frozen=True)
class IdleAxis:
    """An axis of a method that has no effect on some of its settings.

    Parameters
    ----------
    reasons : tuple of str
    merged : int
        Number of settings that equal another setting for this reason.
    everywhere : bool
        The axis has no effect on any setting of the method.
    """

    reasons: tuple[str, ...]
    merged: int
    everywhere: bool

    def _because(self) -> str:
        """Return the reasons as one phrase; optimizers that share a reason are listed together."""
        ending = f" {IGNORES_SMOOTHNESS}"
        optimizers = [reason.removesuffix(ending) for reason in self.reasons if reason.endswith(ending)]
        phrases = [reason for reason in self.reasons if not reason.endswith(ending)]
        if len(optimizers) > 1:
            phrases.insert(0, f"{' and '.join(optimizers)} do not read the smoothness term")
        elif optimizers:
            phrases.insert(0, f"{optimizers[0]}{ending}")
        return " and ".join(phrases)

    def fault(self, axis: str, method: str) -> str:
        """Return the message that refuses an axis without any effect."""
        reasons = self._because()
        if axis == "seed":
            return f"addresses nothing: {reasons}"
        remedy = "remove this axis"
        if any(reason.endswith(IGNORES_SMOOTHNESS) for reason in self.reasons):
            remedy += f", or choose an optimizer that reads the term: {', '.join(readers_of_smoothness())}"
        return f"has no effect on any setting of method {method!r}, because {reasons}; {remedy}"

    def note(self, method: str, first_value: str) -> str:
        """Return the remark about settings that an axis does not change."""
        return (
            f"has no effect on {self.merged} settings of method {method!r}, because {self._because()}; "
            f"equal settings run once, with the first value ({first_value}), and their rows show no value of this axis"
        )


def unread_reason(step: Step, parameter: str) -> str:
    """Return why a stage does not read a parameter; empty if it reads the parameter."""
    stage = step.stage
    switch = SWITCHES.get((stage.slot, stage.name, parameter)) if stage.shipped else None
    if switch is None or switch.parameter not in step.parameters or switch.is_on(step.parameters[switch.parameter]):
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
    if "alternatives" not in step.stage.data:
        return False
    switch = _READS_OF_AUXILIARY_MAPS.get((step.stage.slot, step.stage.name))
    return switch is None or not step.stage.shipped or switch.is_on(step.parameters[switch.parameter])


def auxiliary_methods_read(pipeline: Pipeline) -> set[str]:
    """Return the names of the auxiliary methods whose maps a stage reads.

    A shipped stage with a parameter ``initial`` reads only the map of this name.
    """
    every_name = {name for name, _ in pipeline.alternatives}
    read_names: set[str] = set()
    for step in pipeline.steps:
        if not reads_auxiliary_maps(step):
            continue
        initial = step.parameters.get("initial") if step.stage.shipped else None
        read_names |= every_name if initial is None else {initial}
    return read_names


def idle_reason(address: Address, pipeline: Pipeline, search: Mapping[str, Any]) -> str:
    """Return why an address of a method has no effect on its result; empty if it may have one.

    Parameters
    ----------
    address : Address
        Address of a slot, a parameter or a key of the search range.
    pipeline : Pipeline
        The method, without faults.
    search : mapping of str to float
        The keys of the search range that the script gives.
    """
    for name in names(address.home):
        if name not in auxiliary_methods_read(pipeline):
            return f"no stage reads the map of the alternative {name!r}"
        pipeline = dict(pipeline.alternatives)[name]

    if address.word == "search":
        if address.rest == "truth_margin" and {"minimum", "maximum"} <= search.keys():
            return "search.minimum and search.maximum replace both bounds that it gives"
        return ""
    if address.word == "smoothness":
        for optimizer in pipeline.in_slot("optimization"):
            if not reads_smoothness(optimizer.stage):
                return f"{optimizer.stage.name} {IGNORES_SMOOTHNESS}"
    return _idle_parameter(address, pipeline)


def _idle_parameter(address: Address, pipeline: Pipeline) -> str:
    """Return why the stage at an address does not read the parameter; empty if it does."""
    if not address.rest:
        return ""
    steps = pipeline.in_slot(address.word)
    location = locate(address.word, steps, address.rest)
    if isinstance(location, str):
        return ""
    index, parameter = location
    return unread_reason(steps[index], parameter)


def may_be_idle(address: Address) -> bool:
    """Return whether an address can be without effect at all, so that settings are examined."""
    if address.home or address.word in ("smoothness", "seed"):
        return True
    if address.word == "search":
        return address.rest == "truth_margin"
    parameter = address.rest.rpartition(".")[2]
    return any(slot == address.word and switched == parameter for slot, _, switched in SWITCHES)
