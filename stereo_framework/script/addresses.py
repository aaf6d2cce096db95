"""Addresses of what a method consists of: ``aggregation.box.size``, ``alternatives.robust.optimization``."""

import re
from typing import NamedTuple

from stereo_framework.core.stage import SLOTS, stages
from stereo_framework.engine.step import FACTORS

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
        for name in (*stage.parameters, *(FACTORS if about.added else ())):
            if name in stage.parameters and not about.many:
                found.append(f"{slot}.{name}")
            if about.many or about.added:
                found.append(f"{slot}.{stage.name}.{name}")
    return list(dict.fromkeys(found))
