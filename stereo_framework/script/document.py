"""What a script says, and how two scripts are merged: later wins."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stereo_framework.core.stage import SLOTS
from stereo_framework.script.addresses import excluded, is_slot, split, under
from stereo_framework.script.axes import Axis
from stereo_framework.script.places import Node, Place
from stereo_framework.script.specs import Specs, same_run


@dataclass
class Document:
    """What a script says, or one entry of ``methods``; keys that it does not have are None or empty.

    ``slots`` and ``alternatives`` go by address: ``aggregation``, ``alternatives.robust.aggregation``, and ``alternatives.robust.`` for an alternative
    itself. Under the addresses in ``without`` nothing stays of what the document builds on.
    """

    place: Place
    name: str | None = None
    scenes: tuple[str, ...] | None = None
    search: dict[str, Node] = field(default_factory=dict)
    seed: int | None = None
    protocols: Node | None = None
    report: dict[str, Any] = field(default_factory=dict)
    slots: dict[str, Specs] = field(default_factory=dict)
    alternatives: dict[str, Place] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    axes: dict[str, Axis] = field(default_factory=dict)
    methods: dict[str, Document] = field(default_factory=dict)

    def filled(self) -> dict[str, Place]:
        """The slots that stages stand in or that are swept, by address, with a place."""
        axes = {name: axis.place for name, axis in self.axes.items() if is_slot(name)}
        return axes | {name: specs[0].place for name, specs in self.slots.items() if specs}

    @property
    def homes(self) -> dict[str, Place]:
        """Where slots stand: the method itself (an empty address) and its alternatives, as ``alternatives.robust.``."""
        return {"": self.place, **self.alternatives}

    def lacks(self, address: str) -> bool:
        """Whether an address lies in an alternative that is not there, or in a slot that a matcher stands instead of, or the other way round."""
        filled = self.filled().keys()
        return split(address)[0] not in self.homes or under(address, excluded(filled) | (self.without - filled))

    def drop_axes(self, gone: Collection[str]) -> None:
        """Leave out some axes. Those that moved together with them then give each setting once."""
        zipped = {name: axis for name, axis in self.axes.items() if axis.zipped}
        left = {name: axis for name, axis in zipped.items() if name not in gone}
        self.axes = {name: axis for name, axis in self.axes.items() if name not in gone}
        if len(left) < len(zipped) and len({len(axis.values) for axis in left.values()}) == 1:
            rows: dict[tuple[str, ...], tuple[Any, ...]] = {}
            for row in zip(*(axis.values for axis in left.values()), strict=True):
                rows.setdefault(tuple(map(same_run, row)), row)
            for axis, values in zip(left.values(), zip(*rows.values(), strict=True), strict=True):
                self.axes[axis.name] = replace(axis, values=values)

    def removes(self) -> set[str]:
        """Addresses of what cannot stay of that which the document builds on."""
        return excluded(self.filled()) | self.without


def merge(base: Document, over: Document) -> Document:
    """Two documents as one: what `over` says counts, what it leaves out stays as in `base`, unless it cannot stand beside what `over` says."""
    gone = over.removes()

    def kept(mapping: Mapping[str, Any]) -> dict[str, Any]:
        return {address: what for address, what in mapping.items() if not under(address, gone)}

    below = replace(base, slots=kept(base.slots), alternatives=kept(base.alternatives))
    below.drop_axes([name for name in base.axes if under(name, gone)])
    # An axis that moves from grid to zip or back is still one axis.
    below.axes = {k: v for k, v in below.axes.items() if k not in over.axes or over.axes[k].zipped == v.zipped}
    for key, said in vars(over).items():
        if isinstance(said, dict | frozenset):
            vars(below)[key] = vars(below)[key] | said
        elif said is not None:
            vars(below)[key] = said
    for slot, specs in kept(base.slots).items():
        below.slots[slot] = _merge_slot(slot, specs, over.slots.get(slot, specs))
    for name in base.methods.keys() & over.methods.keys():
        below.methods[name] = merge(base.methods[name], over.methods[name])
    return below


def _merge_slot(slot: str, below: Specs, over: Specs) -> Specs:
    """A slot of two documents: the same stage merges parameters, another one replaces, a list is replaced whole."""
    listed = SLOTS[split(slot)[1]].many
    if below and over and not (listed or below[0].added or over[0].added) and over[0].stage is below[0].stage:
        return (replace(over[0], parameters={**below[0].parameters, **over[0].parameters}),)
    return over
