"""The part of a paper that a reproduction covers: items, scenes and omissions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass
class Coverage:
    """The scenes that items use, the scenes that were available, and the omissions.

    Parameters
    ----------
    requested : dict of str to None
        Names of the scenes that the items use in a whole reproduction, in order. The
        values are None: the dict serves as a set that keeps the order.
    available : dict of str to None
        Names of the scenes on which the items ran, or which they showed, in order.
    omissions : dict of str to None
        Noun phrases for omitted parts that are not scenes, such as slow methods.
    """

    requested: dict[str, None] = field(default_factory=dict)
    available: dict[str, None] = field(default_factory=dict)
    omissions: dict[str, None] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether all scenes were available and nothing else was left out."""
        return not self.omissions and set(self.requested) <= set(self.available)

    @property
    def scene_count(self) -> str:
        """The number of scenes as text, such as "1 scene of 4"; empty without scenes."""
        if not self.requested:
            return ""
        number = len(self.available)
        noun = "scene" if number == 1 else "scenes"
        return f"{number} {noun} of {len(self.requested)}"


def union(coverages: Iterable[Coverage]) -> Coverage:
    """Unite the coverages of several items."""
    total = Coverage()
    for coverage in coverages:
        total.requested.update(coverage.requested)
        total.available.update(coverage.available)
        total.omissions.update(coverage.omissions)
    return total


@dataclass(frozen=True)
class Extent:
    """The part of a paper that a reproduction covers, and its names in texts.

    Parameters
    ----------
    items : sequence of str
        Names of the items that were run.
    item_total : int
        Number of items of the paper.
    coverage : Coverage
        Scenes and omissions of these items.
    quick : bool
        Whether it was a quick reproduction.
    single_item : bool
        Whether an item was chosen by its name.
    """

    items: Sequence[str]
    item_total: int
    coverage: Coverage
    quick: bool = False
    single_item: bool = False

    @property
    def all_items(self) -> bool:
        """Whether every item of the paper was run without ``--quick``."""
        return len(self.items) == self.item_total and not self.quick

    @property
    def whole(self) -> bool:
        """Whether every item of the paper was run on all of its scenes."""
        return self.all_items and self.coverage.complete

    @property
    def label(self) -> str:
        """The name of the part in titles; empty if the whole paper was run."""
        if self.whole:
            return ""
        counts = f"{len(self.items)} of {self.item_total} items"
        if self.coverage.scene_count:
            counts = f"{self.coverage.scene_count}, {counts}"
        label = f"{self._kind}: {counts}"
        if self._counts_look_whole:
            label += f", without {' and '.join(self.coverage.omissions)}"
        return label

    @property
    def _counts_look_whole(self) -> bool:
        """Whether there are omissions, although no item and no scene is missing."""
        every_item = len(self.items) == self.item_total
        every_scene = set(self.coverage.requested) <= set(self.coverage.available)
        return every_item and every_scene and bool(self.coverage.omissions)

    @property
    def _kind(self) -> str:
        """The kind of the part, as the first words of a title."""
        if self.single_item:
            name = self.items[0]
            return f"Quick, item {name}" if self.quick else f"Item {name}"
        return "Quick" if self.quick else "In part"

    @property
    def sentence(self) -> str:
        """The sentences that name the items, scenes and omissions of the part."""
        if len(self.items) == self.item_total:
            items = f"all {self.item_total} items"
        else:
            items = f"{len(self.items)} of {self.item_total} items ({', '.join(self.items)})"
        sentence = f"This page shows a part of the paper: {items}{self._scenes}."
        if self.coverage.omissions:
            sentence += f" Left out: {'; '.join(self.coverage.omissions)}."
        return sentence

    @property
    def _scenes(self) -> str:
        """The end of a sentence that names the scenes; empty without scenes."""
        if not self.coverage.requested:
            return ""
        if not self.coverage.available:
            return f" on none of the {len(self.coverage.requested)} scenes"
        names = ", ".join(self.coverage.available)
        if set(self.coverage.requested) <= set(self.coverage.available):
            return f" on all of their scenes ({names})"
        return f" on {len(self.coverage.available)} of the {len(self.coverage.requested)} scenes ({names})"


def missing_mean(coverage: Coverage) -> str:
    """Return why a mean over all scenes cannot be computed; empty if all were run."""
    missing = [name for name in coverage.requested if name not in coverage.available]
    if not missing:
        return ""
    verb = "was" if len(missing) == 1 else "were"
    return f"a mean over {len(coverage.requested)} scenes, of which {len(missing)} {verb} not run"
