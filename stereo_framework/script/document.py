"""What a script says, and how two scripts are merged: later wins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from stereo_framework.core.stage import SLOTS, VOLUME_SLOTS
from stereo_framework.io.places import Node, Place
from stereo_framework.script.addresses import is_slot, names, split
from stereo_framework.script.axes import Axis
from stereo_framework.script.specs import Specs, same_run


@dataclass
class Document:
    """What a script says, one entry of its ``methods``, or an alternative; keys that it does not have are None or empty.

    Of the slots in ``without``, and of the ``alternatives`` if they are named there, nothing stays of what the document builds on: of the
    `included` documents, until they are merged, and of whatever it is merged with.
    """

    place: Place
    name: str | None = None
    scenes: tuple[str, ...] | None = None
    search: dict[str, Node] = field(default_factory=dict)
    seed: int | None = None
    protocols: Node | None = None
    report: dict[str, Any] = field(default_factory=dict)
    slots: dict[str, Specs] = field(default_factory=dict)
    alternatives: dict[str, Document] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    axes: dict[str, Axis] = field(default_factory=dict)
    methods: dict[str, Document] = field(default_factory=dict)
    included: tuple[Document, ...] = ()

    def copy(self) -> Document:
        """The same, whose stages can be changed without changing another one's."""
        others = {name: other.copy() for name, other in self.alternatives.items()}
        return replace(self, slots=dict(self.slots), alternatives=others)

    def at(self, home: str) -> Document | None:
        """The method itself (an empty home) or one of its alternatives."""
        found: Document | None = self
        for name in names(home):
            found = found and found.alternatives.get(name)
        return found

    def tree(self, home: str = "") -> Iterator[tuple[str, Document]]:
        """The method itself and its alternatives, with their homes."""
        yield home, self
        for name, other in self.alternatives.items():
            yield from other.tree(f"{home}alternatives.{name}.")

    def filled(self, home: str = "") -> dict[str, Place]:
        """The slots at a home that stages stand in or that are swept, with a place."""
        swept = {
            name.removeprefix(home): axis.place for name, axis in self.axes.items() if is_slot(name) and split(name)[0] == home
        }
        own = self.at(home)
        return swept | {slot: specs[0].place for slot, specs in own.slots.items() if specs} if own else swept

    def removes(self, home: str) -> set[str]:
        """What cannot stay, at a home, of that which the document builds on: slots, and ``alternatives``."""
        own = self.at(home)
        return _excluded(self.filled(home)) | (own.without if own else set())

    def lacks(self, address: str) -> bool:
        """Whether an address lies in an alternative that is not there, or in a slot that a matcher stands instead of, or the other way round."""
        home, slot, _ = split(address)
        own, filled = self.at(home), self.filled(home)
        return own is None or slot in _excluded(filled) | (own.without - filled.keys())

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


def _excluded(slots: Iterable[str]) -> set[str]:
    """The slots that cannot stand beside others: a matcher stands instead of what makes and reads volumes."""
    found: set[str] = set()
    for slot in slots:
        found |= set(VOLUME_SLOTS) if slot == "matcher" else {"matcher"} if slot in VOLUME_SLOTS else set()
    return found


def merge(base: Document, over: Document) -> Document:
    """Two documents as one: what `over` says counts, what it leaves out stays as in `base`, unless it cannot stand beside what `over` says."""
    below = replace(base)
    gone = [name for name in base.axes if any(part in over.removes(home) for home, part in _steps(name))]
    below.drop_axes(gone)
    # An axis that moves from grid to zip or back is still one axis.
    below.axes = {k: v for k, v in below.axes.items() if k not in over.axes or over.axes[k].zipped == v.zipped}
    return _laid(below, over, over, "")


def _steps(address: str) -> Iterator[tuple[str, str]]:
    """The mappings that an address leads through, and the key that it names in each."""
    home, word, _ = split(address)
    outer = ""
    for name in names(home):
        yield outer, "alternatives"
        outer += f"alternatives.{name}."
    yield home, word


def _laid(base: Document, over: Document, root: Document, home: str) -> Document:
    """`over`, which stands at a home of the document `root`, laid over what stands there in another one."""
    gone = root.removes(home)
    slots = {slot: specs for slot, specs in base.slots.items() if slot not in gone}
    others = {} if "alternatives" in gone else base.alternatives
    found = replace(base)
    for key, said in vars(over).items():
        if isinstance(said, dict | frozenset):
            vars(found)[key] = vars(found)[key] | said
        elif said is not None:
            vars(found)[key] = said
    found.slots = slots | {slot: _slot(slot, slots.get(slot), specs) for slot, specs in over.slots.items()}
    found.alternatives = {
        name: _laid(other, over.alternatives.get(name, Document(other.place)), root, f"{home}alternatives.{name}.")
        for name, other in others.items()
    } | {name: other for name, other in over.alternatives.items() if name not in others}
    for name in base.methods.keys() & over.methods.keys():
        found.methods[name] = merge(base.methods[name], over.methods[name])
    return found


def _slot(slot: str, below: Specs, over: Specs) -> Specs:
    """A slot of two documents: the same stage merges parameters, another one replaces, a list is replaced whole."""
    if below and over and not (SLOTS[slot].many or below[0].added or over[0].added) and over[0].stage is below[0].stage:
        return (replace(over[0], parameters={**below[0].parameters, **over[0].parameters}),)
    return over
