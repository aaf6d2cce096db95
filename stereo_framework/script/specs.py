"""Stages as scripts write them, and addresses of what a method consists of: ``aggregation.box.size``, ``alternatives.robust.optimization``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from stereo_framework.core.errors import nearest
from stereo_framework.core.parameters import located, parameter_faults
from stereo_framework.core.stage import SLOTS, Stage, stages
from stereo_framework.engine.step import FACTORS, Step, weighted
from stereo_framework.io.places import Node
from stereo_framework.matcher._opencv import NAMES

NAME = r"[\w-]+"
"""Names of alternatives: they hold no dot, as addresses are divided there."""

_HOME = re.compile(rf"(?:alternatives\.{NAME}\.)*")


class Address(NamedTuple):
    """An address divided.

    Parameters
    ----------
    home : str
        The mapping that a slot stands in: empty for the method itself, ``alternatives.robust.`` for an alternative.
    word : str
        The first word after it: a slot, most often.
    rest : str
        What follows: ``box.size``.
    """

    home: str
    word: str
    rest: str

    @property
    def slot(self) -> str:
        """The address of the slot that it lies in."""
        return self.home + self.word

    @property
    def is_slot(self) -> bool:
        """Whether it is that of a whole slot."""
        return self.word in SLOTS and not self.rest


def split(address: str) -> Address:
    """Divide an address.

    Examples
    --------
    >>> tuple(split("alternatives.robust.aggregation.box.size"))
    ('alternatives.robust.', 'aggregation', 'box.size')
    >>> split("alternatives.robust.aggregation.box.size").slot, split("matching_cost").is_slot
    ('alternatives.robust.aggregation', True)
    """
    home = _HOME.match(address)[0]  # type: ignore[index]
    word, _, rest = address[len(home) :].partition(".")
    return Address(home, word, rest)


def names(home: str) -> list[str]:
    """The alternatives that a home lies in, the outermost first.

    Examples
    --------
    >>> names("alternatives.a.alternatives.b.")
    ['a', 'b']
    """
    return home.split(".")[1::2]


def parameters(slot: str) -> list[str]:
    """The addresses of all parameters in a slot, each once.

    Examples
    --------
    >>> [address for address in parameters("aggregation") if "box" in address]
    ['aggregation.box.size', 'aggregation.box.iterations']
    """
    about, found = SLOTS[slot], []
    for stage in stages(slot):
        for name in legal(stage, added=about.added):
            if name in stage.parameters and not about.many:
                found.append(f"{slot}.{name}")
            if about.many or about.added:
                found.append(f"{slot}.{stage.name}.{name}")
    return list(dict.fromkeys(found))


Steps = tuple[Step, ...] | None
"""The stages of a slot with all parameters, but for seeds that are not given: the script's fills them. None where a fault was reported, so that nothing
further is checked against them."""


def legal(stage: Stage, *, added: bool) -> tuple[str, ...]:
    """Names of all parameters of a stage; one that is added to others has a weight and a scale besides."""
    return (*stage.parameters, *(FACTORS if added else ()))


def checked(stage: Stage, given: Mapping[str, Node], *, added: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """Values of parameters that a stage has, where they are right, and what is wrong with the others. An unquoted ``no`` is false where only true or false fits."""
    values: dict[str, Any] = {name: node.data() for name, node in given.items()}
    factors = {name: values[name] for name in FACTORS if added and name in values}
    own = {name: value for name, value in values.items() if name not in factors}
    wrong = parameter_faults(weighted, factors) | parameter_faults(stage.function, own)
    for name in own.keys() & wrong.keys():
        switched = _SWITCHES.get((given[name].raw or "").lower())
        if switched is not None and not parameter_faults(stage.function, {name: switched}):
            own[name] = switched
            del wrong[name]
    for name, value in own.items():
        if name not in wrong and isinstance(value, str | list):  # which may name files
            own[name] = located(stage.parameters[name].annotation, value, given[name].place.folder)
    return {name: value for name, value in (factors | own).items() if name not in wrong}, wrong


_SWITCHES = {"yes": True, "on": True, "no": False, "off": False}


def no_parameter(stage: Stage, name: str, *, added: bool) -> str:
    """The message about a parameter that a stage has not, whether a key, an axis or a setting names it."""
    known = legal(stage, added=added)
    if name in FACTORS and SLOTS[stage.slot].added:
        return f"{name!r} belongs to the entries of a list of costs: {stage.slot}: [{{use: {stage.name}, {name}: ...}}, ...]"
    ours = NAMES.get(name, "") if stage.name.startswith("opencv_") else ""
    if ours in known or ours.startswith("search."):
        return f"no such parameter {name!r} of {stage.name}; here OpenCV's {name} is called {ours!r}"
    return f"no such parameter {name!r} of {stage.name}; {nearest(name, known, kind='parameters')}"


def locate(slot: str, steps: Steps, rest: str) -> tuple[int, str] | str:
    """Which stage and parameter of a slot an address means.

    Parameters
    ----------
    slot : str
        Its address.
    steps : tuple of Step
        The stages that stand there.
    rest : str
        The address after the slot: ``truncation``; where several stages may stand ``box.size`` or ``0.size``, or ``size`` if one of them has it.

    Returns
    -------
    tuple of int and str, or str
        Index of the stage and name of the parameter, or what is wrong.
    """
    if not steps:
        return f"addresses nothing: there is no {slot} stage"
    names, index = [step.stage.name for step in steps], 0
    if SLOTS[steps[0].stage.slot].many or steps[0].added:
        name, _, parameter = rest.partition(".")
        # A parameter that a single one of them has needs no stage's name.
        having = [i for i, step in enumerate(steps) if name in legal(step.stage, added=step.added) and not parameter]
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
    step = steps[index]
    known = legal(step.stage, added=step.added)
    if rest in known:
        return index, rest
    if rest == "use":
        return f"'use' is no parameter; give the stages at {slot} itself"
    if not rest:
        return f"addresses the whole stage {step.stage.name}; {nearest('', known, kind='parameters of it')}"
    return no_parameter(step.stage, rest, added=step.added)
