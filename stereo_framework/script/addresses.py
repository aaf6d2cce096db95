"""Addresses of stages and parameters in a script.

An example of an address is ``auxiliary.robust.aggregation.box.size``.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stereo_framework.core.errors import nearest
from stereo_framework.core.former_names import parameter_hint
from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.stage import Stage
from stereo_framework.core.step import FACTORS, Step
from stereo_framework.matcher._opencv import SEARCH_NAMES

NAME = r"[\w-]+"
"""Regular expression for the name of an auxiliary method.

The name contains no dot, because dots divide addresses.
"""

_HOME = re.compile(rf"(?:auxiliary\.{NAME}\.)*")


class Address(NamedTuple):
    """The three parts of an address.

    Parameters
    ----------
    home : str
        Prefix of an auxiliary method, such as ``auxiliary.robust.``. The prefix is
        empty for the method itself.
    word : str
        First word after the prefix. The word is mostly the name of a slot.
    rest : str
        Part of the address after the first word, such as ``box.size``.
    """

    home: str
    word: str
    rest: str

    @property
    def slot(self) -> str:
        """Address of the slot that contains the stage or the parameter."""
        return self.home + self.word

    @property
    def is_slot(self) -> bool:
        """Whether the address means a whole slot."""
        return self.word in SLOTS and not self.rest


def split(address: str) -> Address:
    """Divide an address into its three parts.

    Examples
    --------
    >>> tuple(split("auxiliary.robust.aggregation.box.size"))
    ('auxiliary.robust.', 'aggregation', 'box.size')
    >>> split("auxiliary.robust.aggregation.box.size").slot
    'auxiliary.robust.aggregation'
    >>> split("matching_cost").is_slot
    True
    """
    home = _HOME.match(address)[0]  # type: ignore[index]
    word, _, rest = address[len(home) :].partition(".")
    return Address(home, word, rest)


def names(home: str) -> list[str]:
    """Return the names of the auxiliary methods in a prefix, the outermost first.

    Examples
    --------
    >>> names("auxiliary.a.auxiliary.b.")
    ['a', 'b']
    """
    return home.split(".")[1::2]


def parameters(slot: str) -> list[str]:
    """Return the addresses of all parameters in a slot, each once.

    Examples
    --------
    >>> [address for address in parameters("aggregation") if "box" in address]
    ['aggregation.box.size', 'aggregation.box.iterations']
    """
    rules = SLOTS[slot]
    addresses = []
    for stage in stages(slot):
        for name in parameter_names(stage, added=rules.added):
            # If the slot contains a single stage, the name of the stage is omitted.
            if name in stage.parameters and not rules.many:
                addresses.append(f"{slot}.{name}")
            if rules.many or rules.added:
                addresses.append(f"{slot}.{stage.name}.{name}")
    return list(dict.fromkeys(addresses))


def addresses_inner_stage(slot: str, rest: str) -> bool:
    """Return whether an address means an inner stage, or a parameter of an inner stage.

    Parameters
    ----------
    slot : str
        Slot of the outer stage.
    rest : str
        Part of the address after the slot.

    Examples
    --------
    >>> addresses_inner_stage("aggregation", "cross_scale.inner.size")
    True
    >>> addresses_inner_stage("aggregation", "cross_scale.inner.inner.use")
    True
    >>> addresses_inner_stage("aggregation", "cross_scale.scales")
    False
    """
    first_part, _, parameter = rest.partition(".")
    for stage in stages(slot):
        is_addressed = first_part == stage.name or first_part.isdecimal()
        if is_addressed and _is_in_inner_stage(stage, parameter):
            return True
        # If the slot contains a single stage, the address may omit its name.
        if not SLOTS[slot].many and _is_in_inner_stage(stage, rest):
            return True
    return False


def _is_in_inner_stage(stage: Stage, address: str) -> bool:
    """Return whether an inner stage of a stage has the parameter at an address.

    The address begins with the name of the parameter that selects the inner stage, such
    as ``inner.size``.
    """
    name, _, rest = address.partition(".")
    if name not in stage.inner_slots:
        return False
    if rest in ("", "use"):
        return True
    inner_stages = stages(stage.inner_slots[name])
    return any(
        rest in inner_stage.parameters or _is_in_inner_stage(inner_stage, rest)
        for inner_stage in inner_stages
    )


Steps = tuple[Step, ...] | None
"""Stages of a slot, with all parameters except seeds that are not given.

The seed of the script fills the missing seeds later. None means that a fault of the
slot was already reported. In this case, no further checks are made.
"""


def parameter_names(stage: Stage, *, added: bool) -> tuple[str, ...]:
    """Return the names of a stage's parameters, with `FACTORS` for added costs."""
    return (*stage.parameters, *(FACTORS if added else ()))


def unknown_parameter_message(stage: Stage, name: str, *, added: bool) -> str:
    """Return the message about an unknown parameter of a stage.

    The message gives the new name of a former parameter, or else the nearest name.
    There are two special messages, for the factors of a summed cost and for OpenCV's
    names of the search range.
    """
    known = parameter_names(stage, added=added)
    if name in FACTORS and SLOTS[stage.slot].added:
        return (
            f"{name!r} belongs to the entries of a list of costs: "
            f"{stage.slot}: [{{use: {stage.name}, {name}: ...}}, ...]"
        )
    if stage.name.startswith("opencv_") and name in SEARCH_NAMES:
        key = SEARCH_NAMES[name]
        return f"{stage.name} has no parameter {name!r}; here OpenCV's {name} is called {key!r}"
    remedy = parameter_hint(stage.function, name) or nearest(name, known, kind="parameters")
    return f"{stage.name} has no parameter {name!r}; {remedy}"


def locate(slot: str, steps: Steps, rest: str) -> tuple[int, str] | str:
    """Find the stage and the parameter that an address in a slot means.

    Parameters
    ----------
    slot : str
        Address of the slot.
    steps : tuple of Step
        Stages in the slot.
    rest : str
        Part of the address after the slot, such as ``truncation``. In a slot that takes
        several stages, or in a sum of costs, this is ``box.size``, ``0.size``, or
        ``size`` if only one stage has this parameter.

    Returns
    -------
    tuple of int and str, or str
        Index of the stage and name of the parameter, or a description of the fault.
    """
    if not steps:
        return f"this address means nothing, because there is no {slot} stage"
    located_stage = locate_stage(slot, steps, rest)
    if isinstance(located_stage, str):
        return located_stage
    index, parameter = located_stage
    if parameter == "use":
        return f"'use' is no parameter; give the stages at {slot} itself"
    names = _locate_parameter(address_of_stage(slot, steps[index]), steps[index], parameter)
    if isinstance(names, str):
        return names
    return index, ".".join(names)


def locate_stage(slot: str, steps: tuple[Step, ...], rest: str) -> tuple[int, str] | str:
    """Find the stage that an address in a slot means, without a check of the parameter.

    Different addresses of the same parameter, such as ``box.size`` and ``size``, have
    equal results.

    Parameters
    ----------
    slot, rest
        As in `locate`.
    steps : tuple of Step
        Stages in the slot; at least one.

    Returns
    -------
    tuple of int and str, or str
        Index of the stage and the part of the address after the stage, such as
        ``inner.size``, or a description of the fault.
    """
    if steps[0].is_in_list:
        return _locate_in_list(slot, steps, rest)
    return 0, rest.removeprefix(f"{steps[0].stage.name}.")


def inner_slot(step: Step, parameter: str) -> str | None:
    """Return the slot of the inner stage that a parameter of a stage is.

    Parameters
    ----------
    step : Step
        The outer stage.
    parameter : str
        Names that lead to the parameter, such as ``inner`` or ``inner.inner``.

    Returns
    -------
    str or None
        Name of the slot. None if the parameter is no stage, or if the outer stage does
        not have it.

    Examples
    --------
    >>> from stereo_framework import step
    >>> inner_slot(step("cross_scale"), "inner")
    'aggregation'
    >>> inner_slot(step("cross_scale"), "scales") is None
    True
    """
    name, _, rest = parameter.partition(".")
    if not rest:
        return step.stage.inner_slots.get(name)
    inner_step = step.inner_steps.get(name)
    return None if inner_step is None else inner_slot(inner_step, rest)


def address_of_stage(slot: str, step: Step) -> str:
    """Return the address of a stage in a slot.

    Examples
    --------
    >>> from stereo_framework import step
    >>> address_of_stage("aggregation", step("box"))
    'aggregation.box'
    >>> address_of_stage("optimization", step("semi_global"))
    'optimization'
    """
    if step.is_in_list:
        return f"{slot}.{step.stage.name}"
    return slot


def _locate_parameter(address: str, step: Step, rest: str) -> tuple[str, ...] | str:
    """Find the parameter of a stage that an address means.

    Parameters
    ----------
    address : str
        Address of the stage, such as ``aggregation.box``.
    step : Step
        The stage.
    rest : str
        Part of the address after the stage, such as ``size`` or ``inner.size``.

    Returns
    -------
    tuple of str, or str
        Names that lead to the parameter, such as ``("inner", "size")``, or a
        description of the fault.
    """
    parameters = parameter_names(step.stage, added=step.is_summand)
    if rest in parameters:
        return (rest,)
    name, _, rest_of_inner = rest.partition(".")
    if name in step.inner_steps:
        inner_step = step.inner_steps[name]
        inner_names = _locate_parameter(f"{address}.{name}", inner_step, rest_of_inner)
        return inner_names if isinstance(inner_names, str) else (name, *inner_names)
    return _fault_of_parameter(address, step, rest, parameters)


def _fault_of_parameter(address: str, step: Step, rest: str, parameters: Sequence[str]) -> str:
    """Describe why an address means no parameter of a stage."""
    if rest == "use":
        return f"'use' is no parameter; give the stages at {address} itself"
    if not rest:
        allowed = nearest("", parameters, kind="parameters of it")
        return f"this address means the whole stage {step.stage.name}; {allowed}"
    return unknown_parameter_message(step.stage, rest, added=step.is_summand)


def ambiguity(addresses: Iterable[str]) -> str:
    """Return the message that several stages have the named parameter."""
    return f"{' and '.join(addresses)} have this parameter; name one of them"


def _locate_in_list(slot: str, steps: tuple[Step, ...], rest: str) -> tuple[int, str] | str:
    """Find the stage that an address in a list of stages means.

    Parameters
    ----------
    slot, steps, rest
        As in `locate`.

    Returns
    -------
    tuple of int and str, or str
        Index of the stage and the part of the address after the stage, or a description
        of the fault.
    """
    names = [step.stage.name for step in steps]
    first_part, _, parameter = rest.partition(".")
    count = names.count(first_part)
    if re.fullmatch("[0-9]{1,9}", first_part):
        index = int(first_part)
        if index >= len(names):
            return (
                f"this address means nothing, because {slot} has {len(names)} stages, the last "
                f"one is {slot}.{len(names) - 1}"
            )
        return index, parameter
    if count == 1:
        return names.index(first_part), parameter
    if count > 1:
        same_name = [i for i, name in enumerate(names) if name == first_part]
        addresses = " or ".join(f"{slot}.{i}.{parameter}".rstrip(".") for i in same_name)
        return f"{first_part!r} occurs {count} times in {slot}; write {addresses}"

    # The name of a parameter alone is enough if only one stage has this parameter.
    having_parameter = []
    for i, step in enumerate(steps):
        is_parameter = first_part in parameter_names(step.stage, added=step.is_summand)
        if is_parameter and (rest == first_part or first_part in step.stage.inner_slots):
            having_parameter.append(i)
    if len(having_parameter) == 1:
        return having_parameter[0], rest
    if having_parameter:
        return ambiguity(f"{slot}.{names[i]}.{rest}" for i in having_parameter)
    hints = (parameter_hint(step.stage.function, first_part) for step in steps)
    remedy = next(filter(None, hints), "") or nearest(first_part, names, kind="stages there")
    return f"this address means nothing, because {slot} has no stage {first_part!r}; {remedy}"
