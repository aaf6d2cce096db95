"""Stages: how a function becomes one, and what its signature says.

A stage is a plain function. Its positional arguments are data, chosen by name; its keyword-only arguments are its
parameters: annotations are types and bounds, defaults are defaults, the docstring is the documentation.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np

from stereo_framework.core.border import border
from stereo_framework.core.docstrings import summary
from stereo_framework.core.errors import ParameterError, StereoFrameworkError, nearest, short
from stereo_framework.core.imported import noted
from stereo_framework.core.parameters import (
    Fraction01,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Unit,
    parameters_of,
    unit,
    with_defaults,
)
from stereo_framework.core.registry import Registry
from stereo_framework.core.slots import SLOTS, VOLUME_SLOTS, Slot
from stereo_framework.core.volume import CostVolume, Labeling, as_volume

__all__ = [
    "SLOTS",
    "VOLUME_SLOTS",
    "Fraction01",
    "NonNegative",
    "NonNegativeInt",
    "Positive",
    "PositiveInt",
    "Slot",
    "Stage",
    "Unit",
    "find",
    "load_plugin",
    "of",
    "stage",
    "stages",
]

F = TypeVar("F", bound=Callable[..., Any])

NO_PLUGINS = "STEREO_NO_PLUGINS"
"""Environment variable that keeps plug-ins, those of scripts and installed ones, from being imported."""


@dataclass(frozen=True)
class Stage:
    """What is known about a registered stage."""

    name: str
    slot: str
    function: Callable[..., Any]
    public: Callable[..., Any]
    source: str
    halo: Callable[..., int | None] | None
    data: tuple[str, ...]
    resume: str | None = None
    volumes: int | None = None
    integer: bool = False
    other_needs: frozenset[str] = frozenset()
    files: Callable[..., Iterable[Path]] | None = None
    largest: Callable[..., tuple[int, int]] | None = None
    check_parameters: Callable[..., str | None] | None = None
    needs_smoothness: bool = False
    refuses_smoothness: frozenset[str] = frozenset()

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Keyword-only parameters by name, annotations resolved."""
        return parameters_of(self.function)

    def unit(self, parameter: str) -> str:
        """Unit of a parameter as its annotation gives it, empty where it has none.

        Examples
        --------
        >>> from stereo_framework.matching_cost import absolute_difference
        >>> of(absolute_difference).unit("truncation"), of(absolute_difference).unit("interval")
        ('grey levels', '')
        """
        return unit(self.parameters[parameter].annotation)

    def misfit(self, parameters: Mapping[str, Any]) -> str:
        """Why legal values of parameters cannot stand together, or nothing.

        Examples
        --------
        >>> from stereo_framework.optimization import semi_global
        >>> of(semi_global).misfit({"p1": 8.0, "p2": 5.0})
        'p2 is 5, below p1, 8'
        """
        if self.check_parameters is None:
            return ""
        wanted = inspect.signature(self.check_parameters).parameters
        return self.check_parameters(**{k: v for k, v in parameters.items() if k in wanted}) or ""

    def check(self, parameters: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Refuse what only parameters and data together show.

        Raises
        ------
        ParameterError
            Legal values cannot stand together, or there is no smoothness term where one is needed.
        """
        if self.needs_smoothness and data.get("smoothness") is None:
            raise ParameterError(f"{self.name}: {NO_SMOOTHNESS}")
        if misfit := self.misfit(parameters):
            raise ParameterError(f"{self.name}: {misfit}")

    def defaults(self, data: str) -> bool:
        """Whether the stage does without some data that it names."""
        return inspect.signature(self.function).parameters[data].default is not inspect.Parameter.empty

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return summary(self.function)


_REGISTRY: dict[str, Registry[Stage]] = {slot: Registry(f"stage of {slot}", {}) for slot in SLOTS}
_BY_FUNCTION: dict[Callable[..., Any], Stage] = {}


def stage(
    slot: str,
    *,
    source: str = "",
    halo: Callable[..., int | None] | None = None,
    resume: str | None = None,
    volumes: int | None = None,
    integer: bool = False,
    other_needs: Collection[str] | None = None,
    files: Callable[..., Iterable[Path]] | None = None,
    largest: Callable[..., tuple[int, int]] | None = None,
    check_parameters: Callable[..., str | None] | None = None,
    needs_smoothness: bool = False,
    refuses_smoothness: Collection[str] = (),
) -> Callable[[F], F]:
    """Register a function as a stage of `slot`; the function is returned with the `border` in front, which a pipeline passes by.

    Parameters
    ----------
    slot : str
        One of `SLOTS`.
    source : str
        Where the method is defined: paper and section, equation or table. `check` asks for it where a script uses the stage.
    halo : callable, optional
        Takes the stage's parameters by name (those it names) and returns how many rows above and below a row the stage
        needs to compute it. Declares the stage local: it may be run on a slice of rows. Without it, or where it returns None, the
        stage sees the whole.
    resume : str, optional
        The parameter that counts the iterations of an aggregation that can be continued. Such a stage names the data
        ``partial``: its own result for the same volume and the same other parameters after some iterations, or None. With it
        the stage does as many iterations more as the parameter says, and the result is, bit for bit, that of all of them.
    volumes : int, optional
        How many volumes the stage holds at most while it works, its result included, besides the one that it is given; for the estimate of
        memory. Default: 4 in aggregation, else 2.
    integer : bool
        The stage takes, or makes, volumes of uint8 and uint16 costs. For any other stage the pipeline converts them to float32.
    other_needs : collection of str, optional
        Which volumes of the other view, ``volume`` or ``raw``, a stage that names ``other`` uses. Default: those that its own code names.
    files : callable, optional
        Takes the stage's parameters by name (those it names) and, as ``scene``, the scene or None, and returns the files from outside that decide what
        the stage does: programs, models, maps. Their content is part of a run's identity. It is called when a script is checked, without a scene, and
        raises a ParameterError where something is missing.
    largest : callable, optional
        Of a scheme: takes rows and columns of a pair, its `Search`, and the stage's parameters, and returns rows and columns of the largest pair that the scheme
        makes of it; for the estimate of memory. Default: the whole pair.
    check_parameters : callable, optional
        Takes legal values of the stage's parameters by name (those it names) and returns why they cannot stand together, or None. Scripts are checked with it, and
        every call of the stage.
    needs_smoothness : bool
        Of an optimizer: it refuses an energy without a smoothness term.
    refuses_smoothness : collection of str
        Of an optimizer: smoothness terms, by their stages' names, that it cannot take. Scripts are checked for them.

    Raises
    ------
    StereoFrameworkError
        The signature does not fit the slot: a programming mistake in the stage.
    """

    def register(function: F) -> F:
        data = _data(slot, resume, function)
        # Where nothing is declared, volumes of the other view are kept if the function's own code names them; helpers that it calls are not looked into.
        named = _VOLUMES.intersection(getattr(function, "__code__", _data.__code__).co_names) if "other" in data else ()
        needs = frozenset(named if other_needs is None else other_needs)
        name = function.__name__

        @functools.wraps(function)
        def public(*given: Any, **named: Any) -> Any:
            handed = dict(zip(data, given, strict=False)) | {key: named.pop(key) for key in data if key in named}
            if len(given) > len(data):
                raise TypeError(f"{name}() takes {len(data)} data, {len(given)} were given; parameters are given by name")
            values = with_defaults(function, named)
            taken = border(name, handed, data, integer=integer)
            found.check(values, taken)
            result = function(**taken, **values)
            if slot == "matching_cost":
                return as_volume(result, taken["search"])
            if isinstance(result, Labeling):
                return replace(result, search=taken["volume"].search)
            # Arrays in, arrays out.
            return result.costs if isinstance(result, CostVolume) and isinstance(handed.get("volume"), np.ndarray) else result

        found = Stage(
            name,
            slot,
            function,
            public,
            source,
            halo,
            data,
            resume,
            volumes,
            integer,
            needs,
            files,
            largest,
            check_parameters,
            needs_smoothness,
            frozenset(refuses_smoothness),
        )
        _REGISTRY[slot].add(name, found, function.__module__)
        _BY_FUNCTION[public] = _BY_FUNCTION[function] = found
        return cast(F, public)

    if slot not in SLOTS:
        raise StereoFrameworkError(f"@stage({slot!r}): no such slot; {nearest(slot, SLOTS, kind='slots')}")
    return register


_VOLUMES = frozenset({"volume", "raw"})
NO_SMOOTHNESS = (
    "the energy has no smoothness term, so every pixel would stand alone; "
    "give one (smoothness: potts, linear, truncated_linear or truncated_quadratic) or use winner_take_all"
)


def _data(slot: str, resume: str | None, function: Callable[..., Any]) -> tuple[str, ...]:
    """The data that a stage names, its signature checked."""
    name, parameters = function.__name__, inspect.signature(function).parameters

    def wrong(said: str) -> StereoFrameworkError:
        return StereoFrameworkError(f"stage {slot}.{name}: {said}")

    data = []
    for parameter in parameters.values():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            data.append(parameter.name)
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            raise wrong(f"{parameter} is neither a data argument nor keyword-only")
        elif parameter.annotation is parameter.empty or parameter.default is parameter.empty:
            raise wrong(f"parameter {parameter.name!r} needs an annotation and a default")
    first = next((first for first in SLOTS[slot].first if tuple(data[: len(first)]) == first), None)
    if first is None:
        legal = " or ".join(f"({', '.join(first)})" for first in SLOTS[slot].first)
        raise wrong(f"takes ({', '.join(data)}); stages of {slot} start with {legal}")
    allowed = SLOTS[slot].data - ({"alternatives"} if first == ("image",) else set())
    for extra in data[len(first) :]:
        if extra not in allowed:
            raise wrong(f"there is no {extra!r} for it; {nearest(extra, allowed, kind='data')}; parameters stand after '*'")
    reserved = [name for name in ("weight", "scale") if name in parameters]
    if SLOTS[slot].added and reserved:
        raise wrong(f"{reserved[0]!r} belongs to the entries of a list of costs; call the parameter otherwise")
    if (resume is not None) != ("partial" in data) or (resume is not None and resume not in parameters.keys() - set(data)):
        raise wrong("a stage that can be continued names the data 'partial' and declares @stage(..., resume=PARAMETER)")
    return tuple(data)


def typed_stages() -> tuple[str, ...]:
    """The sources of the stages that stand in a notebook or in the program that runs, not in a module."""
    found = []
    for registered in stages():
        if registered.function.__module__ == "__main__":
            try:
                found.append(inspect.getsource(registered.function))
            except (OSError, TypeError):  # typed at a prompt
                code = getattr(inspect.unwrap(registered.function), "__code__", None)
                found.append(repr(code and (code.co_code, code.co_consts, code.co_names)))
    return tuple(found)


def stages(slot: str | None = None) -> tuple[Stage, ...]:
    """The registered stages of one slot or of all, by slot and name. Plug-ins installed as packages are included."""
    if slot is not None and slot not in SLOTS:
        raise ParameterError(f"{slot}: no such slot; {nearest(slot, SLOTS, kind='slots')}")
    _load_all()
    return tuple(_REGISTRY[s][n] for s in ([slot] if slot else SLOTS) for n in sorted(_REGISTRY[s]))


def find(slot: str, name: str) -> Stage:
    """The stage `name` of `slot`.

    Raises
    ------
    ParameterError
        No such slot or stage; the message lists the legal ones and the nearest.
    """
    if slot not in SLOTS:
        raise ParameterError(f"{slot}: no such slot; {nearest(slot, SLOTS, kind='slots')}")
    if name not in _REGISTRY[slot]:
        _load_all()
    if name not in _REGISTRY[slot]:
        elsewhere = [s for s in SLOTS if name in _REGISTRY[s]]
        hint = f"; {name!r} is a stage of {elsewhere[0]}" if elsewhere else ""
        raise ParameterError(f"{slot}: no stage {name!r}; {nearest(name, _REGISTRY[slot], kind='stages')}{hint}")
    return _REGISTRY[slot][name]


def by_name(name: str) -> Stage:
    """The stage of a name, ``census``, or of a slot and a name, ``refinement.median``.

    Raises
    ------
    ParameterError
        There is none, or several slots have one; the message lists what is legal.
    """
    slot, _, own = name.rpartition(".")
    if slot:
        return find(slot, own)
    having = [one for one in stages() if one.name == name]
    if len(having) > 1:
        raise ParameterError(
            f"{name}: several slots have such a stage; say which: {', '.join(f'{s.slot}.{name}' for s in having)}"
        )
    if not having:
        raise ParameterError(f"no stage {name!r}; {nearest(name, [one.name for one in stages()], kind='stages')}")
    return having[0]


def of(function: Callable[..., Any]) -> Stage:
    """The registration of a stage function.

    Raises
    ------
    ParameterError
        `function` is not registered.
    """
    try:
        return _BY_FUNCTION[function]
    except (KeyError, TypeError):
        name = getattr(function, "__name__", repr(function))
        raise ParameterError(f"{name}: not a stage; register it with @stage(slot, source=...)") from None


@functools.cache
def _load_all() -> tuple[str, ...]:
    """Register the stages of the families, then those of installed plug-ins, when one is looked for: who only reads results needs none.

    Returns the plug-ins' source files.
    """
    for slot in SLOTS:
        importlib.import_module(f"stereo_framework.{slot}")
    files = []
    for entry in () if NO_PLUGINS in os.environ else entry_points(group="stereo_framework.plugins"):
        try:
            module = noted(functools.partial(importlib.import_module, entry.module))
            entry.load()
        except ImportError as error:
            raise StereoFrameworkError(f"plug-in {entry.name} ({entry.value}) cannot be imported: {error}") from error
        files += [module.__file__] if module.__file__ else []
    return tuple(files)


def installed_plugins() -> tuple[str, ...]:
    """The source files of the plug-ins that are installed as packages, for the identity of runs."""
    return _load_all()


def load_plugin(reference: str, base: Path | None = None) -> str:
    """Import a module that registers stages.

    Parameters
    ----------
    reference : str
        A module name, or a path ending in ``.py``.
    base : Path, optional
        Folder that relative paths start from (a script's folder); default: the working directory.

    Returns
    -------
    str
        Path of the plug-in's source, for the identity of runs.

    Raises
    ------
    ParameterError
        The module or file does not exist or raises on import.
    """
    if NO_PLUGINS in os.environ:
        raise ParameterError(
            f"plugins: {short(reference, 200)} is not imported: --no-plugins, or {NO_PLUGINS} in the environment"
        )
    _load_all()  # no plug-in takes the name of a stage of the families
    if reference.endswith(".py"):
        path = (base or Path.cwd()).joinpath(reference)
        try:
            path = path.resolve()
            there = path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            there = False
        if not there:
            raise ParameterError(
                f"plugins: no file {short(str(path), 200)!r}" if "\0" in str(path) else f"plugins: no file {path}"
            )
        # The path decides the name, so that one file is loaded once however it is spelt.
        name = f"stereo_framework_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
        if name in sys.modules:
            return str(path)
        load: Callable[[], Any] = functools.partial(import_file, name, path)
    else:
        name, load = reference, lambda: noted(lambda: importlib.import_module(reference))
    try:
        load()
    except StereoFrameworkError:
        sys.modules.pop(name, None)
        raise
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        raise ParameterError(f"plugins: {reference} cannot be imported: {type(error).__name__}: {error}") from error
    file = getattr(sys.modules[name], "__file__", None)
    if file is None:
        raise ParameterError(f"plugins: {reference} is a folder or built in, not a module with a source file")
    return str(file)


def import_file(name: str, path: str | Path) -> ModuleType:
    """Import a ``.py`` file anew, as a module of this name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "a .py file always has a loader"

    def load() -> ModuleType:
        assert spec.loader is not None
        # Dataclasses and the like look their module up.
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return noted(load)
