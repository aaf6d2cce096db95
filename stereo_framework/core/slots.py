"""Slots: the parts of a stereo method, such as its matching cost or optimization."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """Rules for the stages of a slot, such as the matching cost.

    Parameters
    ----------
    first : tuple of tuple of str
        Names of the first arguments of a stage, such as ``("volume",)``. Each tuple is
        an allowed alternative.
    data : frozenset of str
        Names of the optional data arguments of a stage.
    returns : str
        Description of the result of a stage, for messages.
    many : bool
        True if a method may have several stages in the slot. The stages run one after
        another.
    added : bool
        True if the slot takes one stage or a list of stages. The cost volumes of a list
        are added up.
    optional : bool
        True if the slot may be empty. This field is always true if `many` is true.
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
    """Create a slot from names that are separated by spaces.

    Parameters
    ----------
    first : str
        Names of the first arguments. The word ``or`` separates alternatives, such as in
        ``image or reference match``.
    data : str
        Names of the optional data arguments.
    returns, many, added, optional
        Fields of `Slot`.
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
"""All slots by name, in the order of a pipeline."""

VOLUME_SLOTS = ("matching_cost", "aggregation", "smoothness", "optimization")
"""Slots that a matcher replaces."""
