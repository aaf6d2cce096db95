"""``--set KEY=VALUE``: overrides of a script from the command line. They win over everything that the script says."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stereo_framework.core.errors import nearest
from stereo_framework.core.stage import SLOTS
from stereo_framework.io.places import Faults, Node, Place
from stereo_framework.io.yaml_text import parse as parse_yaml
from stereo_framework.script.addresses import split
from stereo_framework.script.document import Document, merge
from stereo_framework.script.keys import KEYS
from stereo_framework.script.parser import parse


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
        elif (node := parse_yaml(value, "--set", faults, key)) is not None:
            waiting += _apply(root, key, node, faults)
    return waiting


def _apply(root: Document, key: str, node: Node, faults: Faults) -> list[Assignment]:
    method = next((name for name in sorted(root.methods, key=len, reverse=True) if key.startswith(f"methods.{name}.")), None)
    meant = [root, *root.methods.values()] if method is None else [root.methods[method]]
    local, place = key if method is None else key.removeprefix(f"methods.{method}."), Place("--set", path=key)
    if "." not in local and local not in KEYS:
        # A parameter that is given by its name alone.
        full = list(dict.fromkeys(itertools.chain.from_iterable(_having(one, local) for one in meant)))
        if len(full) != 1:
            neither = f"neither a key nor a parameter of any stage; {nearest(local, KEYS, kind='keys')}"
            faults.add(place, f"{' and '.join(full)} have it; say which" if full else neither)
            return []
        local = full[0]
    home, word, parameter = split(local)
    if word == "methods" and not home and method is None:
        name = parameter.partition(".")[0]
        faults.add(place, f"no such method {name!r}; {nearest(name, root.methods, kind='methods')}")
    elif method is not None and (axis := next((name for name in (local, home + word) if name in root.axes), None)):
        # An axis at the script's top, of what is set or of the slot that it belongs to.
        said = f"{axis} is swept for all methods"
        faults.add(place, f"{said}; set it for all, or move the axis into the methods it is meant for")
    elif word in SLOTS and parameter:
        stage, _, name = parameter.rpartition(".")
        # An axis may leave out the stage's name where one stage stands.
        _drop(meant, [local, f"{home}{word}.{name}"] if stage else [local])
        return [Assignment(method, local, node)]
    else:
        _merge(root, method, local, node, faults)
    return []


def _having(document: Document, name: str) -> Iterator[str]:
    """The addresses of a parameter in the slots of a document, their axes included."""
    swept = [(axis.name, specs) for axis in document.axes.values() if axis.name in SLOTS for specs in axis.values]
    for slot, specs in (*document.slots.items(), *swept):
        for spec in specs or ():
            if name in spec.legal:
                yield f"{slot}.{spec.stage.name}.{name}" if SLOTS[slot].many or spec.added else f"{slot}.{name}"


def _merge(root: Document, method: str | None, key: str, node: Node, faults: Faults) -> None:
    """Merge what is neither a parameter of a stage nor of a single method's stage as if a later script said it."""
    prefix = "" if method is None else f"methods.{method}."
    # Names of axes, which come third, hold dots.
    parts = key.split(".") if key.startswith("alternatives.") else key.split(".", 2)
    for i in reversed(range(len(parts))):
        above = Place("--set", path=(prefix + ".".join(parts[:i])).rstrip("."))
        node = Node({parts[i]: node}, above, {parts[i]: above})
    if at := _unsettable(node):
        faults.add(at, "'include' and 'plugins' cannot be set; write them in the script")
        return
    said = parse(node, faults, method=method is not None)
    slots = [home + slot for home, part in said.tree() for slot in part.slots]
    _drop([root, *root.methods.values()] if method is None else [root.methods[method]], [key, *slots, *said.axes])
    if method is not None:
        root.methods[method] = merge(root.methods[method], said)
        return
    stages = Document(said.place, slots=said.slots, alternatives=said.alternatives, without=said.without, seed=said.seed)
    for name, own in root.methods.items():
        root.methods[name] = merge(own, replace(stages, place=own.place))
    vars(root).update(vars(merge(root, replace(said, place=root.place))))


def _unsettable(node: Node) -> Place | None:
    """Where a value that is set asks for another file, at any depth."""
    own = [node.key(key) for key in ("include", "plugins") if key in node.entries]
    return next(filter(None, [*own, *map(_unsettable, node.entries.values())]), None)


def _drop(meant: Sequence[Document], names: Sequence[str]) -> None:
    """Drop axes that vary what is set."""
    for document in meant:
        for name in names:
            document.axes.pop(name, None)
