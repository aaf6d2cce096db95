"""A checked script written out again: includes and overrides merged, defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stereo_framework.core.stage import SLOTS
from stereo_framework.script.addresses import alternatives_of, is_slot, slot_of, split
from stereo_framework.script.axes import Axis
from stereo_framework.script.document import Document
from stereo_framework.script.methods import Method, locate
from stereo_framework.script.settings import written
from stereo_framework.script.specs import Specs, parameter


def resolved(
    name: str, scenes: tuple[str, ...], root: Document, found: list[Method], shared: Mapping[str, Any]
) -> dict[str, Any]:
    """The script as a mapping of plain values that loads to the same runs.

    Parameters
    ----------
    name : str
    scenes : tuple of str
    root : Document
        The merged script.
    found : list of Method
        Its methods, checked.
    shared : dict
        As of a `Setting`.
    """
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
    found = {"seed": method.said.seed or 0, **_slots(method, ""), **_sweep(grid, zipped)}
    return {**found, "search": own} if own else found


def _slots(method: Method, home: str) -> dict[str, Any]:
    """What stands at a home of a method, its alternatives included."""
    found = {slot: _stages(slot, specs) for slot in SLOTS if (specs := method.said.slots.get(home + slot))}
    others = {name: _slots(method, inner) for name, inner in alternatives_of(home, method.said.homes).items()}
    if found.keys() == {"matcher"} and found["matcher"]["use"] == "maps" and not home:
        # Axes of the top that are none of its own stay so.
        return {"maps": {name: value for name, value in found["matcher"].items() if name != "use"}}
    return {**found, "alternatives": others} if others else found


def _sweep(grid: dict[str, Any], zipped: dict[str, Any]) -> dict[str, Any]:
    filled = {kind: axes for kind, axes in (("grid", grid), ("zip", zipped)) if axes}
    return {"sweep": filled} if filled else {}


def _stages(slot: str, specs: Specs) -> Any:
    return written(slot, [(spec.step(), spec.takes_seed) for spec in specs or ()])


def _axis(axis: Axis, method: Method) -> Any:
    slot = slot_of(axis.name)
    if axis.scale:
        return {"between": [node.value for node in axis.values], "scale": axis.scale}
    if not is_slot(slot):
        return [node.value for node in axis.values]
    if slot == axis.name:
        return [_stages(split(slot)[1], specs) for specs in axis.values]
    specs = next(iter(method.possible(slot))) or ()
    found = locate(slot, specs, axis.name.removeprefix(f"{slot}."))
    assert not isinstance(found, str), "axes were checked"
    return [parameter(specs[found[0]], found[1], node)[0] for node in axis.values]
