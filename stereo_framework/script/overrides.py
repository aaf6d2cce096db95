"""``--set KEY=VALUE``: overrides of a script from the command line. They win over everything that the script says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from stereo_framework.core.errors import nearest
from stereo_framework.core.stage import SLOTS
from stereo_framework.io.places import Node, Place
from stereo_framework.io.yaml_text import parse as parse_yaml
from stereo_framework.script.addresses import split
from stereo_framework.script.merging import axes, lacks, merge, said, tree, without_axes
from stereo_framework.script.methods import Method
from stereo_framework.script.model import Model
from stereo_framework.script.reading import KEYS


def apply(root: Node, overrides: Sequence[str], model: Model) -> tuple[Node, list[tuple[str, Node]]]:
    """Merge overrides over a script, as if a later script said them.

    An axis of the sweep that varies what is set is dropped: the value replaces it. A slot set as a whole merges with the
    same stage and replaces another one, as in an include.

    Parameters
    ----------
    root : Node
        A merged script.
    overrides : sequence of str
        ``matching_cost.truncation=20``, ``aggregation=[{use: box, size: 9}]``, ``seed=3``.

    Returns
    -------
    script : Node
    waiting : list of (str, Node)
        Addresses of single parameters and their values, for `set_parameters`.
    """
    waiting: list[tuple[str, Node]] = []
    for override in overrides:
        key, sign, value = override.partition("=")
        key = key.strip()
        if not sign or not key:
            model.fault(Place("--set", path=repr(override)), "not KEY=VALUE; for example matching_cost.truncation=20")
            continue
        if (node := parse_yaml(value, "--set", model.faults, key)) is None:
            continue
        _, word, parameter = split(key)
        if word == "methods":
            said = "what is set is set for all methods; write what is one method's in the script"
            model.fault(Place("--set", path=key), said)
        elif (word in SLOTS and parameter) or ("." not in key and key not in KEYS):
            waiting.append((key, node))
        else:
            root = _merge(root, key, node, model)
    return root, waiting


def set_parameters(methods: Sequence[Method], waiting: Iterable[tuple[str, Node]], model: Model) -> None:
    """Set single parameters of stages, which may be given by their names alone."""
    for key, node in waiting:
        full = [key] if "." in key else list(dict.fromkeys(address for method in methods for address in _having(method, key)))
        if len(full) != 1:
            neither = f"neither a key nor a parameter of any stage; {nearest(key, KEYS, kind='keys')}"
            model.fault(node.place, f"{' and '.join(full)} have it; say which" if full else neither)
            continue
        [address] = full
        home, word, parameter = split(address)
        stage, _, name = parameter.rpartition(".")
        # What is set in a slot is nothing to a method that cannot have it, unless none can.
        for method in [method for method in methods if not lacks(method.whole, address)] or methods:
            # An axis may leave out the stage's name where one stage stands.
            for axis in (address, f"{home}{word}.{name}") if stage else (address,):
                method.axes.pop(axis, None)
            method.set(address, node)


def _having(method: Method, name: str) -> Iterator[str]:
    """The addresses of a parameter in the method's own slots, their axes included."""
    swept = [(slot, specs) for slot in SLOTS if slot in method.axes for specs in method.axes[slot].values]
    for slot, specs in (*((slot, method.slots.get(slot)) for slot in SLOTS), *swept):
        for spec in specs or ():
            if name in spec.legal:
                yield f"{slot}.{spec.stage.name}.{name}" if SLOTS[slot].many or spec.added else f"{slot}.{name}"


def _merge(root: Node, key: str, node: Node, model: Model) -> Node:
    """Merge what is no parameter of a stage as if a later script said it, over the top and over every method."""
    # Names of axes, which come third, hold dots.
    parts = key.split(".") if key.startswith("alternatives.") else key.split(".", 2)
    for i in reversed(range(len(parts))):
        above = Place("--set", path=".".join(parts[:i]))
        node = Node({parts[i]: node}, above, {parts[i]: above})
    if at := _unsettable(node):
        model.fault(at, "'include' and 'plugins' cannot be set; write them in the script")
        return root
    model.check(node)
    later = said(node)
    gone = [key, *(home + slot for home, part in tree(later) for slot in SLOTS if slot in part.entries), *axes(later)]
    whole = {"name", "scenes", "evaluation", "report", "search", "sweep"}
    stages = {name: value for name, value in later.entries.items() if name not in whole}
    methods = root.at("methods")
    named = {name: merge(without_axes(own, gone), Node(stages, own.place, later.keys)) for name, own in methods.entries.items()}
    if named:
        root = replace(root, value={**root.entries, "methods": replace(methods, value=named)})
    return merge(without_axes(root, gone), replace(later, place=root.place))


def _unsettable(node: Node) -> Place | None:
    """Where a value that is set asks for another file, at any depth."""
    own = [node.key(key) for key in ("include", "plugins") if key in node.entries]
    return next(filter(None, [*own, *map(_unsettable, node.entries.values())]), None)
