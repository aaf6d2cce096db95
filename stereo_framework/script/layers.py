"""Merging of scripts and of the scripts that they include.

A later script is merged over an earlier one: its values replace those of the earlier
script. The same stage merges its parameters.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from stereo_framework.core.slots import SLOTS, exclusions, slots_that_cannot_accompany
from stereo_framework.io.document import Document, dict_of
from stereo_framework.io.locations import Location
from stereo_framework.script.addresses import names, split

_KINDS_OF_AXES = ("grid", "zip")


def merged(base: Document, over: Document) -> Document:
    """Merge two scripts, or two methods.

    Values of `over` replace those of `base`. Keys of `base` that cannot accompany the
    stages of `over` are removed, and so are their axes.
    """
    removed_axes = {
        name
        for name in axis_names(base)
        if any(key in removed_keys(over, prefix) for prefix, key in _keys_on_the_way(name))
    }
    # An axis that moves from `grid` to `zip`, or back, is still one axis.
    base = without_axes(base, removed_axes | set(axis_names(over, ("zip",))), kinds=("grid",))
    base = without_axes(base, removed_axes | set(axis_names(over, ("grid",))), kinds=("zip",))
    return _merged_method(base, over, over, "")


def without_null_keys(script: Document) -> Document:
    """Return a script without the keys whose value is null.

    Null has a meaning for slots and auxiliary methods, which it removes. The keys
    ``include`` and ``plugins`` are removed as well, because they have been read.
    """
    null_keys = [
        key
        for key, value in script.mapping.items()
        if value is None and key not in (*SLOTS, "auxiliary")
    ]
    return dict_of(script.entries(), script.location).without_keys(*null_keys, "include", "plugins")


# --- axes -----------------------------------------------------------------------------


def axis_names(script: Document, kinds: Collection[str] = _KINDS_OF_AXES) -> list[str]:
    """Return the names of the axes of a script. The axes of the zip come last."""
    names_of_axes: dict[str, None] = {}
    for kind in kinds:
        names_of_axes |= dict.fromkeys(script.part("sweep", kind).mapping)
    return list(names_of_axes)


def axis_key(script: Document, name: str) -> Location:
    """Return the location of the key of an axis."""
    for kind in _KINDS_OF_AXES:
        if name in script.part("sweep", kind).mapping:
            return script.key("sweep", kind, name)
    raise KeyError(name)


def without_axes(
    script: Document, names_of_axes: Collection[str], kinds: Collection[str] = _KINDS_OF_AXES
) -> Document:
    """Return a script without some axes."""
    for kind in kinds:
        axes = script.part("sweep", kind)
        if any(name in names_of_axes for name in axes.mapping):
            script = script.with_value(("sweep", kind), axes.without_keys(*names_of_axes))
    return script


# --- methods --------------------------------------------------------------------------


def methods_inside(method: Document, prefix: str = "") -> Iterator[tuple[str, Document]]:
    """Yield a method and its auxiliary methods, each with its prefix.

    The prefix of the method itself is empty. An example of another prefix is
    ``auxiliary.robust.``.
    """
    yield prefix, method
    for name, auxiliary_method in method.part("auxiliary").entries().items():
        yield from methods_inside(auxiliary_method, f"{prefix}auxiliary.{name}.")


def method_at(method: Document, prefix: str) -> Document:
    """Return a method (for an empty prefix) or one of its auxiliary methods."""
    path = [key for name in names(prefix) for key in ("auxiliary", name)]
    return method.part(*path)


def filled_slots(method: Document, prefix: str = "") -> dict[str, Location]:
    """Return the slots that contain stages or are swept, with a location of each.

    The key ``maps`` counts as a slot here.

    Parameters
    ----------
    method : Document
    prefix : str
        Prefix of the auxiliary method with the slots; empty for the method itself.
    """
    slots: dict[str, Location] = {}
    for kind in method.part("sweep").mapping:
        for name in method.part("sweep", kind).mapping:
            address = split(name)
            if address.is_slot and address.home == prefix:
                slots[address.word] = method.key("sweep", kind, name)
    method_of_slots = method_at(method, prefix)
    for key in ("maps", *SLOTS):
        content = method_of_slots.mapping.get(key)
        if content is not None and content != []:
            slots[key] = method_of_slots.part(key).items()[0].location
    return slots


def removed_keys(method: Document, prefix: str) -> set[str]:
    """Return the keys that a method removes from the methods below it.

    A matcher removes the slots that it replaces, and these slots remove a matcher. The
    key ``maps`` removes all slots, because the disparity maps are already computed. A
    null value of the key ``auxiliary`` removes all auxiliary methods.

    Parameters
    ----------
    method : Document
    prefix : str
        Prefix of the method whose keys are returned, such as ``auxiliary.robust.``.
    """
    slots = filled_slots(method, prefix).keys()
    mapping = method_at(method, prefix).mapping
    removed = set()
    if "auxiliary" in mapping and mapping["auxiliary"] is None:
        removed.add("auxiliary")
    if "maps" in slots:
        removed |= {*SLOTS, "auxiliary"}
    # Two slots that exclude each other are a fault, which is reported elsewhere.
    if any(exclusions(slots)):
        return removed
    excluded: set[str] = set()
    for slot in slots & SLOTS.keys():
        excluded |= slots_that_cannot_accompany(slot)
    # The key ``maps`` is a short form of a matcher.
    if "matcher" in slots | excluded:
        excluded.add("maps")
    return removed | excluded


def lacks(method: Document, address: str) -> bool:
    """Return whether an address lies in a part that a method does not have.

    Such a part is an auxiliary method that is not defined, or a slot that another slot
    or ``maps`` excludes.
    """
    prefix, slot, _ = split(address)
    slots = filled_slots(method, prefix).keys()
    if "maps" in slots:
        return slot in SLOTS and slot not in {*slots, "matcher"}
    is_defined = prefix in dict(methods_inside(method))
    return not is_defined or slot in removed_keys(method, prefix)


def _keys_on_the_way(address: str) -> Iterator[tuple[str, str]]:
    """Yield the prefix of each method on the way to an address, and the next key."""
    prefix, word, _ = split(address)
    outer_prefix = ""
    for name in names(prefix):
        yield outer_prefix, "auxiliary"
        outer_prefix += f"auxiliary.{name}."
    yield prefix, word


# --- merging --------------------------------------------------------------------------


def _merged_method(base: Document, over: Document, root: Document, prefix: str) -> Document:
    """Merge two methods at the same prefix.

    Parameters
    ----------
    base : Document
    over : Document
        Method at the prefix inside `root`. It may be null.
    root : Document
        Script or method whose sweep may fill slots of `over`.
    prefix : str
    """
    kept = base.without_keys(*removed_keys(root, prefix))
    own_keys = over if over.mapping else dict_of({}, over.location)
    result = _union(kept, own_keys, _merged_key)
    methods_below = kept.part("auxiliary").entries()
    if not methods_below:
        return result
    # A sweep may fill slots of an auxiliary method even if `over` does not contain the
    # auxiliary method.
    methods_over = over.part("auxiliary")
    auxiliary = {**methods_below, **methods_over.entries()}
    for name, method_below in methods_below.items():
        method_over = methods_over.part(name)
        if name not in methods_over.mapping:
            method_over = dict_of({}, method_below.location)
        inner_prefix = f"{prefix}auxiliary.{name}."
        auxiliary[name] = _merged_method(method_below, method_over, root, inner_prefix)
    return result.with_value(("auxiliary",), dict_of(auxiliary, methods_over.location))


def _merged_key(key: str, base: Document, over: Document) -> Document:
    """Merge the values of a key that two scripts have."""
    if key == "maps":
        return _union(as_stage(base, "path"), as_stage(over, "path"))
    if key in SLOTS:
        return merged_slot(key, base, over)
    if key == "methods":
        return _union(base, over, lambda name, below, above: merged(below, above))
    if key in ("sweep", "by_scene"):
        return _union(base, over, lambda name, below, above: _union(below, above))
    if key in ("search", "report", "evaluation"):
        return _union(base, over)
    return over


def merged_slot(slot: str, base: Document, over: Document) -> Document:
    """Merge two contents of a slot. A list of stages is replaced as a whole."""
    return over if SLOTS[slot].many else merged_stage(base, over)


def merged_stage(base: Document, over: Document) -> Document:
    """Merge two stages, or two values of a parameter that may be a stage.

    A stage is a mapping with the key ``use``, or the name of the stage alone. The same
    stage merges its parameters. Everything else is replaced.
    """
    if "use" not in base.mapping and "use" not in over.mapping:
        return over
    stage_below, stage_over = as_stage(base), as_stage(over)
    if stage_below.mapping.get("use") != stage_over.mapping.get("use"):
        return over
    return _union(stage_below, stage_over, lambda name, below, above: merged_stage(below, above))


def as_stage(document: Document, key: str = "use") -> Document:
    """Return a stage as a mapping; a text becomes the value of the key ``use``.

    Parameters
    ----------
    document : Document
    key : str
        Key of the mapping. For disparity maps, the key is ``path``.
    """
    if not isinstance(document.data, str):
        return document
    location = replace(document.location, key=None)
    return Document({key: document.data}, {(): document.location, (key,): location})


def _union(
    base: Document,
    over: Document,
    merge_values: Callable[[str, Document, Document], Document] = lambda key, base, over: over,
) -> Document:
    """Merge two mappings. If one of them is no mapping, the result is `over`.

    Parameters
    ----------
    base, over : Document
    merge_values : callable
        Function that takes a key and its two values, and merges the values.
    """
    if not isinstance(base.data, dict) or not isinstance(over.data, dict):
        return over
    entries = base.entries()
    for key, value in over.entries().items():
        entries[key] = merge_values(key, entries[key], value) if key in entries else value
    return dict_of(entries, over.location)
