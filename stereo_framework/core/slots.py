"""Slots: the places of a method that stages stand in."""

from __future__ import annotations

import types
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
        A method needs no stage there.
    """

    first: tuple[tuple[str, ...], ...]
    data: frozenset[str] = frozenset()
    returns: str = ""
    many: bool = False
    added: bool = False
    optional: bool = False


_IMAGES = frozenset({"reference", "match", "search"})

SLOTS: Mapping[str, Slot] = types.MappingProxyType(
    {
        "preprocessing": Slot(
            (("image",), ("reference", "match")),
            frozenset({"search", "alternatives"}),
            "the image; of the pair both images",
            many=True,
            optional=True,
        ),
        "matcher": Slot(
            (("reference", "match", "search"),),
            frozenset({"domain", "scene"}),
            "disparity, (disparity, status) or (disparity, status, confidence); Views of two such results",
            optional=True,
        ),
        "matching_cost": Slot(
            (("reference", "match", "search"),), frozenset({"domain", "alternatives"}), "CostVolume", added=True
        ),
        "aggregation": Slot((("volume",),), _IMAGES | {"raw", "domain", "partial"}, "CostVolume", many=True, optional=True),
        "smoothness": Slot((("reference", "search"),), frozenset({"match"}), "Smoothness", optional=True),
        "optimization": Slot(
            (("volume",),),
            _IMAGES | {"smoothness", "raw", "domain", "other", "alternatives"},
            "Labeling; Views of both disparity maps if it names other",
        ),
        "confidence": Slot(
            (("disparity",),),
            _IMAGES | {"volume", "raw", "status", "other", "domain", "confidence"},
            "a float32 map, higher = surer",
            many=True,
            optional=True,
        ),
        "refinement": Slot(
            (("disparity",),),
            _IMAGES | {"corrected", "volume", "raw", "status", "other", "domain", "alternatives", "confidence"},
            "disparity or (disparity, status)",
            many=True,
            optional=True,
        ),
        "scheme": Slot((("solve", "pair"),), frozenset(), "Match", many=True, optional=True),
    }
)
"""Slots in the order in which they run; schemes stand around all of them."""

VOLUME_SLOTS = ("matching_cost", "aggregation", "smoothness", "optimization")
"""The slots that a matcher stands instead of."""
