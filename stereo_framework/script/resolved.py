"""The resolved script: a checked script without includes, with all default values."""

from collections.abc import Iterable, Sequence
from typing import Any

from stereo_framework.io.document import Document
from stereo_framework.script.axes import Axis
from stereo_framework.script.layers import axis_names
from stereo_framework.script.methods import Method


def resolved_script(
    name: str,
    scenes: tuple[str, ...],
    script: Document,
    methods: Sequence[Method],
    shared: dict[str, Any],
) -> dict[str, Any]:
    """Return a checked script as plain values that load to the same settings.

    Includes and overrides are merged, and default values are filled in.

    Parameters
    ----------
    name : str
    scenes : tuple of str
    script : Document
        The merged script.
    methods : sequence of Method
        Checked methods of the script.
    shared : dict of str to object
        Values of the script for all its settings, as in `Setting`.
    """
    report = script.part("report").data
    values = {"scenes": list(scenes), **shared, "report": report}
    resolved = {"name": name, **{key: value for key, value in values.items() if value}}
    if not script.part("methods").mapping:
        return resolved | _resolved_method(methods[0], shared["search"])
    return {
        **resolved,
        **_sweep(_shared_axes(script, methods)),
        "methods": {method.name: _resolved_method(method, shared["search"]) for method in methods},
    }


def _shared_axes(script: Document, methods: Sequence[Method]) -> list[tuple[Axis, Method]]:
    """Return the axes at the top of a script, each with a method that uses it.

    These axes stay at the top, because they vary more slowly than the axes of a method.
    A method may have replaced some of them by axes of its own.
    """
    shared_axes = []
    for name in axis_names(script):
        candidates = [
            (method.axes[name], method)
            for method in methods
            if name in method.axes and name not in method.own_axes
        ]
        if candidates:
            # A method that lacks one of several axes that move together may have left
            # out repeated values.
            shared_axes.append(max(candidates, key=lambda candidate: len(candidate[0].values)))
    return shared_axes


def _resolved_method(method: Method, search_of_script: dict[str, float]) -> dict[str, Any]:
    """Return a method as plain values.

    Parameters
    ----------
    method : Method
    search_of_script : dict of str to float
        Search range of the whole script, which stands at its top.
    """
    search = {
        key: document.data
        for key, document in method.search.items()
        if search_of_script.get(key) != document.data
    }
    slots = method.mapping()
    matcher = slots.get("matcher", {})
    if len(slots) == 1 and matcher.get("use") == "maps":
        # The script may have axes that a method with the key `maps` cannot have.
        slots = {"maps": {name: value for name, value in matcher.items() if name != "use"}}
    own_axes = [(axis, method) for name, axis in method.axes.items() if name in method.own_axes]
    by_scene: dict[str, dict[str, Any]] = {}
    for scene_value in method.scene_values:
        values = by_scene.setdefault(scene_value.scenes, {})
        values[scene_value.address] = scene_value.value.data
    optional_keys = {
        "search": search,
        "scenes": list(method.scenes),
        "by_scene": by_scene,
    }
    return {
        "seed": method.seed,
        **slots,
        **_sweep(own_axes),
        **{key: value for key, value in optional_keys.items() if value},
    }


def _sweep(axes: Iterable[tuple[Axis, Method]]) -> dict[str, Any]:
    """Return axes of methods as a script writes them."""
    sweep: dict[str, dict[str, Any]] = {}
    for axis, method in axes:
        kind = "zip" if axis.zipped else "grid"
        sweep.setdefault(kind, {})[axis.name] = method.written_values(axis)
    return {"sweep": sweep} if sweep else {}
