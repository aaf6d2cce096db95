"""Mappings of scripts laid over one another: later wins."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from stereo_framework.core.slots import SLOTS, exclusions, slots_that_cannot_accompany
from stereo_framework.io.locations import Location, Node
from stereo_framework.script.reading import entry
from stereo_framework.script.specs import names, split


def without_null_keys(node: Node) -> Node:
    """A mapping without what says nothing: null, but for slots and auxiliary methods, which it empties, and what was read already."""
    emptied = (*SLOTS, "auxiliary")
    kept = {
        key: value
        for key, value in node.entries.items()
        if value.value is not None or key in emptied
    }
    return Node(
        {key: kept[key] for key in kept if key not in ("include", "plugins")},
        node.location,
        node.keys,
    )


def merge(base: Node, over: Node) -> Node:
    """Two mappings as one: what `over` says counts, what it leaves out stays as in `base`, unless it cannot stand beside what `over` says.

    Axes of what goes go with it; one that moves from grid to zip or back is still one axis.
    """
    lost = [
        name for name in axes(base) if any(part in removed(over, home) for home, part in _way(name))
    ]
    for kind, other in (("grid", "zip"), ("zip", "grid")):
        base = without_axes(base, (*lost, *over.at("sweep", other).entries), kinds=(kind,))
    return _laid(base, over, over, "")


def axes(node: Node) -> dict[str, Node]:
    """The axes of a mapping by name: those of the grid, and those that move together."""
    return {**node.at("sweep", "grid").entries, **node.at("sweep", "zip").entries}


def without_axes(
    node: Node, gone: Collection[str], kinds: Collection[str] = ("grid", "zip")
) -> Node:
    """A mapping without some axes."""
    sweep = node.at("sweep")
    if not any(name in gone for kind in kinds for name in sweep.at(kind).entries):
        return node
    left = {
        kind: replace(
            own, value={name: axis for name, axis in own.entries.items() if name not in gone}
        )
        if kind in kinds
        else own
        for kind, own in sweep.entries.items()
    }
    return replace(node, value={**node.entries, "sweep": replace(sweep, value=left)})


def tree(node: Node, home: str = "") -> Iterator[tuple[str, Node]]:
    """A mapping and its auxiliary methods, with their homes."""
    yield home, node
    for name, other in node.at("auxiliary").entries.items():
        yield from tree(other, f"{home}auxiliary.{name}.")


def at(node: Node, home: str) -> Node:
    """The mapping itself (an empty home) or one of its auxiliary methods."""
    return node.at(*(key for name in names(home) for key in ("auxiliary", name)))


def filled(node: Node, home: str = "") -> dict[str, Location]:
    """The slots at a home that stages stand in or that are swept, with a location; ``maps`` is one here."""
    swept = {
        split(name): kind.key(name)
        for kind in node.at("sweep").entries.values()
        for name in kind.entries
    }
    own = at(node, home).entries
    found = {
        address.word: location
        for address, location in swept.items()
        if address.is_slot and address.home == home
    }
    return found | {
        key: own[key].items[0].location
        for key in ("maps", *SLOTS)
        if key in own and own[key].value not in (None, [])
    }


def removed(node: Node, home: str) -> set[str]:
    """Return the keys that a mapping removes from the mappings below it.

    A matcher removes the slots that it replaces, and these slots remove a matcher. The
    key ``maps`` removes all slots, because the disparity maps are already computed. The
    value null of ``auxiliary`` removes all auxiliary methods.

    Parameters
    ----------
    node : Node
        Mapping of a script.
    home : str
        Prefix of the method whose keys are returned, such as ``auxiliary.robust.``.
    """
    filled_slots = filled(node, home).keys()
    method = at(node, home)
    removed_keys = set()
    if "auxiliary" in method.entries and method.at("auxiliary").value is None:
        removed_keys.add("auxiliary")
    if "maps" in filled_slots:
        removed_keys |= {*SLOTS, "auxiliary"}
    # Two slots that exclude each other are a fault, which the model reports.
    if any(exclusions(filled_slots)):
        return removed_keys
    excluded_keys: set[str] = set()
    for slot in filled_slots & SLOTS.keys():
        excluded_keys |= slots_that_cannot_accompany(slot)
    # The key ``maps`` is a short form of a matcher.
    if "matcher" in filled_slots | excluded_keys:
        excluded_keys.add("maps")
    return removed_keys | excluded_keys


def lacks(node: Node, address: str) -> bool:
    """Return whether an address lies in a part that a script's mapping does not have.

    Such a part is an auxiliary method that is not defined, or a slot that another slot
    or ``maps`` excludes.
    """
    home, slot, _ = split(address)
    filled_slots = filled(node, home).keys()
    if "maps" in filled_slots:
        return slot in SLOTS and slot not in {*filled_slots, "matcher"}
    is_defined = home in dict(tree(node))
    return not is_defined or slot in removed(node, home)


def _way(address: str) -> Iterator[tuple[str, str]]:
    """The mappings that an address leads through, and the key that it names in each."""
    home, word, _ = split(address)
    outer = ""
    for name in names(home):
        yield outer, "auxiliary"
        outer += f"auxiliary.{name}."
    yield home, word


def _laid(base: Node, over: Node, root: Node, home: str) -> Node:
    """`over`, which stands at a home of the mapping `root`, laid over what stands there in another one."""
    gone = removed(root, home)
    kept = replace(
        base, value={key: value for key, value in base.entries.items() if key not in gone}
    )

    def both(key: str, below: Node, above: Node) -> Node:
        if key in SLOTS or key == "maps":
            return _stage(key, below, above)
        if key == "methods":
            return _union(below, above, lambda name, one, other: merge(one, other))
        if key == "sweep":
            return _union(below, above, lambda kind, one, other: _union(one, other))
        return _union(below, above) if key in ("search", "report", "evaluation") else above

    found = _union(kept, over if over.entries else Node({}, over.location), both)
    if others := kept.at("auxiliary").entries:
        # A sweep may reach into those that are not named here.
        own = over.at("auxiliary")
        inner = {
            name: _laid(
                one, own.entries.get(name, Node({}, one.location)), root, f"{home}auxiliary.{name}."
            )
            for name, one in others.items()
        }
        keys = {**kept.at("auxiliary").keys, **own.keys}
        found.entries["auxiliary"] = Node({**others, **own.entries, **inner}, own.location, keys)
    return found


def _union(
    base: Node,
    over: Node,
    both: Callable[[str, Node, Node], Node] = lambda key, below, above: above,
) -> Node:
    """The entries of two mappings, those of one name as `both` makes them; anything else is replaced."""
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    found = {
        key: both(key, base.value[key], value) if key in base.value else value
        for key, value in over.value.items()
    }
    return Node({**base.value, **found}, over.location, {**base.keys, **over.keys})


def _stage(slot: str, base: Node, over: Node) -> Node:
    """Merge a slot of two mappings.

    The same stage merges parameters, and another stage replaces. A list is replaced as
    a whole.
    """
    if slot == "maps":
        return _union(entry(slot, base), entry(slot, over))
    return over if SLOTS[slot].many else merged_stage(base, over)


def merged_stage(base: Node, over: Node) -> Node:
    """Merge two stages, or two values of a parameter that may be a stage.

    A stage is a mapping with the key ``use``, or the name of the stage alone. The same
    stage merges parameters. Everything else is replaced.
    """
    if "use" not in base.entries and "use" not in over.entries:
        return over
    stage_of_base, stage_over = entry("", base), entry("", over)
    if stage_of_base.at("use").value != stage_over.at("use").value:
        return over
    return _union(stage_of_base, stage_over, lambda name, below, above: merged_stage(below, above))
