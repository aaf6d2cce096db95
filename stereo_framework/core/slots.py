"""Slots: the places of a method that stages stand in."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """A place in a method: what its stages get first, what they may name after that, and whether several may stand there.

    Parameters
    ----------
    first : tuple of tuple of str
        The data that a stage starts with: one of these.
    data : frozenset of str
        What it may name besides.
    returns : str
        What it returns, in words.
    many : bool
        The slot takes a list of stages, which run in order.
    added : bool
        The slot takes one stage or a list, whose volumes are added.
    optional : bool
        A method needs no stage there; it never needs a list.
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
    firsts = tuple(tuple(one.split()) for one in first.split(" or "))
    return Slot(firsts, frozenset(data.split()), returns, many, added, many or optional)


_IMAGES = "reference match search"
_COSTS = f"{_IMAGES} raw mask"
_DISPARITY = f"{_COSTS} volume status other confidence"
_MAPS = "disparity, (disparity, status) or (disparity, status, confidence); BothSides of two such results"

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
    "confidence": _slot("disparity", _DISPARITY, "a float32 map, higher = surer", many=True),
    "refinement": _slot(
        "disparity",
        f"{_DISPARITY} corrected auxiliary",
        "disparity or (disparity, status)",
        many=True,
    ),
    "scheme": _slot("solve pair", "", "Estimate", many=True),
}
"""Slots in the order in which they run; schemes stand around all of them."""

VOLUME_SLOTS = ("matching_cost", "aggregation", "smoothness", "optimization")
"""The slots that a matcher stands instead of."""
