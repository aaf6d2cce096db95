"""``--set KEY=VALUE``: overrides of a script from the command line. They win over everything that the script says."""

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
from stereo_framework.script.reading import KEYS, METHOD_KEYS

Override = tuple[str | None, str, Node]
"""A method (None: all), an address in it, and a value."""


def apply(root: Node, overrides: Sequence[str], model: Model) -> tuple[Node, list[Override]]:
    """Merge overrides over a script, as if a later script said them.

    An axis of the sweep that varies what is set is dropped: the value replaces it. A slot set as a whole merges with the
    same stage and replaces another one, as in an include.

    Parameters
    ----------
    root : Node
        A merged script.
    overrides : sequence of str
        ``matching_cost.truncation=20``, ``aggregation=[{use: box, size: 9}]``, ``methods.ssd.seed=3``.

    Returns
    -------
    script : Node
    waiting : list of Override
        Those of single parameters, for `set_parameters`.
    """
    waiting: list[Override] = []
    for override in overrides:
        key, sign, value = override.partition("=")
        key = key.strip()
        if not sign or not key:
            model.fault(Place("--set", path=repr(override)), "not KEY=VALUE; for example matching_cost.truncation=20")
            continue
        if (node := parse_yaml(value, "--set", model.faults, key)) is None:
            continue
        named = root.at("methods").entries
        method = next((name for name in sorted(named, key=len, reverse=True) if key.startswith(f"methods.{name}.")), None)
        local = key if method is None else key.removeprefix(f"methods.{method}.")
        at = split(local)
        if local.partition(".")[0] == "methods" and method is None:
            name = at.rest.partition(".")[0]
            model.fault(Place("--set", path=key), f"no such method {name!r}; {nearest(name, named, kind='methods')}")
        elif (at.word in SLOTS and at.rest) or ("." not in local and local not in KEYS):
            waiting.append((method, local, node))
        elif method is None or not _swept_for_all(root, local, node, model):
            root = _merge(root, method, local, node, model)
    return root, waiting


def _swept_for_all(root: Node, local: str, node: Node, model: Model) -> bool:
    """Report what is set for one method, when it or the slot that it belongs to is swept at the script's top."""
    swept = [name for name in (local, split(local).slot) if name in axes(root)]
    for axis in swept[:1]:
        said = f"{axis} is swept for all methods; set it for all, or move the axis into the methods it is meant for"
        model.fault(node.place, said)
    return bool(swept)


def set_parameters(root: Node, methods: Sequence[Method], waiting: Iterable[Override], model: Model) -> None:
    """Set single parameters of stages, which may be given by their names alone."""
    for only, local, node in waiting:
        meant = [method for method in methods if only in (None, method.name)]
        if "." not in local:
            full = list(dict.fromkeys(address for method in meant for address in _having(method, local)))
            if len(full) != 1:
                neither = f"neither a key nor a parameter of any stage; {nearest(local, KEYS, kind='keys')}"
                model.fault(node.place, f"{' and '.join(full)} have it; say which" if full else neither)
                continue
            local = full[0]
        if only and _swept_for_all(root, local, node, model):
            continue
        stage, _, name = split(local).rest.rpartition(".")
        # What is set in a slot is nothing to a method that cannot have it, unless none can.
        for method in [method for method in meant if not lacks(method.whole, local)] or meant:
            # An axis may leave out the stage's name where one stage stands.
            for axis in (local, f"{split(local).slot}.{name}") if stage else (local,):
                method.axes.pop(axis, None)
            method.set(local, node)


def _having(method: Method, name: str) -> Iterator[str]:
    """The addresses of a parameter in the method's own slots, their axes included."""
    swept = [(slot, specs) for slot in SLOTS if slot in method.axes for specs in method.axes[slot].values]
    for slot, specs in (*((slot, method.slots.get(slot)) for slot in SLOTS), *swept):
        for spec in specs or ():
            if name in spec.legal:
                yield f"{slot}.{spec.stage.name}.{name}" if SLOTS[slot].many or spec.added else f"{slot}.{name}"


def _merge(root: Node, method: str | None, key: str, node: Node, model: Model) -> Node:
    """Merge what is neither a parameter of a stage nor of a single method's stage as if a later script said it."""
    prefix = "" if method is None else f"methods.{method}."
    # Names of axes, which come third, hold dots.
    parts = key.split(".") if key.startswith("alternatives.") else key.split(".", 2)
    for i in reversed(range(len(parts))):
        above = Place("--set", path=(prefix + ".".join(parts[:i])).rstrip("."))
        node = Node({parts[i]: node}, above, {parts[i]: above})
    if at := _unsettable(node):
        model.fault(at, "'include' and 'plugins' cannot be set; write them in the script")
        return root
    model.check(node, KEYS if method is None else METHOD_KEYS)
    later = said(node)
    slots = [home + slot for home, part in tree(later) for slot in SLOTS if slot in part.entries]
    gone = [key, *slots, *axes(later)]
    named = dict(root.at("methods").entries)
    meant = named if method is None else [method]
    whole = {"name", "scenes", "evaluation", "report", "search", "sweep"} if method is None else set()
    stages = {name: value for name, value in later.entries.items() if name not in whole}
    for name in meant:
        named[name] = merge(without_axes(named[name], gone), Node(stages, named[name].place, later.keys))
    if named:
        root = replace(root, value={**root.entries, "methods": replace(root.at("methods"), value=named)})
    return root if method is not None else merge(without_axes(root, gone), replace(later, place=root.place))


def _unsettable(node: Node) -> Place | None:
    """Where a value that is set asks for another file, at any depth."""
    own = [node.key(key) for key in ("include", "plugins") if key in node.entries]
    return next(filter(None, [*own, *map(_unsettable, node.entries.values())]), None)
