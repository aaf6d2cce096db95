"""Loading a script: read, overridden, checked, expanded."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError, ParameterError, nearest
from stereo_framework.core.former_names import new_name_hint, parameter_hint
from stereo_framework.core.plugins import execution_is_off, not_executed
from stereo_framework.core.scene import Scene
from stereo_framework.core.slots import SLOTS
from stereo_framework.datasets import load_scenes
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.evaluation.protocols import Protocol, of_scene, resolve, with_metrics
from stereo_framework.io import encoding_fault
from stereo_framework.io.locations import Faults, Location, Node
from stereo_framework.io.yaml_text import parse as parse_yaml
from stereo_framework.script.include import RESOLVED, Reader, find_script
from stereo_framework.script.merging import (
    axes,
    lacks,
    merge,
    tree,
    without_axes,
    without_null_keys,
)
from stereo_framework.script.methods import Method, count_runs, methods, report_idle_axes
from stereo_framework.script.model import Model
from stereo_framework.script.reading import KEYS, METHOD_KEYS, Axis, text
from stereo_framework.script.specs import Setting, address_of_stage, ambiguity, split

_OVERRIDES = "a sequence of texts such as 'aggregation.box.size=9'"


@dataclass(frozen=True, eq=False)
class Script:
    """A parameter script, checked.

    Parameters
    ----------
    name : str
    path : Path or None
        None for a mapping.
    scenes : tuple of str
        Names of scenes; they exist if the script was loaded ``with_scenes``.
    settings : tuple of Setting
        In the order of ``methods`` and of the axes; none where the script was loaded for tuning.
    methods : tuple of Method
        What the settings are made from, for each method.
    report : dict
        As written.
    plugins : tuple of str
        Paths of the plug-ins' sources.
    resolved : dict
        The whole script with includes and overrides merged and defaults filled in; plain values that YAML can hold. It
        loads to the same settings.
    executions : tuple of str
        Third-party code that a run of the script executes: plug-ins, Python functions, programs and shell commands.
    remarks : tuple of str
        Axes without effect on some settings, and keys without effect on any.
    """

    name: str
    path: Path | None
    scenes: tuple[str, ...]
    settings: tuple[Setting, ...]
    methods: tuple[Method, ...]
    report: dict[str, Any]
    plugins: tuple[str, ...]
    resolved: dict[str, Any]
    executions: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def only(self) -> Setting:
        """The one setting of a script that sweeps nothing.

        Raises
        ------
        ParameterError
            It has several.
        """
        if len(self.settings) != 1:
            raise ParameterError(
                f"{self.name}: has {len(self.settings)} settings; a script of one is needed"
            )
        return self.settings[0]

    @property
    def pipeline(self) -> Pipeline:
        """The method of a script that sweeps nothing.

        Raises
        ------
        ParameterError
            It has several settings.
        """
        return self.only.pipeline

    @functools.cached_property
    def protocols(self) -> tuple[Protocol, ...]:
        """How its settings are measured; none: by the protocol of each scene."""
        return tuple(map(resolve, self._evaluation("protocol")))

    def protocols_on(self, scene: Scene) -> tuple[Protocol, ...]:
        """How its settings are measured on a scene: by its own protocols, else by the scene's, with the metrics that it names beside theirs."""
        more = tuple(self._evaluation("metrics"))
        return tuple(with_metrics(one, more) for one in self.protocols or (of_scene(scene),))

    def _evaluation(self, key: str) -> list[Any]:
        said = self.resolved.get("evaluation", {}).get(key) or []
        return said if isinstance(said, list) else [said]


@checked(source="a file, the name of a built-in script, or a mapping", overrides=_OVERRIDES)
def load(
    source: str | Path | Mapping[str, Any],
    *,
    overrides: str | Iterable[str] = (),
    tuning: bool = False,
    plugins: str | Path | Iterable[str | Path] = (),
    with_scenes: bool = False,
    data: str | Path | None = None,
) -> Script:
    """Load a parameter script, check all of it and expand its sweep.

    Parameters
    ----------
    source : str, Path or mapping
        A file, the name of a built-in script (``ssd``, ``methods/ssd``), or the script itself as a mapping.
    overrides : sequence of str, or str
        ``key.path=value`` as on the command line: ``matching_cost.truncation=20``. A single
        text is one override. A value given for an axis of the sweep
        replaces the axis.
    tuning : bool
        Do not expand the sweep, a choice will be made: any number of settings is allowed.
    plugins : sequence of str or Path, or a single one
        Plug-ins besides those that the script names: modules, or files ending in ``.py``. A script file itself may name files in its own folder
        alone, since importing them runs them; one elsewhere must be named here.
    with_scenes : bool
        Refuse scenes of the script that do not exist, together with its other faults.
    data : path, optional
        First data root in which these scenes are looked for, as in `load_scene`.

    Returns
    -------
    Script

    Raises
    ------
    ScriptError
        All faults of the script together, each with file, line, column, what is allowed and the nearest name.

    Examples
    --------
    >>> script = load("ssd", overrides=["aggregation.box.size=9"])
    >>> script.pipeline
    Pipeline(squared_difference > box > min_filter(size=21) > winner_take_all)
    """
    faults = Faults()
    path = None if isinstance(source, Mapping) else find_script(source)
    start = Path.cwd()
    reader = Reader(faults)
    override_list = listed_overrides(overrides)
    read = reader.file(path) if path is not None else reader.mapping(source)  # type: ignore[arg-type]
    plugin_list = [plugins] if isinstance(plugins, str | Path) else plugins
    reader.plugins += [(Node(str(plugin), Location("--plugin")), None) for plugin in plugin_list]
    files = reader.load_plugins(None if path is None else path.parent)
    model = Model(faults)
    # A plug-in may have changed the current folder, from which the script's paths start.
    with contextlib.chdir(start):
        name, root, found, settings = _checked(
            read,
            path,
            reader,
            override_list,
            tuning,
            model,
            refuse_execution=execution_is_off(),
            scene_data=DataRoot(data) if with_scenes else None,
        )
    scenes = _scenes(root)
    report = root.at("report").data() or {}
    whole = resolved(name, scenes, root, found)
    model.forget()
    executions = _executions(reader, model)
    return Script(
        name,
        path,
        scenes,
        settings,
        tuple(found),
        report,
        files,
        whole,
        executions,
        model.remarks(),
    )


def listed_overrides(overrides: str | Iterable[str]) -> list[str]:
    """Return overrides as a list; a single text is one override."""
    return [overrides] if isinstance(overrides, str) else list(overrides)


@dataclass(frozen=True)
class Inspection:
    """The result of the check of a script of which no code was executed.

    Parameters
    ----------
    plugins : tuple of str
        Plug-ins, as the script names them.
    unknown_stages : tuple of str
        Stages that the package does not have, so that a plug-in may define them.
    executions : tuple of str
        As in `Script`.
    scenes : tuple of str
    run_count : int
        Number of settings. Settings with unknown stages count as well.
    """

    plugins: tuple[str, ...]
    unknown_stages: tuple[str, ...]
    executions: tuple[str, ...]
    scenes: tuple[str, ...]
    run_count: int


def inspect_script(source: str | Path, overrides: Sequence[str] = ()) -> Inspection:
    """Check a script without executing code that it names.

    Stages that a plug-in may define are passed over. If the script names a plug-in, its
    report is passed over as well.

    Parameters
    ----------
    source : str or Path
        A file, or the name of a built-in script.
    overrides : sequence of str
        As in `load`.

    Raises
    ------
    ScriptError
        All other faults of the script.
    """
    faults = Faults()
    path = find_script(source)
    reader = Reader(faults)
    read = reader.file(path)
    faults.without_plugins = bool(reader.plugins)

    model = Model(faults)
    # A plug-in may define the data set of a scene.
    scene_data = None if faults.without_plugins else DataRoot(None)
    _, root, _, settings = _checked(
        read,
        path,
        reader,
        listed_overrides(overrides),
        False,
        model,
        refuse_execution=False,
        scene_data=scene_data,
    )

    plugins = tuple(str(text(node)) for node, _ in reader.plugins)
    unknown_stages = tuple(dict.fromkeys(faults.unknown))
    return Inspection(
        plugins, unknown_stages, _executions(reader, model), _scenes(root), len(settings)
    )


class DataRoot(NamedTuple):
    """The first folder in which scenes are looked for; None: only those of `data_roots`."""

    folder: str | Path | None


def _check_scenes(root: Node, data: DataRoot, faults: Faults) -> None:
    """Report the scenes of a merged script that do not exist, in the words of `load_scenes`."""
    # The data roots are searched once for all scenes, and for each scene only if one is missing.
    with contextlib.suppress(DataError):
        load_scenes(_scenes(root), data=data.folder)
        return
    for item in root.at("scenes").items:
        try:
            load_scenes(filter(None, [text(item)]), data=data.folder)
        except DataError as error:
            faults.add(item.location, str(error))


def _scenes(root: Node) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(text, root.at("scenes").items))))


def _executions(reader: Reader, model: Model) -> tuple[str, ...]:
    """List the third-party code that a run of a checked script executes."""
    plugins = [f"the plug-in {_anywhere(node, folder)}" for node, folder in reader.plugins]
    return tuple(dict.fromkeys([*plugins, *model.executions]))


def _checked(
    read: Node | None,
    path: Path | None,
    reader: Reader,
    overrides: Sequence[str],
    tuning: bool,
    model: Model,
    *,
    refuse_execution: bool,
    scene_data: DataRoot | None,
) -> tuple[str, Node, list[Method], tuple[Setting, ...]]:
    """Return name, merged script, methods and settings of a script; raise all of its faults.

    Scenes are looked for only if `scene_data` is given.
    """
    faults = reader.faults
    if read is None:
        faults.raise_if_any()
        raise TypeError("a script that cannot be read has a fault")
    for node in reader.scripts:
        model.check(node)
    if not reader.complete:
        # A file is missing, and further faults may follow from that.
        faults.raise_if_any()

    root, waiting = apply(read, overrides, model)
    name = _name(root, path, model)
    script_methods = methods(root, name, model)
    set_parameters(root, script_methods, waiting, model)
    if not tuning:
        count_runs(script_methods, model)

    locations = [_anywhere(node, folder) for node, folder in reader.plugins]
    shared = {
        "plugins": list(dict.fromkeys(locations)),
        "search": {key: node.value for key, node in model.search(root.at("search")).items()},
        "evaluation": root.at("evaluation").data() or {},
    }
    settings = [method.settings(shared, tuning=tuning) for method in script_methods]
    report_idle_axes(script_methods, model)
    if refuse_execution:
        for execution, location in model.executions.items():
            faults.add(location, not_executed(execution))
    if scene_data is not None:
        _check_scenes(root, scene_data, faults)
    faults.raise_if_any()
    return name, root, script_methods, tuple(itertools.chain.from_iterable(settings))


def _name(root: Node, path: Path | None, model: Model) -> str:
    """Return the name of a script: its key ``name``, or the name of its file."""
    stem = "script" if path is None else path.name.removesuffix(RESOLVED).removesuffix(".yaml")
    name = model.name(root.at("name")) or stem
    if name == stem and len(f"{name}{RESOLVED}".encode(errors="replace")) > 255:
        message = "the name of the file is too long for that of the resolved script"
        model.fault(root.location, f"{message}; shorten it, or give a name: to the script")
    if encoding_message := encoding_fault(name):
        remedy = "set PYTHONUTF8=1 in the environment, rename the file, or give another name: to the script"
        model.fault(root.location, f"{encoding_message}; {remedy}")
    return name


def _anywhere(node: Node, folder: Path | None) -> str:
    """Return a plug-in as it is named from any folder: a module, or a whole path."""
    name = str(text(node))
    if not name.endswith(".py"):
        return name
    try:
        return str(((folder or Path.cwd()) / name).resolve())
    except (OSError, ValueError):
        # No file can have this name, and loading the plug-in reports that.
        return name


def resolved(
    name: str, scenes: tuple[str, ...], root: Node, found: Sequence[Method]
) -> dict[str, Any]:
    """A checked script as a mapping of plain values that loads to the same runs: includes and overrides merged, defaults filled in.

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
    top = []
    for address in axes(root):
        used = [
            (one.axes[address], one)
            for one in found
            if address in one.axes and address not in one.own
        ]
        # A method that has not all of some axes that move together may have left out settings.
        top += sorted(used, key=lambda one: -len(one[0].values))[:1]
    return {
        **script,
        **_sweep(top),
        "methods": {method.name: _method(method, shared["search"]) for method in found},
    }


def _method(method: Method, search: dict[str, float]) -> dict[str, Any]:
    """A method as `resolved` writes it; `search` is the whole script's, which stands at its top."""
    own = {key: node.value for key, node in method.search.items() if search.get(key) != node.value}
    slots = method.mapping()
    matcher = slots.get("matcher", {})
    if len(slots) == 1 and matcher.get("use") == "maps":
        # Axes of the top that are none of its own stay so.
        slots = {"maps": {name: value for name, value in matcher.items() if name != "use"}}
    swept = [(axis, method) for name, axis in method.axes.items() if name in method.own]
    return {"seed": method.seed, **slots, **_sweep(swept), **({"search": own} if own else {})}


def _sweep(swept: Iterable[tuple[Axis, Method]]) -> dict[str, Any]:
    """Axes of methods as a script writes them."""
    found: dict[str, dict[str, Any]] = {}
    for axis, method in swept:
        found.setdefault("zip" if axis.zipped else "grid", {})[axis.name] = method.written(axis)
    return {"sweep": found} if found else {}


# --- what --set says -----------------------------------------------------------------------------------------------------


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
            model.fault(
                Location("--set", path=repr(override)),
                "not KEY=VALUE; for example matching_cost.truncation=20",
            )
            continue
        if (node := parse_yaml(value, "--set", model.faults, key)) is None:
            continue
        named = root.at("methods").entries
        method = next(
            (
                name
                for name in sorted(named, key=len, reverse=True)
                if key.startswith(f"methods.{name}.")
            ),
            None,
        )
        local = key if method is None else key.removeprefix(f"methods.{method}.")
        at = split(local)
        if local.partition(".")[0] == "methods" and method is None:
            name = at.rest.partition(".")[0]
            none = f"no such method {name!r}; {nearest(name, named, kind='methods')}"
            model.fault(
                Location("--set", path=key),
                f"a whole method; set something of it, as {key}.seed=1" if name in named else none,
            )
        elif (at.word in SLOTS and at.rest) or ("." not in local and local not in KEYS):
            waiting.append((method, local, node))
        elif method is None or not _swept_for_all([local, at.slot], root, node, model):
            root = _merge(root, method, local, node, model)
    return root, waiting


def _swept_for_all(addresses: Iterable[str], root: Node, value: Node, model: Model) -> bool:
    """Report that a value is set for one method, but an axis of all methods varies it.

    Parameters
    ----------
    addresses : iterable of str
        Address of the value, and addresses of the stages around it.
    root : Node
        The merged script.
    value : Node
    model : Model

    Returns
    -------
    bool
        True if a fault was reported.
    """
    swept = [address for address in addresses if address in axes(root)]
    for axis in swept[:1]:
        message = (
            f"{axis} is swept for all methods; set the value for all methods, or move the axis "
            "into the methods that need it"
        )
        model.fault(value.location, message)
    return bool(swept)


def set_parameters(
    root: Node, methods: Sequence[Method], waiting: Iterable[Override], model: Model
) -> None:
    """Set single parameters of stages, which may be given by their names alone."""
    for only, local, node in waiting:
        meant = [method for method in methods if only in (None, method.name)]
        if "." not in local:
            full = list(
                dict.fromkeys(address for method in meant for address in _having(method, local))
            )
            if len(full) != 1:
                if full:
                    message = ambiguity(full)
                else:
                    hint = _new_name_hint(meant, local) or nearest(local, KEYS, kind="keys")
                    message = f"neither a key nor a parameter of any stage; {hint}"
                model.fault(node.location, message)
                continue
            local = full[0]
        if only:
            shared_axes = [
                name
                for method in meant
                for name in method.axes_that_decide(local)
                if name not in method.own
            ]
            if _swept_for_all(shared_axes, root, node, model):
                continue
        # What is set in a slot is nothing to a method that cannot have it, unless none can.
        for method in [method for method in meant if not lacks(method.whole, local)] or meant:
            for axis in method.axes_of(local):
                del method.axes[axis]
            method.set(local, node)


def _new_name_hint(methods: Iterable[Method], name: str) -> str:
    """Return the clause that gives the new name of a former key or parameter."""
    if hint := new_name_hint("script_keys", "script", name):
        return hint
    for method in methods:
        for node in method.slots.items():
            for step in method.model.slot(*node) or ():
                if hint := parameter_hint(step.stage.function, name):
                    return hint
    return ""


def _having(method: Method, name: str) -> Iterator[str]:
    """Yield the addresses of a parameter in all stages of a method.

    The stages include those of axes and those inside other stages. Auxiliary methods
    are not searched.
    """
    for slot in SLOTS:
        for content in method.all_contents(slot):
            for step in method.model.slot(slot, content) or ():
                for address, each_step in step.walk(address_of_stage(slot, step)):
                    if name in each_step.parameters:
                        yield f"{address}.{name}"


def _merge(root: Node, method: str | None, key: str, node: Node, model: Model) -> Node:
    """Merge what is neither a parameter of a stage nor of a single method's stage as if a later script said it."""
    prefix = "" if method is None else f"methods.{method}."
    # Names of axes, which come third, hold dots.
    parts = key.split(".") if key.startswith("auxiliary.") else key.split(".", 2)
    for i in reversed(range(len(parts))):
        above = Location("--set", path=(prefix + ".".join(parts[:i])).rstrip("."))
        node = Node({parts[i]: node}, above, {parts[i]: above})
    if at := _unsettable(node):
        model.fault(at, "'include' and 'plugins' cannot be set; write them in the script")
        return root
    model.check(node, KEYS if method is None else METHOD_KEYS)
    later = without_null_keys(node)
    slots = [home + slot for home, part in tree(later) for slot in SLOTS if slot in part.entries]
    gone = [key, *slots, *axes(later)]
    named = dict(root.at("methods").entries)
    meant = named if method is None else [method]
    whole = (
        {"name", "scenes", "evaluation", "report", "search", "sweep"} if method is None else set()
    )
    stages = {name: value for name, value in later.entries.items() if name not in whole}
    for name in meant:
        named[name] = merge(
            without_axes(named[name], gone), Node(stages, named[name].location, later.keys)
        )
    if named:
        root = replace(
            root, value={**root.entries, "methods": replace(root.at("methods"), value=named)}
        )
    return (
        root
        if method is not None
        else merge(without_axes(root, gone), replace(later, location=root.location))
    )


def _unsettable(node: Node) -> Location | None:
    """Where a value that is set asks for another file, at any depth."""
    own = [node.key(key) for key in ("include", "plugins") if key in node.entries]
    return next(filter(None, [*own, *map(_unsettable, node.entries.values())]), None)
