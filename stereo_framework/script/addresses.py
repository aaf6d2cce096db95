"""Addresses of what a method consists of: ``aggregation.box.size``, ``alternatives.robust.optimization``."""

from __future__ import annotations

import re

from stereo_framework.core.stage import SLOTS, stages
from stereo_framework.engine.step import FACTORS

NAME = r"[\w-]+"
"""Names of alternatives: they hold no dot, as addresses are divided there."""

_HOME = re.compile(rf"(?:alternatives\.{NAME}\.)*")


def split(address: str) -> tuple[str, str, str]:
    """Home (the mapping that a slot stands in: empty for the method itself), first word after it (a slot, most often) and the rest.

    Examples
    --------
    >>> split("alternatives.robust.aggregation.box.size")
    ('alternatives.robust.', 'aggregation', 'box.size')
    >>> split("matching_cost")
    ('', 'matching_cost', '')
    """
    home = _HOME.match(address)[0]  # type: ignore[index]
    word, _, rest = address[len(home) :].partition(".")
    return home, word, rest


def slot_of(address: str) -> str:
    """The address of the slot that an address lies in.

    Examples
    --------
    >>> slot_of("alternatives.robust.aggregation.box.size")
    'alternatives.robust.aggregation'
    """
    home, word, _ = split(address)
    return home + word


def is_slot(address: str) -> bool:
    """Whether an address is that of a whole slot."""
    _, word, rest = split(address)
    return word in SLOTS and not rest


def names(home: str) -> list[str]:
    """The alternatives that a home lies in, the outermost first.

    Examples
    --------
    >>> names("alternatives.a.alternatives.b.")
    ['a', 'b']
    """
    return home.split(".")[1::2]


def parameters(slot: str) -> dict[str, list[tuple[str, str]]]:
    """The addresses of all parameters in a slot, each with the stages that may have it and its name there.

    Examples
    --------
    >>> parameters("aggregation")["aggregation.box.size"]
    [('box', 'size')]
    """
    about, found = SLOTS[slot], dict[str, list[tuple[str, str]]]()
    for stage in stages(slot):
        for name in (*stage.parameters, *(FACTORS if about.added else ())):
            if name in stage.parameters and not about.many:
                found.setdefault(f"{slot}.{name}", []).append((stage.name, name))
            if about.many or about.added:
                found[f"{slot}.{stage.name}.{name}"] = [(stage.name, name)]
    return found
