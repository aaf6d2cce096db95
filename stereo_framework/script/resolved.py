"""The resolved script: a checked script without includes, with all default values."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stereo_framework.datasets import scene_fits
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


def on_scenes(
    resolved: dict[str, Any], names: Mapping[str, str], *, are_of_script: bool
) -> dict[str, Any]:
    """Return a resolved script that runs on exactly the scenes of a run.

    The scenes are listed one by one, because a pattern may fit other scenes on another
    machine.

    Parameters
    ----------
    resolved : dict
        Resolved script.
    names : mapping of str to str
        Names under which the scenes of the run are loaded, by their full names.
    are_of_script : bool
        Whether the scenes are those of the script. False means that the user has named
        them, so that all methods without the key ``scenes`` ran on them.
    """
    shared = resolved.get("scenes", [])
    shared_names = _loaded_names(shared, names) if are_of_script else list(names.values())
    changed = _with_scene_values_of(resolved, names) | {"scenes": shared_names}
    if "methods" in resolved:
        changed["methods"] = {}
        for method_name, method in resolved["methods"].items():
            method_names = _loaded_names(method.get("scenes", []), names)
            if "scenes" not in method:
                changed["methods"][method_name] = _with_scene_values_of(method, names)
            elif method_names:
                own_scenes = {"scenes": method_names}
                changed["methods"][method_name] = _with_scene_values_of(method, names) | own_scenes
    if not shared_names:
        del changed["scenes"]
    return {"name": resolved["name"], **_first_key(changed, "scenes")}


def _loaded_names(scenes: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """Return the names of the scenes that fit one of several names or patterns."""
    return [
        loaded_name
        for full_name, loaded_name in names.items()
        if any(scene_fits(full_name, scene) for scene in scenes)
    ]


def _with_scene_values_of(script: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return a script or a method without values for scenes that do not run."""
    values = {
        scenes: values_of_scenes
        for scenes, values_of_scenes in script.get("by_scene", {}).items()
        if any(scene_fits(full_name, scenes) for full_name in names)
    }
    others = {key: value for key, value in script.items() if key != "by_scene"}
    return others | ({"by_scene": values} if values else {})


def _first_key(mapping: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a mapping in which a key comes first, if the mapping has the key."""
    first = {key: mapping[key]} if key in mapping else {}
    return first | mapping


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
        values[scene_value.address] = method.written_scene_value(scene_value)
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
