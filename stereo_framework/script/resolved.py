"""A checked script written out again: includes and overrides merged, defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stereo_framework.core.stage import SLOTS
from stereo_framework.script.addresses import is_slot, slot_of, split
from stereo_framework.script.axes import Axis
from stereo_framework.script.document import Document
from stereo_framework.script.methods import Method
from stereo_framework.script.settings import written
from stereo_framework.script.specs import Specs


def resolved(name: str, scenes: tuple[str, ...], root: Document, found: Sequence[Method]) -> dict[str, Any]:
    """The script as a mapping of plain values that loads to the same runs.

    Parameters
    ----------
    name : str
    scenes : tuple of str
    root : Document
        The merged script.
    found : sequence of Method
        Its methods, checked.
    """
    shared = found[0].shared
    said = {"scenes": list(scenes), **shared, "report": root.report}
    script = {"name": name, **{key: value for key, value in said.items() if value}}
    if not root.methods:
        return {**script, **_method(found[0], shared["search"])}
    # Axes at the top stay there, so that they stay outside the methods' own. A method may have replaced some by axes of its own.
    grid, zipped = dict[str, Any](), dict[str, Any]()
    for address, axis in root.axes.items():
        used = [(one.said.axes[address], one) for one in found if address in one.said.axes and address not in one.own]
        if used:
            # A method that has not all of some axes that move together may have left out settings.
            (zipped if axis.zipped else grid)[address] = _axis(*max(used, key=lambda one: len(one[0].values)))
    return {**script, **_sweep(grid, zipped), "methods": {method.name: _method(method, shared["search"]) for method in found}}


def _method(method: Method, search: Mapping[str, float]) -> dict[str, Any]:
    # A zip of one axis is the same as the last axis of the grid.
    grid = {axis.name: _axis(axis, method) for group in method.own_groups if len(group) == 1 for axis in group}
    zipped = {axis.name: _axis(axis, method) for group in method.own_groups if len(group) > 1 for axis in group}
    # What is the whole script's stands at its top.
    own = {key: node.value for key, node in method.said.search.items() if search.get(key) != node.value}
    slots = _slots(method.said)
    if slots.keys() == {"matcher"} and slots["matcher"]["use"] == "maps":
        # Axes of the top that are none of its own stay so.
        slots = {"maps": {name: value for name, value in slots["matcher"].items() if name != "use"}}
    found = {"seed": method.said.seed or 0, **slots, **_sweep(grid, zipped)}
    return {**found, "search": own} if own else found


def _slots(said: Document) -> dict[str, Any]:
    """What a method says, or an alternative of it, its own alternatives included."""
    found = {slot: _stages(slot, specs) for slot in SLOTS if (specs := said.slots.get(slot))}
    others = {name: _slots(other) for name, other in said.alternatives.items()}
    return {**found, "alternatives": others} if others else found


def _sweep(grid: dict[str, Any], zipped: dict[str, Any]) -> dict[str, Any]:
    filled = {kind: axes for kind, axes in (("grid", grid), ("zip", zipped)) if axes}
    return {"sweep": filled} if filled else {}


def _stages(slot: str, specs: Specs) -> Any:
    return written(slot, [(spec.step(), spec.takes_seed) for spec in specs or ()])


def _axis(axis: Axis, method: Method) -> Any:
    slot = slot_of(axis.name)
    if not is_slot(slot):
        return [node.value for node in axis.values]
    if slot == axis.name:
        return [_stages(split(slot)[1], specs) for specs in axis.values]
    home, word, _ = split(slot)
    own, swept = method.said.at(home), method.said.axes.get(slot)
    assert own is not None, "axes were checked"
    specs = swept.values[0] if swept else own.slots[word]
    rest, found = axis.name.removeprefix(f"{slot}."), []
    for node in axis.values:
        changed, i, name = method.put(slot, specs, rest, node, axis.place)
        assert changed is not None, "axes were checked"
        found.append(changed[i].parameters[name])
    return found
