"""Stages as scripts write them: which parameters they take, what is wrong with a value, when two are the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework.core.errors import nearest
from stereo_framework.core.parameters import located, parameter_faults
from stereo_framework.core.stage import SLOTS, Stage
from stereo_framework.engine.step import FACTORS, Factors, Step, step
from stereo_framework.matcher._opencv import NAMES
from stereo_framework.script.places import Node, Place
from stereo_framework.script.reading import is_number


@dataclass(frozen=True)
class Spec:
    """A stage as a script writes it: the parameters that are given, checked.

    Parameters
    ----------
    stage : Stage
    parameters : mapping
    place : Place
    added : bool
        It stands in a list of stages that are added, and has a weight and a scale besides.
    """

    stage: Stage
    parameters: Mapping[str, Any]
    place: Place = Place()  # noqa: RUF009  frozen
    added: bool = False

    @property
    def legal(self) -> tuple[str, ...]:
        """Names of all parameters."""
        return (*self.stage.parameters, *(FACTORS if self.added else ()))

    def having(self, name: str, value: Any) -> Spec:
        """The stage with one more parameter, or another value of one."""
        return replace(self, parameters={**self.parameters, name: value})

    @property
    def takes_seed(self) -> bool:
        """Whether the script's seed fills a parameter of the stage: it draws random numbers and was given no seed of its own."""
        return "seed" in self.stage.parameters and "seed" not in self.parameters

    def seeded(self, seed: int | None) -> Spec:
        """The stage with the script's seed, if it takes that."""
        return self.having("seed", seed) if self.takes_seed and seed is not None else self

    def step(self) -> Step:
        """The stage as a pipeline takes it."""
        return step(self.stage.function, **{**({"weight": 1.0} if self.added else {}), **self.parameters})


Specs = tuple[Spec, ...] | None
"""The stages of a slot; None where a fault was reported, so that nothing further is checked against them."""


def parameter(spec: Spec, name: str, node: Node) -> tuple[Any, str | None]:
    """A parameter's value and what is wrong with it, if anything. An unquoted ``no`` is false where only true or false fits."""
    value, stage = node.data(), spec.stage
    if name in FACTORS and spec.added:
        return value, parameter_faults(Factors, {name: value}).get(name)
    message = parameter_faults(stage.function, {name: value}).get(name)
    if message and node.raw and node.raw.lower() in _SWITCHES:
        switched = _SWITCHES[node.raw.lower()]
        if not parameter_faults(stage.function, {name: switched}):
            return switched, None
    return value if message else located(stage.parameters[name].annotation, value, node.place.folder), message


_SWITCHES = {"yes": True, "on": True, "no": False, "off": False}


def no_parameter(spec: Spec, name: str) -> str:
    """The message about a parameter that a stage has not; `document` tells it of keys, `methods` of axes and settings."""
    if name in FACTORS and SLOTS[spec.stage.slot].added:
        return f"{name!r} belongs to the entries of a list of costs: {spec.stage.slot}: [{{use: {spec.stage.name}, {name}: ...}}, ...]"
    ours = NAMES.get(name, "") if spec.stage.name.startswith("opencv_") else ""
    if ours in spec.legal or ours.startswith("search."):
        return f"no such parameter {name!r} of {spec.stage.name}; here OpenCV's {name} is called {ours!r}"
    return f"no such parameter {name!r} of {spec.stage.name}; {nearest(name, spec.legal, kind='parameters')}"


def same_run(value: Any) -> str:
    """Equal for values of an axis that make equal runs."""
    if isinstance(value, tuple):
        return repr([(spec.added, spec.stage.name, spec.step().parameters) for spec in value])
    data = value.data() if isinstance(value, Node) else value
    return repr(float(data) if is_number(data) else data)
