"""Slots: the parts of a stereo method, such as its matching cost, and their rules.

This module imports no other module of the package. The file ``__init__.py`` of the
package imports it, and must not load numpy or numba.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal


class ResultKind(Enum):
    """A kind of result that a stage returns."""

    IMAGE = auto()
    """An image, from a stage that gets a single image."""
    BOTH_IMAGES = auto()
    """Both images of a pair, from a stage that gets both images."""
    COST_VOLUME = auto()
    """A `CostVolume`."""
    SMOOTHNESS = auto()
    """A `Smoothness`."""
    LABELING = auto()
    """A `Labeling`: levels and their costs."""
    LEVELS = auto()
    """An array of levels."""
    DISPARITY = auto()
    """A disparity map."""
    DISPARITY_AND_STATUS = auto()
    """A tuple of a disparity map and a status map."""
    DISPARITY_STATUS_AND_CONFIDENCE = auto()
    """A tuple of a disparity map, a status map and a confidence map."""
    CONFIDENCE = auto()
    """A confidence map."""
    ESTIMATE = auto()
    """An `Estimate`, which is the complete result of a method."""


@dataclass(frozen=True, kw_only=True)
class Slot:
    """Rules for the stages of a slot, such as the matching cost.

    Parameters
    ----------
    must_name : tuple of tuple of str
        Names of the first data arguments of a stage, such as ``("volume",)``. Each
        tuple is an allowed alternative.
    may_name : frozenset of str
        Names of the optional data arguments of a stage.
    results : tuple of ResultKind
        Allowed kinds of results of a stage.
    returns : str
        Description of the result of a stage, for messages.
    returns_both_sides : bool
        True if a stage may return `BothSides`, the results for both images of a pair.
        If such a stage names the data argument ``other``, it must return `BothSides`.
    makes : frozenset of str
        Data that a stage creates for later stages, such as ``volume``. Later stages do
        not need earlier cost volumes of these names. The name ``disparity`` means the
        first disparity map, which refinements change.
    images : {"prepared", "corrected"}
        Images that a stage gets as ``reference`` and ``match``. Prepared images have
        passed the earlier preprocessing stages for single images. Corrected images have
        also passed the earlier stages for pairs, which may move pixels.
    excludes : tuple of str
        Slots that must be empty if this slot has a stage.
    withholds : frozenset of str
        Data that other stages cannot get if this slot has a stage.
    is_for_both_images : bool
        True if the engine runs the step once for both images of a pair. A preprocessing
        stage for single images is then called for each image of the pair.
    needs_whole_images : bool
        True if a stage cannot run on strips of rows.
    volumes_in_memory : int
        Number of cost volumes that a stage needs at most, if it does not declare its
        ``memory``. The returned volume is counted, but the input volume is not.
    many : bool
        True if a method may have several stages in the slot. The stages run one after
        another.
    added : bool
        True if the slot takes one stage or a list of stages. The cost volumes of a list
        are added up.
    optional : bool
        False if a method needs a stage in the slot, unless another stage excludes it.
    """

    must_name: tuple[tuple[str, ...], ...]
    may_name: frozenset[str]
    results: tuple[ResultKind, ...]
    returns: str
    returns_both_sides: bool = False
    makes: frozenset[str] = frozenset()
    images: Literal["prepared", "corrected"] = "prepared"
    excludes: tuple[str, ...] = ()
    withholds: frozenset[str] = frozenset()
    is_for_both_images: bool = False
    needs_whole_images: bool = False
    volumes_in_memory: int = 2
    many: bool = False
    added: bool = False
    optional: bool = False

    @property
    def makes_disparity(self) -> bool:
        """Return whether a stage computes the first disparity map of an image."""
        return "disparity" in self.makes

    @property
    def chooses_from_costs(self) -> bool:
        """Return whether a stage chooses disparities from the costs of a volume."""
        return self.makes_disparity and ("volume",) in self.must_name

    @property
    def makes_raw_volume(self) -> bool:
        """Return whether a stage computes a cost volume from images."""
        return "raw" in self.makes


_IMAGES_TO_COMPARE = ("reference", "match", "search")
_DATA_OF_COSTS = frozenset({*_IMAGES_TO_COMPARE, "raw", "mask"})
_DATA_OF_DISPARITIES = _DATA_OF_COSTS | {"volume", "status", "other", "confidence"}

_SLOTS_WITH_COSTS: Mapping[str, Slot] = {
    "matching_cost": Slot(
        must_name=(_IMAGES_TO_COMPARE,),
        may_name=frozenset({"mask", "auxiliary", "frames"}),
        results=(ResultKind.COST_VOLUME,),
        returns="CostVolume",
        makes=frozenset({"volume", "raw"}),
        images="corrected",
        added=True,
    ),
    "aggregation": Slot(
        must_name=(("volume",),),
        may_name=_DATA_OF_COSTS | {"partial", "cost", "frames"},
        results=(ResultKind.COST_VOLUME,),
        returns="CostVolume",
        makes=frozenset({"volume"}),
        # Bayesian diffusion needs four cost volumes.
        volumes_in_memory=4,
        many=True,
        optional=True,
    ),
    "smoothness": Slot(
        must_name=(("reference", "search"),),
        may_name=frozenset({"match"}),
        results=(ResultKind.SMOOTHNESS,),
        returns="Smoothness",
        makes=frozenset({"smoothness"}),
        optional=True,
    ),
    "optimization": Slot(
        must_name=(("volume",),),
        may_name=_DATA_OF_COSTS | {"smoothness", "other", "auxiliary"},
        results=(ResultKind.LABELING, ResultKind.LEVELS, ResultKind.DISPARITY),
        returns=(
            "Labeling, levels or a disparity map; "
            "BothSides of both disparity maps if it names other"
        ),
        returns_both_sides=True,
        makes=frozenset({"disparity"}),
    ),
}
"""Slots that compute the first disparity map from cost volumes, without a matcher."""

SLOTS: Mapping[str, Slot] = {
    "preprocessing": Slot(
        must_name=(("image",), ("reference", "match")),
        may_name=frozenset({"search", "auxiliary"}),
        results=(ResultKind.IMAGE, ResultKind.BOTH_IMAGES),
        returns="the image; of the pair both images",
        images="corrected",
        is_for_both_images=True,
        needs_whole_images=True,
        many=True,
        optional=True,
    ),
    "matcher": Slot(
        must_name=(_IMAGES_TO_COMPARE,),
        may_name=frozenset({"mask", "scene", "auxiliary"}),
        results=(
            ResultKind.DISPARITY,
            ResultKind.DISPARITY_AND_STATUS,
            ResultKind.DISPARITY_STATUS_AND_CONFIDENCE,
        ),
        returns=(
            "disparity, (disparity, status) or (disparity, status, confidence); "
            "BothSides of two such results"
        ),
        returns_both_sides=True,
        makes=frozenset({"disparity"}),
        images="corrected",
        excludes=tuple(_SLOTS_WITH_COSTS),
        needs_whole_images=True,
        optional=True,
    ),
    **_SLOTS_WITH_COSTS,
    "confidence": Slot(
        must_name=(("disparity",),),
        may_name=_DATA_OF_DISPARITIES | {"frames"},
        results=(ResultKind.CONFIDENCE,),
        returns="a float32 map, higher = more certain",
        makes=frozenset({"confidence"}),
        many=True,
        optional=True,
    ),
    "refinement": Slot(
        must_name=(("disparity",),),
        may_name=_DATA_OF_DISPARITIES | {"corrected", "auxiliary"},
        results=(ResultKind.DISPARITY, ResultKind.DISPARITY_AND_STATUS),
        returns="disparity or (disparity, status)",
        many=True,
        optional=True,
    ),
    "scheme": Slot(
        must_name=(("solve", "pair"),),
        may_name=frozenset(),
        results=(ResultKind.ESTIMATE,),
        returns="Estimate",
        makes=frozenset({"estimate"}),
        # A scheme makes new pairs, which belong to no scene.
        withholds=frozenset({"scene"}),
        needs_whole_images=True,
        many=True,
        optional=True,
    ),
}
"""All slots by name, in the order of a pipeline."""


def exclusions(slots: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each slot that excludes other slots of a method, and these slots.

    Parameters
    ----------
    slots : collection of str
        Names of the slots of a method that have a stage.

    Yields
    ------
    excluding : str
    excluded : list of str

    Examples
    --------
    >>> list(exclusions(["matcher", "aggregation", "refinement"]))
    [('matcher', ['aggregation'])]
    """
    for excluding, rules in SLOTS.items():
        if excluding in slots:
            excluded = [slot for slot in rules.excludes if slot in slots]
            if excluded:
                yield excluding, excluded


def slots_that_cannot_accompany(slot: str) -> frozenset[str]:
    """Return the slots that must be empty if a slot has a stage.

    Examples
    --------
    >>> sorted(slots_that_cannot_accompany("aggregation"))
    ['matcher']
    """
    excluding = frozenset(name for name, rules in SLOTS.items() if slot in rules.excludes)
    return excluding.union(SLOTS[slot].excludes)
