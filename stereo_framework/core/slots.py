"""Slots: the positions in a method, each of which is filled by stages of one kind."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """A slot of a method, with the rules for its stages.

    Parameters
    ----------
    first : tuple of tuple of str
        Names of the first arguments of a stage: one tuple for each allowed beginning.
    data : frozenset of str
        Names of the data that a stage may take after its first arguments.
    returns : str
        Description of the value that a stage returns.
    many : bool
        Whether the slot takes a list of stages, which run in order.
    added : bool
        Whether the slot takes one stage or a list of stages. The cost volumes of a list
        are added up.
    optional : bool
        Whether a method needs no stage in the slot. A slot that takes a list is always
        optional.
    """

    first: tuple[tuple[str, ...], ...]
    data: frozenset[str]
    returns: str
    many: bool = False
    added: bool = False
    optional: bool = False


def _slot(
    first: str,
    data: str,
    returns: str,
    *,
    many: bool = False,
    added: bool = False,
    optional: bool = False,
) -> Slot:
    """Return a slot whose names are given as texts.

    Parameters
    ----------
    first : str
        Names separated by spaces; alternatives are separated by ``or``.
    data : str
        Names separated by spaces.
    returns, many, added, optional
        As in `Slot`.
    """
    alternatives = [tuple(names.split()) for names in first.split(" or ")]
    return Slot(
        first=tuple(alternatives),
        data=frozenset(data.split()),
        returns=returns,
        many=many,
        added=added,
        optional=many or optional,
    )


_IMAGES = "reference match search"
_COSTS = f"{_IMAGES} raw mask"
_DISPARITY = f"{_COSTS} volume status other confidence"
_MAPS = (
    "disparity, (disparity, status) or (disparity, status, confidence); "
    "BothSides of two such results"
)

SLOTS: Mapping[str, Slot] = {
    "preprocessing": _slot(
        "image or reference match",
        "search auxiliary",
        "the image; of the pair both images",
        many=True,
    ),
    "matcher": _slot(_IMAGES, "mask scene auxiliary", _MAPS, optional=True),
    "matching_cost": _slot(_IMAGES, "mask auxiliary", "CostVolume", added=True),
    "aggregation": _slot("volume", f"{_COSTS} partial", "CostVolume", many=True),
    "smoothness": _slot("reference search", "match", "Smoothness", optional=True),
    "optimization": _slot(
        "volume",
        f"{_COSTS} smoothness other auxiliary",
        "Labeling, levels or a disparity map; BothSides of both disparity maps if it names other",
    ),
    "confidence": _slot("disparity", _DISPARITY, "a float32 map, higher = more certain", many=True),
    "refinement": _slot(
        "disparity",
        f"{_DISPARITY} corrected auxiliary",
        "disparity or (disparity, status)",
        many=True,
    ),
    "scheme": _slot("solve pair", "", "Estimate", many=True),
}
"""All slots, in the order in which their stages run. A scheme runs all other stages."""

VOLUME_SLOTS = ("matching_cost", "aggregation", "smoothness", "optimization")
"""The slots that a matcher replaces."""
