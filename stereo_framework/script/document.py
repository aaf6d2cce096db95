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

    below = replace(base)
    below.drop_axes([name for name in base.axes if under(name, gone)])
    # An axis that moves from grid to zip or back is still one axis.
    axes = {k: v for k, v in below.axes.items() if k not in over.axes or over.axes[k].zipped == v.zipped}
    methods = {
        name: merge(base.methods[name], method) if name in base.methods else method for name, method in over.methods.items()
    }
    return Document(
        place=over.place,
        name=over.name if over.name is not None else base.name,
        scenes=over.scenes if over.scenes is not None else base.scenes,
        search={**base.search, **over.search},
        seed=over.seed if over.seed is not None else base.seed,
        protocols=over.protocols or base.protocols,
        report={**base.report, **over.report},
        slots=_merge_slots(kept(base.slots), over.slots),
        alternatives=kept(base.alternatives) | over.alternatives,
        without=base.without | over.without,
        axes=axes | over.axes,
        methods=base.methods | methods,
    )


def _merge_slots(base: dict[str, Specs], over: dict[str, Specs]) -> dict[str, Specs]:
    """Slots of two documents: the same stage merges parameters, another one replaces, a list is replaced whole."""
    merged = dict(base)
    for slot, specs in over.items():
        merged[slot] = specs
        below = base.get(slot)
        if SLOTS[split(slot)[1]].many or not specs or not below or specs[0].added or below[0].added:
            continue
        if specs[0].stage is below[0].stage:
            merged[slot] = (replace(specs[0], parameters={**below[0].parameters, **specs[0].parameters}),)
    return merged
