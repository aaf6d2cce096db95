"""A checked script written out again: includes and overrides merged, defaults filled in."""

from __future__ import annotations

from typing import Any

from stereo_framework.script.axes import Axis
from stereo_framework.script.document import Document, Specs, parameter
from stereo_framework.script.methods import Method, locate, takes_seed
from stereo_framework.script.runs import Common, stage_mapping
from stereo_framework.stage import SLOTS, Bound


def resolved(name: str, scenes: tuple[str, ...], root: Document, found: list[Method], common: Common) -> dict[str, Any]:
    """The script as a mapping of plain values that loads to the same runs.

    Parameters
    ----------
    name : str
    scenes : tuple of str
    root : Document
        The merged script.
    found : list of Method
        Its methods, checked.
    common : Common
    """
    script: dict[str, Any] = {"name": name}
    if common.plugins:
        script["plugins"] = list(common.plugins)
    if scenes:
        script["scenes"] = list(scenes)
    if common.search:
        script["search"] = dict(common.search)
    if common.specification is not None:
        script["evaluation"] = {"protocol": common.specification}
    if root.report:
        script["report"] = root.report
    if not root.methods:
        return {**script, **_method(found[0])}
    # Axes at the top stay there, so that they stay outside the methods' own. A method may have replaced some by axes of its own.
    written: dict[str, Any] = {}
    for axes in (root.grid, root.zip):
        for axis in axes:
            users = [method for method in found if any(a.name == axis for group in method.top for a in group)]
            if users:
                written[axis] = _axis(next(a for group in users[0].top for a in group if a.name == axis), users[0])
    sweep = {kind: {n: written[n] for n in axes if n in written} for kind, axes in (("grid", root.grid), ("zip", root.zip))}
    script |= _sweep(sweep)
    return {**script, "methods": {method.name: _method(method) for method in found}}


def _method(method: Method) -> dict[str, Any]:
    slots = {slot: _stages(slot, method.slots[slot]) for slot in SLOTS if method.slots.get(slot)}
    # A zip of one axis is the same as the last axis of the grid.
    grid = {axis.name: _axis(axis, method) for group in method.own if len(group) == 1 for axis in group}
    zipped = {axis.name: _axis(axis, method) for group in method.own if len(group) > 1 for axis in group}
    return {"seed": method.seed, **slots, **_sweep({"grid": grid, "zip": zipped})}


def _sweep(sweep: dict[str, dict[str, Any]]) -> dict[str, Any]:
    filled = {kind: axes for kind, axes in sweep.items() if axes}
    return {"sweep": filled} if filled else {}


def _stages(slot: str, specs: Specs) -> Any:
    found = [
        stage_mapping(Bound(spec.stage.function, spec.parameters), seed=not takes_seed(spec.stage, spec.parameters))
        for spec in specs or ()
    ]
    if SLOTS[slot].many:
        return found
    return found[0] if found else None


def _axis(axis: Axis, method: Method) -> Any:
    slot, _, rest = axis.name.partition(".")
    if axis.scale:
        return {"between": [node.value for node in axis.values], "scale": axis.scale}
    if slot not in SLOTS:
        return [node.value for node in axis.values]
    if not rest:
        return [_stages(slot, specs) for specs in axis.values]
    swept = method.axis(slot)
    specs = next(iter(swept.values if swept else [method.slots.get(slot)]))
    found = locate(slot, specs, rest)
    assert not isinstance(found, str), "axes were checked"
    return [parameter(specs[found[0]].stage, found[1], node)[0] for node in axis.values]
