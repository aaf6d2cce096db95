"""Stages as scripts write them: which parameters they take, what is wrong with a value, when two are the same."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework.core.errors import nearest
from stereo_framework.core.parameters import located, parameter_faults
from stereo_framework.core.stage import SLOTS, Stage
from stereo_framework.engine.step import FACTORS, Step, step, weighted
from stereo_framework.io.places import Node, Place
from stereo_framework.matcher._opencv import NAMES
from stereo_framework.script.reading import is_number


@dataclass(frozen=True, eq=False)
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

    @functools.cached_property
    def step(self) -> Step:
        """The stage as a pipeline takes it."""
        return step(self.stage.function, **{**({"weight": 1.0} if self.added else {}), **self.parameters})


Specs = tuple[Spec, ...] | None
"""The stages of a slot; None where a fault was reported, so that nothing further is checked against them."""


def parameter(spec: Spec, name: str, node: Node) -> tuple[Any, str | None]:
    """A parameter's value and what is wrong with it, if anything. An unquoted ``no`` is false where only true or false fits."""
    value, stage = node.data(), spec.stage
    if name in FACTORS and spec.added:
        return value, parameter_faults(weighted, {name: value}).get(name)
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


def locate(slot: str, specs: Specs, rest: str) -> tuple[int, str] | str:
    """Which stage and parameter of a slot an address means.

    Parameters
    ----------
    slot : str
        Its address.
    specs : tuple of Spec
        The stages that stand there.
    rest : str
        The address after the slot: ``truncation``; where several stages may stand ``box.size`` or ``0.size``, or ``size`` if one of them has it.

    Returns
    -------
    tuple of int and str, or str
        Index of the stage and name of the parameter, or what is wrong.
    """
    if not specs:
        return f"addresses nothing: there is no {slot} stage"
    names, index = [spec.stage.name for spec in specs], 0
    if SLOTS[specs[0].stage.slot].many or specs[0].added:
        name, _, parameter = rest.partition(".")
        # A parameter that a single one of them has needs no stage's name.
        having = [i for i, spec in enumerate(specs) if name in spec.legal and not parameter]
        if name.isdecimal():
            index, rest = int(name), parameter
        elif names.count(name) > 1:
            where = " or ".join(f"{slot}.{i}.{parameter}".rstrip(".") for i, other in enumerate(names) if other == name)
            return f"{name!r} occurs {names.count(name)} times in {slot}; write {where}"
        elif name in names:
            index, rest = names.index(name), parameter
        elif len(having) > 1:
            return f"{' and '.join(f'{slot}.{names[i]}.{name}' for i in having)} have it; say which"
        elif having:
            index = having[0]
        else:
            return f"addresses nothing: {slot} has no stage {name!r}; {nearest(name, names, kind='stages there')}"
        if index >= len(names):
            return f"addresses nothing: {slot} has {len(names)} stages, the last one is {slot}.{len(names) - 1}"
    else:
        rest = rest.removeprefix(f"{names[0]}.")
    spec = specs[index]
    if rest == "use" and rest not in spec.legal:
        return f"'use' is no parameter; give the stages at {slot} itself"
    if not rest:
        return f"addresses the whole stage {spec.stage.name}; {nearest('', spec.legal, kind='parameters of it')}"
    return (index, rest) if rest in spec.legal else no_parameter(spec, rest)


def same_run(value: Any) -> str:
    """Equal for values of an axis that make equal runs."""
    if isinstance(value, tuple):
        return repr([(spec.added, spec.stage.name, spec.step.parameters) for spec in value])
    data = value.data() if isinstance(value, Node) else value
    return repr(float(data) if is_number(data) else data)
