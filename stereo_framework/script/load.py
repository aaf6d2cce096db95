"""Loads a script: reads it, merges it with includes and overrides, and checks it."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError, ParameterError, nearest
from stereo_framework.core.plugins import execution_is_off
from stereo_framework.core.scene import Scene
from stereo_framework.datasets import load_scenes, scene_fits, scene_names
from stereo_framework.datasets.download import set_with_scene
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.evaluation.protocols import Protocol, of_scene, resolve, with_metrics
from stereo_framework.io import encoding_fault
from stereo_framework.io.document import Document
from stereo_framework.io.locations import Faults
from stereo_framework.script.expansion import (
    Expansion,
    refuse_too_many_settings,
    report_idle_axes,
)
from stereo_framework.script.findings import Findings
from stereo_framework.script.include import RESOLVED, Reader, find_script
from stereo_framework.script.keys import text_of, texts_in
from stereo_framework.script.methods import Method, read_methods
from stereo_framework.script.model import Model
from stereo_framework.script.overrides import apply_overrides, set_parameters
from stereo_framework.script.resolved import resolved_script
from stereo_framework.script.setting import Setting

_OVERRIDES = "a sequence of texts such as 'aggregation.box.size=9'"

_LONGEST_FILE_NAME = 255
"""Maximum length of a file name, in bytes."""


@dataclass(frozen=True, eq=False)
class Script:
    """A parameter script without faults.

    Parameters
    ----------
    name : str
    path : Path or None
        File of the script. None means that the script is a mapping from Python.
    scenes : tuple of str
        Names of the scenes. The scenes exist if the script was loaded ``with_scenes``.
    settings : tuple of Setting
        Settings in the order of the methods and axes. They are empty if the script was
        loaded for tuning.
    expansions : tuple of Expansion
        Makes the settings of each method.
    report : dict
        Key ``report`` as it is written.
    plugins : tuple of str
        Paths of the sources of the plug-ins.
    resolved : dict
        The script without includes and overrides, with all default values. It consists
        of plain values that YAML can store, and it loads to the same settings.
    executions : tuple of str
        Third-party code that a run of the script executes: plug-ins, Python functions,
        programs and shell commands.
    remarks : tuple of str
        Axes without effect on some settings, and keys without effect on any.
    """

    name: str
    path: Path | None
    scenes: tuple[str, ...]
    settings: tuple[Setting, ...]
    expansions: tuple[Expansion, ...]
    report: dict[str, Any]
    plugins: tuple[str, ...]
    resolved: dict[str, Any]
    executions: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def only(self) -> Setting:
        """The setting of a script that sweeps nothing.

        Raises
        ------
        ParameterError
            The script has several settings.
        """
        if len(self.settings) != 1:
            raise ParameterError(
                f"{self.name}: the script has {len(self.settings)} settings; expected one setting"
            )
        return self.settings[0]

    @property
    def pipeline(self) -> Pipeline:
        """The method of a script that sweeps nothing.

        Raises
        ------
        ParameterError
            The script has several settings.
        """
        return self.only.pipeline

    def settings_on(self, scene_name: str, *, by_default: bool = True) -> tuple[Setting, ...]:
        """Return the settings that run on a scene, with the values for this scene.

        Parameters
        ----------
        scene_name : str
            Full name of the scene.
        by_default : bool
            True if the scene belongs to the script. Only some methods may name the
            scene, and only these methods then run on it. False if the user names the
            scene. Each method without the key ``scenes`` then runs on it.

        Raises
        ------
        ScriptError
            The values that the script sets on the scene do not fit together.
        """
        shared_scenes = self.resolved.get("scenes", ())
        own_scenes = [name for expansion in self.expansions for name in expansion.method.scenes]
        is_shared = any(scene_fits(scene_name, name) for name in shared_scenes)
        is_own = any(scene_fits(scene_name, name) for name in own_scenes)
        settings_on_scene: list[Setting] = []
        for expansion in self.expansions:
            if by_default and is_own and not is_shared and not expansion.method.scenes:
                continue
            name = expansion.method.name
            settings = [setting for setting in self.settings if setting.method == name]
            settings_on_scene += expansion.settings_on(scene_name, settings)
        return tuple(settings_on_scene)

    @functools.cached_property
    def protocols(self) -> tuple[Protocol, ...]:
        """Protocols of the script. Without any, each scene is evaluated by its own."""
        return tuple(map(resolve, self._evaluation("protocol")))

    def protocols_on(self, scene: Scene) -> tuple[Protocol, ...]:
        """Return the protocols on a scene, with the metrics that the script adds.

        The protocols are those of the script, or else the protocol of the scene.
        """
        metrics = tuple(self._evaluation("metrics"))
        protocols = self.protocols or (of_scene(scene),)
        return tuple(with_metrics(protocol, metrics) for protocol in protocols)

    def _evaluation(self, key: str) -> list[Any]:
        """Return the values of a key under ``evaluation``."""
        values = self.resolved.get("evaluation", {}).get(key) or []
        return values if isinstance(values, list) else [values]


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
    """Load a parameter script, check it as a whole, and make its settings.

    Parameters
    ----------
    source : str, Path or mapping
        A file, the name of a built-in script (``ssd``, ``methods/ssd``), or the script
        itself as a mapping.
    overrides : sequence of str, or str
        Texts ``key.path=value`` as on the command line, such as
        ``matching_cost.truncation=20``. A single text is one override. A value that is
        given for an axis of the sweep replaces the axis.
    tuning : bool
        True if a search for the best values will choose the settings. Any number of
        settings is then allowed, and none is made.
    plugins : sequence of str or Path, or a single one
        Plug-ins besides those that the script names: modules, or files ending in
        ``.py``. A script file may only name plug-in files in its own folder, because
        importing them runs them. Plug-in files elsewhere must be named here.
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
        The script has faults. The error lists all of them, each with file, line,
        column, the allowed values and the nearest name.

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
    if path is not None:
        document = reader.file(path)
    else:
        document = reader.mapping(source)  # type: ignore[arg-type]
    reader.add_plugins([plugins] if isinstance(plugins, str | Path) else plugins)
    sources = reader.load_plugins(None if path is None else path.parent)
    # A plug-in may have changed the working directory, where the script's paths start.
    with contextlib.chdir(start):
        checked_script = _check(
            document,
            path,
            reader,
            listed_overrides(overrides),
            tuning=tuning,
            refuse_execution=execution_is_off(),
            scene_data=DataRoot(data) if with_scenes else None,
        )
    methods = [expansion.method for expansion in checked_script.expansions]
    model = methods[0].model
    resolved = resolved_script(
        checked_script.name,
        texts_in(checked_script.document.part("scenes")),
        checked_script.document,
        methods,
        checked_script.expansions[0].shared,
    )
    model.slots.forget()
    return Script(
        checked_script.name,
        path,
        _scenes(checked_script.document),
        checked_script.settings,
        checked_script.expansions,
        checked_script.document.part("report").data or {},
        sources,
        resolved,
        _executions(reader, model.findings),
        model.findings.remarks(),
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


def inspect_script(
    source: str | Path, overrides: Sequence[str] = (), *, with_scenes: bool = True
) -> Inspection:
    """Check a script without executing code that it names.

    Stages that a plug-in may define are passed over. If the script names a plug-in, its
    report is passed over as well.

    Parameters
    ----------
    source : str or Path
        A file, or the name of a built-in script.
    overrides : sequence of str
        As in `load`.
    with_scenes : bool
        Refuse scenes of the script that do not exist, unless a plug-in may define them.

    Raises
    ------
    ScriptError
        All other faults of the script.
    """
    faults = Faults()
    path = find_script(source)
    reader = Reader(faults)
    document = reader.file(path)
    faults.without_plugins = bool(reader.plugins)
    checked_script = _check(
        document,
        path,
        reader,
        listed_overrides(overrides),
        tuning=False,
        refuse_execution=False,
        # A plug-in may define the data set of a scene.
        scene_data=None if faults.without_plugins or not with_scenes else DataRoot(None),
    )
    return Inspection(
        tuple(plugin.text for plugin in reader.plugins),
        tuple(dict.fromkeys(faults.unknown)),
        _executions(reader, checked_script.expansions[0].findings),
        _scenes(checked_script.document),
        len(checked_script.settings),
    )


class DataRoot(NamedTuple):
    """The first folder in which scenes are looked for.

    None means that scenes are looked for only in the folders of `data_roots`.
    """

    folder: str | Path | None


class _CheckedScript(NamedTuple):
    """A script without faults.

    Parameters
    ----------
    name : str
    document : Document
        The script, merged with its includes and overrides.
    expansions : tuple of Expansion
    settings : tuple of Setting
    """

    name: str
    document: Document
    expansions: tuple[Expansion, ...]
    settings: tuple[Setting, ...]


def _check(
    document: Document | None,
    path: Path | None,
    reader: Reader,
    overrides: Sequence[str],
    *,
    tuning: bool,
    refuse_execution: bool,
    scene_data: DataRoot | None,
) -> _CheckedScript:
    """Check a script that was read, and make its settings.

    Parameters
    ----------
    document : Document or None
        The script, merged with its includes. None means that it cannot be read.
    path : Path or None
        File of the script.
    reader : Reader
        The reader with all scripts as they are written.
    overrides : sequence of str
    tuning : bool
        As in `load`.
    refuse_execution : bool
        Whether stages that execute third-party code are faults.
    scene_data : DataRoot or None
        Where scenes are looked for. None means that they are not looked for.

    Raises
    ------
    ScriptError
        The script has faults. The error lists all of them.
    """
    findings = Findings(reader.faults)
    if document is None:
        reader.faults.raise_if_any()
        raise TypeError("a script that cannot be read must have a fault")
    model = Model(findings)
    for script in reader.scripts:
        model.check(script)
    if not reader.complete:
        # A file is missing, and further faults may follow from that.
        reader.faults.raise_if_any()

    document, parameter_overrides = apply_overrides(document, overrides, model)
    name = _name(document, path, model)
    methods = read_methods(document, name, model)
    set_parameters(document, methods, parameter_overrides, model)
    if not tuning:
        refuse_too_many_settings(methods)

    search = model.search(document.part("search"))
    shared = {
        "plugins": list(dict.fromkeys(plugin.full_name for plugin in reader.plugins)),
        "search": {key: value.data for key, value in search.items()},
        "evaluation": document.part("evaluation").data or {},
    }
    expansions = tuple(Expansion(method, shared, tuning=tuning) for method in methods)
    settings = [expansion.settings() for expansion in expansions]
    report_idle_axes(expansions)
    if refuse_execution:
        findings.refuse_executions()
    if scene_data is not None:
        _check_scenes(document, scene_data, reader.faults)
        _check_names_of_scene_values(document, methods, scene_data, reader.faults)
    reader.faults.raise_if_any()
    all_settings = tuple(itertools.chain.from_iterable(settings))
    return _CheckedScript(name, document, expansions, all_settings)


def _check_scenes(script: Document, data: DataRoot, faults: Faults) -> None:
    """Report the scenes of a merged script that do not exist."""
    # The data roots are searched once for all scenes. They are searched for each scene
    # only if one is missing.
    with contextlib.suppress(DataError):
        load_scenes(_scenes(script), data=data.folder)
        return
    lists_of_scenes = [script.part("scenes")]
    for method in script.part("methods").entries().values():
        lists_of_scenes.append(method.part("scenes"))
    for list_of_scenes in lists_of_scenes:
        for item in list_of_scenes.items():
            name = text_of(item)
            if name is None:
                continue
            try:
                load_scenes([name], data=data.folder)
            except DataError as error:
                public_set = set_with_scene(name, scene_names(data.folder))
                remedy = ""
                if public_set is not None:
                    remedy = (
                        f"; 'stereo-framework scenes --fetch {public_set}' downloads its data set"
                    )
                faults.add(item.location, f"{error}{remedy}")


def _check_names_of_scene_values(
    script: Document, methods: Sequence[Method], data: DataRoot, faults: Faults
) -> None:
    """Report names under ``by_scene`` that fit no scene of the script."""
    scene_names: list[str] = []
    # A scene that does not exist is a fault, which is reported elsewhere.
    with contextlib.suppress(DataError):
        for scene in load_scenes(_scenes(script), data=data.folder):
            scene_names.append(scene.name)
    if not scene_names:
        return
    for method in methods:
        for scene_value in method.scene_values:
            name = scene_value.scenes
            if not any(scene_fits(scene_name, name) for scene_name in scene_names):
                remedy = nearest(name, scene_names, kind="scenes")
                message = f"no scene of the script fits {name!r}; {remedy}"
                faults.add(scene_value.location, message)


def _scenes(script: Document) -> tuple[str, ...]:
    """Return the names of the scenes of a script and of its methods, each once."""
    names = list(texts_in(script.part("scenes")))
    for method in script.part("methods").entries().values():
        names += texts_in(method.part("scenes"))
    return tuple(dict.fromkeys(names))


def _executions(reader: Reader, findings: Findings) -> tuple[str, ...]:
    """Return the third-party code that a run of a checked script executes."""
    return tuple(dict.fromkeys([*reader.executions(), *findings.executions]))


def _name(script: Document, path: Path | None, model: Model) -> str:
    """Return the name of a script: its key ``name``, or the name of its file."""
    stem = "script" if path is None else path.name.removesuffix(RESOLVED).removesuffix(".yaml")
    name = model.name(script.part("name")) or stem
    length = len(f"{name}{RESOLVED}".encode(errors="replace"))
    if name == stem and length > _LONGEST_FILE_NAME:
        message = (
            "the name of the file is too long for that of the resolved script; shorten it, or "
            "give a name: to the script"
        )
        model.findings.fault(script.location, message)
    encoding_message = encoding_fault(name)
    if encoding_message:
        remedy = (
            "set PYTHONUTF8=1 in the environment, rename the file, or give another name: to the "
            "script"
        )
        model.findings.fault(script.location, f"{encoding_message}; {remedy}")
    return name
