"""A checked script written out again: includes and overrides merged, defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stereo_framework.core.stage import SLOTS
from stereo_framework.io.places import Node
from stereo_framework.script.addresses import names
from stereo_framework.script.merging import axes
from stereo_framework.script.methods import Method
from stereo_framework.script.settings import as_written


def resolved(name: str, scenes: tuple[str, ...], root: Node, found: Sequence[Method]) -> dict[str, Any]:
    """The script as a mapping of plain values that loads to the same runs.

    Parameters
    ----------
    name : str
    scenes : tuple of str
    root : Node
        The merged script.
    found : sequence of Method
        Its methods, checked.
    """
    shared = found[0].shared
    told = {"scenes": list(scenes), **shared, "report": root.at("report").data()}
    script = {"name": name, **{key: value for key, value in told.items() if value}}
    if not root.at("methods").entries:
        return {**script, **_method(found[0], shared["search"])}
    # Axes at the top stay there, so that they stay outside the methods' own. A method may have replaced some by axes of its own.
    grid, zipped = dict[str, Any](), dict[str, Any]()
    for address in axes(root):
        used = [(one.axes[address], one) for one in found if address in one.axes and address not in one.own]
        if used:
            # A method that has not all of some axes that move together may have left out settings.
            axis, method = max(used, key=lambda one: len(one[0].values))
            (zipped if axis.zipped else grid)[address] = method.written(axis)
    return {**script, **_sweep(grid, zipped), "methods": {method.name: _method(method, shared["search"]) for method in found}}


def _method(method: Method, search: Mapping[str, float]) -> dict[str, Any]:
    # A zip of one axis is the same as the last axis of the grid.
    grid = {axis.name: method.written(axis) for group in method.own_groups if len(group) == 1 for axis in group}
    zipped = {axis.name: method.written(axis) for group in method.own_groups if len(group) > 1 for axis in group}
    # What is the whole script's stands at its top.
    own = {key: node.value for key, node in method.search.items() if search.get(key) != node.value}
    slots = _slots(method, "")
    if slots.keys() == {"matcher"} and slots["matcher"]["use"] == "maps":
        # Axes of the top that are none of its own stay so.
        slots = {"maps": {name: value for name, value in slots["matcher"].items() if name != "use"}}
    found = {"seed": method.seed, **slots, **_sweep(grid, zipped)}
    return {**found, "search": own} if own else found


def _slots(method: Method, home: str) -> dict[str, Any]:
    """What stands at a home of a method, and in its alternatives."""
    found = {slot: as_written(slot, specs) for slot in SLOTS if (specs := method.slots.get(home + slot))}
    others = {names(other)[-1]: _slots(method, other) for other in method.under(home)}
    return {**found, "alternatives": others} if others else found


def _sweep(grid: dict[str, Any], zipped: dict[str, Any]) -> dict[str, Any]:
    filled = {kind: axes for kind, axes in (("grid", grid), ("zip", zipped)) if axes}
    return {"sweep": filled} if filled else {}
