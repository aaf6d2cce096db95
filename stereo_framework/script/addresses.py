"""Addresses of what a method consists of: ``aggregation.box.size``, ``alternatives.robust.optimization``.

The home of an address is the mapping that its slot stands in: empty for the method itself, ``alternatives.robust.`` for one of its alternatives.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from stereo_framework.core.stage import SLOTS, VOLUME_SLOTS

NAME = r"[\w-]+"
"""Names of alternatives: they hold no dot, as addresses are divided there."""

HOME = rf"(?:alternatives\.{NAME}\.)*"

_HOME = re.compile(HOME)


def split(address: str) -> tuple[str, str, str]:
    """Home, first word after it (a slot, most often) and the rest.

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


def under(address: str, heads: Collection[str]) -> bool:
    """Whether an address is one of `heads` or lies below it."""
    return any(address == head or address.startswith(f"{head}.") for head in heads)


def homes_around(home: str) -> list[str]:
    """A home and those that it lies in, the innermost first.

    Examples
    --------
    >>> homes_around("alternatives.a.alternatives.b.")
    ['alternatives.a.alternatives.b.', 'alternatives.a.', '']
    """
    words = home.split(".")[:-1]
    return [".".join([*words[:count], ""]) if count else "" for count in range(len(words), -1, -2)]


def alternatives_of(home: str, homes: Iterable[str]) -> dict[str, str]:
    """The alternatives that stand directly in a home: their own homes by name."""
    found = ((re.fullmatch(rf"{re.escape(home)}alternatives\.({NAME})\.", inner), inner) for inner in homes)
    return {match[1]: inner for match, inner in found if match}


def excluded(slots: Iterable[str]) -> set[str]:
    """The slots that cannot stand beside those at some addresses: a matcher stands instead of what makes and reads volumes."""
    found: set[str] = set()
    for home, word, _ in map(split, slots):
        if word == "matcher":
            found |= {home + slot for slot in VOLUME_SLOTS}
        elif word in VOLUME_SLOTS:
            found.add(f"{home}matcher")
    return found
