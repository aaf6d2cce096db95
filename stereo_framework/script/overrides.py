"""``--set KEY=VALUE``: overrides of a script from the command line. They win over everything that the script says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stereo_framework.core.errors import nearest
from stereo_framework.core.stage import SLOTS
from stereo_framework.script.addresses import is_slot, slot_of, split
from stereo_framework.script.document import Document, merge
from stereo_framework.script.keys import KEYS, METHOD_KEYS
from stereo_framework.script.parser import parse
from stereo_framework.script.places import Faults, Node, Place
from stereo_framework.script.yaml_loader import parse as parse_yaml

_SETTABLE = tuple(key for key in KEYS if key not in ("include", "plugins"))
_SETTABLE_OF_METHOD = tuple(key for key in METHOD_KEYS if key != "include")


@dataclass(frozen=True)
class Assignment:
    """A parameter of a stage to be set in one method (by name) or in all (None), once the methods are merged."""

    method: str | None
    name: str
    node: Node


def apply(root: Document, overrides: Sequence[str], faults: Faults) -> list[Assignment]:
    """Apply overrides to a merged script.

    An axis of the sweep that varies what is set is dropped: the value replaces it. A slot set as a whole merges with the
    same stage and replaces another one, as in an include.

    Parameters
    ----------
    root : Document
        Changed in place.
    overrides : sequence of str
        ``matching_cost.truncation=20``, ``aggregation=[{use: box, size: 9}]``, ``methods.ssd.seed=3``.

    Returns
    -------
    list of Assignment
        The overrides of single parameters, which wait for the merged methods.
    """
    waiting = []
    for override in overrides:
        key, sign, value = override.partition("=")
        key = key.strip()
        if not sign or not key:
            faults.add(Place("--set", path=repr(override)), "not KEY=VALUE; for example matching_cost.truncation=20")
            continue
        node = parse_yaml(value, "--set", faults, key)
        if node is None:
            continue
        method, local = _split_method(root, key)
        place = Place("--set", path=key)
        local = _in_full(root, method, local, place, faults)
        if not local:
            continue
        head = local.partition(".")[0]
        if method is None and head == "methods":
            name = local.partition(".")[2].partition(".")[0]
            faults.add(place, f"no such method {name!r}; {nearest(name, root.methods, kind='methods')}")
        elif head not in (legal := _SETTABLE if method is None else _SETTABLE_OF_METHOD):
            faults.add(place, f"no such key {head!r} to set; {nearest(head, legal, kind='keys')}")
        elif method is not None and (axis := next((name for name in (local, slot_of(local)) if name in root.axes), None)):
            # An axis at the script's top, of what is set or of the slot that it belongs to.
            said = f"{axis} is swept for all methods"
            faults.add(place, f"{said}; set it for all, or move the axis into the methods it is meant for")
        elif split(local)[1] in SLOTS and split(local)[2]:
            stage, _, parameter = split(local)[2].rpartition(".")
            # An axis may leave out the stage's name where one stage stands.
            _drop(root, method, [local, f"{slot_of(local)}.{parameter}"] if stage else [local])
            waiting.append(Assignment(method, local, node))
        elif head == "alternatives" and (at := place if local.endswith(".include") else _include(node)):
            faults.add(at, "'include' cannot be set; write it in the script")
        else:
            _merge(root, method, local, node, faults)
    return waiting


def _in_full(root: Document, method: str | None, key: str, place: Place, faults: Faults) -> str:
    """The address of a parameter that is given by its name alone; any other key as it is. Empty, and a fault, where several stages have the parameter."""
    if "." in key or key in _SETTABLE:
        return key
    places: dict[str, None] = {}
    for document in _meant(root, method):
        swept = [(axis.name, specs) for axis in document.axes.values() if is_slot(axis.name) for specs in axis.values]
        for slot, specs in (*document.slots.items(), *swept):
            for spec in specs or ():
                if key in spec.legal and not split(slot)[0]:
                    listed = SLOTS[slot].many or spec.added
                    places[f"{slot}.{spec.stage.name}.{key}" if listed else f"{slot}.{key}"] = None
    if len(places) > 1:
        faults.add(place, f"{' and '.join(places)} have it; say which")
        return ""
    return next(iter(places), key)


def _split_method(root: Document, key: str) -> tuple[str | None, str]:
    """``methods.ssd.seed`` as ``("ssd", "seed")``; a name may hold dots. Any other key as ``(None, key)``."""
    for name in sorted(root.methods, key=len, reverse=True):
        if key.startswith(f"methods.{name}."):
            return name, key.removeprefix(f"methods.{name}.")
    return None, key


def _merge(root: Document, method: str | None, key: str, node: Node, faults: Faults) -> None:
    """Merge what is neither a parameter of a stage nor of a single method's stage as if a later script said it."""
    prefix = "" if method is None else f"methods.{method}."
    # Names of axes, which come third, hold dots.
    parts = key.split(".") if key.startswith("alternatives.") else key.split(".", 2)
    for i in reversed(range(len(parts))):
        above = Place("--set", path=(prefix + ".".join(parts[:i])).rstrip("."))
        node = Node({parts[i]: node}, above, {parts[i]: above})
    said = parse(node, faults, method=method is not None)
    _drop(root, method, [key, *said.slots, *said.axes])
    if method is not None:
        root.methods[method] = merge(root.methods[method], said)
        return
    for name, own in root.methods.items():
        stages = Document(own.place, slots=said.slots, alternatives=said.alternatives, without=said.without, seed=said.seed)
        root.methods[name] = merge(own, stages)
    vars(root).update(vars(merge(root, replace(said, place=root.place))))


def _include(node: Node) -> Place | None:
    """Where a value that is set asks for another script, at any depth."""
    if "include" in node.entries:
        return node.keys["include"]
    return next(filter(None, map(_include, node.entries.values())), None)


def _meant(root: Document, method: str | None) -> list[Document]:
    """What an override of one method or of the whole script changes."""
    return [root.methods[method]] if method else [root, *root.methods.values()]


def _drop(root: Document, method: str | None, names: Sequence[str]) -> None:
    """Drop axes from the whole script or from one method."""
    for document in _meant(root, method):
        for name in names:
            document.axes.pop(name, None)
