"""Stages: how a function becomes one, and what its signature says.

A stage is a plain function. Its positional arguments are data, chosen by name; its keyword-only arguments are its
parameters: annotations are types and bounds, defaults are defaults, the docstring is the documentation. What stages are written in has
its names here too, so that a stage needs one import.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from stereo_framework.core.arguments import checked, describe_value
from stereo_framework.core.border import border
from stereo_framework.core.calls import CallReport, per_image, report_call
from stereo_framework.core.docstrings import summary
from stereo_framework.core.errors import (
    DataError,
    ParameterError,
    StereoFrameworkError,
    close_or_listing,
    describe_exception,
    nearest,
)
from stereo_framework.core.former_names import new_or_nearest
from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import (
    Fraction01,
    Located,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Unit,
    parameters_of,
    unit,
    with_defaults,
)
from stereo_framework.core.plugins import import_file, installed_plugins, load_plugin
from stereo_framework.core.registry import Registry
from stereo_framework.core.scene import Disparity, Image, Mask, Scene, SearchRange, read_only
from stereo_framework.core.slots import SLOTS, VOLUME_SLOTS, Slot
from stereo_framework.core.view import View, in_one_form, one_of
from stereo_framework.core.volume import (
    ConfidenceMap,
    CostVolume,
    Labeling,
    Levels,
    SearchMask,
    Smoothness,
    Status,
    StatusMap,
    as_volume,
)

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Stage:
    """What is known about a registered stage: its function, what the signature says, and what `stage` declares.

    Parameters
    ----------
    name, slot : str
    function : callable
        As it was written.
    public : callable
        With the `border` in front, which a pipeline passes by.
    source : str
        Where the method is defined: paper and section, equation or table.
    halo : callable, optional
        Takes the stage's parameters by name (those it names) and returns how many rows above and below a row the stage
        needs to compute it. Declares the stage local: it may be run on a slice of rows. Without it, or where it returns None, the
        stage sees the whole.
    data : tuple of str
        What it names.
    resume : str, optional
        The parameter that counts the iterations of an aggregation that can be continued. Such a stage names the data
        ``partial``: its own result for the same volume and the same other parameters after some iterations, or None. With it
        the stage does as many iterations more as the parameter says, and the result is, bit for bit, that of all of them.
    memory : int or callable, optional
        For the estimate of memory: how many volumes the stage holds at most while it works, its result included, besides the one that it is given;
        default: 4 in aggregation, else 2. Of a scheme that cuts pairs up: takes rows and columns of a pair, its `SearchRange`, and the stage's parameters, and
        returns rows and columns of the largest pair that the scheme makes of it.
    integer : bool
        The stage takes, or makes, volumes of uint8 and uint16 costs. For any other stage the pipeline converts them to float32.
    other_needs : frozenset of str
        Which volumes of the other view, ``volume`` or ``raw``, a stage that names ``other`` uses. Default: those that its own code names.
    files : callable, optional
        Takes the stage's parameters by name (those it names) and, as ``scene``, the scene or None, and returns the files from outside that decide what
        the stage does: programs, models, maps, folders of these. Their content is part of a run's identity. It is called when a script is checked, without a scene, and
        raises a ParameterError where something is missing.
    executes : callable, optional
        Takes the stage's parameters by name (those it names) and returns the third-party code that the stage executes, such as ``the program ./elas``.
        `check` lists this text, and ``--no-plugins`` refuses the stage.
    check_parameters : callable, optional
        Takes allowed values of the stage's parameters by name (those it names) and returns why they cannot stand together, or None. Scripts are checked with it, and
        every call of the stage. An optimizer's may name ``smoothness``, and gets the name of the method's smoothness term, or None.
    whole_steps : str
        Reason why the stage does not support search ranges with a step below a pixel, as a
        phrase that continues the stage's name. Scripts and pipelines with such a range are
        refused before anything is computed. Default: the stage supports every step.
    """

    name: str
    slot: str
    function: Callable[..., Any]
    public: Callable[..., Any]
    source: str
    halo: Callable[..., int | None] | None
    data: tuple[str, ...]
    resume: str | None = None
    memory: int | Callable[..., tuple[int, int]] | None = None
    integer: bool = False
    other_needs: frozenset[str] = frozenset()
    files: Callable[..., Iterable[Path]] | None = None
    executes: Callable[..., str] | None = None
    check_parameters: Callable[..., str | None] | None = None
    whole_steps: str = ""

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of the package."""
        return str(self.function.__module__).startswith("stereo_framework.")

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Keyword-only parameters by name, annotations resolved."""
        return parameters_of(self.function)

    def unit(self, parameter: str) -> str:
        """Unit of a parameter as its annotation gives it, empty where it has none.

        Examples
        --------
        >>> from stereo_framework.matching_cost import absolute_difference
        >>> of(absolute_difference).unit("truncation"), of(absolute_difference).unit("birchfield_tomasi")
        ('grey levels', '')
        """
        return unit(self.parameters[parameter].annotation)

    def execution(self, parameters: Mapping[str, Any]) -> str:
        """Return the third-party code that the stage executes, or an empty text."""
        if self.executes is None:
            return ""
        names = _signature(self.executes).parameters
        return self.executes(**{name: value for name, value in parameters.items() if name in names})

    def misfit(self, parameters: Mapping[str, Any]) -> str:
        """Why allowed values of parameters cannot stand together, or nothing, also where not all that it takes to tell is given.

        Examples
        --------
        >>> from stereo_framework.optimization import semi_global
        >>> of(semi_global).misfit({"p1": 8.0, "p2": 5.0})
        'p2 is 5, below p1, 8'
        """
        if self.check_parameters is None:
            return ""
        wanted = _signature(self.check_parameters).parameters
        known = {name: value for name, value in parameters.items() if name in wanted}
        unknown = any(one.default is one.empty for name, one in wanted.items() if name not in known)
        try:
            return "" if unknown else self.check_parameters(**known) or ""
        except Exception as error:
            raise ParameterError(
                describe_exception(error, self.function, f"check_parameters of {self.name}")
            ) from error

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Refuse allowed values of parameters that cannot stand together.

        Raises
        ------
        ParameterError
            What `misfit` says.
        """
        if misfit := self.misfit(parameters):
            raise ParameterError(f"{self.name}: {misfit}")

    def defaults(self, data: str) -> bool:
        """Whether the stage does without some data that it names."""
        return _signature(self.function).parameters[data].default is not inspect.Parameter.empty

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return summary(self.function)


_signature = functools.cache(inspect.signature)
_REGISTRY: dict[str, Registry[Stage]] = {slot: Registry(f"stage of {slot}", {}) for slot in SLOTS}
_BY_FUNCTION: dict[Callable[..., Any], Stage] = {}


@checked()
def stage(
    slot: str, *, source: str = "", halo: Callable[..., int | None] | None = None, **declared: Any
) -> Callable[[F], F]:
    """Register a function as a stage of `slot`; the function is returned with the `border` in front, which a pipeline passes by.

    Parameters
    ----------
    slot : str
        One of `SLOTS`.
    source : str
        Where the method is defined: paper and section, equation or table. `check` asks for it where a script uses the stage.
    halo : callable, optional
        How many rows around its own the stage needs, by its parameters; None: it sees the whole.
    **declared
        What `Stage` tells about ``resume``, ``memory``, ``integer``, ``other_needs``, ``files``, ``executes``, ``check_parameters`` and ``whole_steps``.

    Raises
    ------
    StereoFrameworkError
        The signature does not fit the slot: a programming mistake in the stage.
    """
    if slot not in SLOTS:
        raise StereoFrameworkError(
            f"@stage({slot!r}): no such slot; {nearest(slot, SLOTS, kind='slots')}"
        )

    def register(function: F) -> F:
        name, data = function.__name__, _data(slot, declared.get("resume"), function)
        # Where nothing is declared, volumes of the other view are kept if the function's own code names them; helpers that it calls are not looked into.
        own = getattr(function, "__code__", _data.__code__).co_names if "other" in data else ()
        needs = declared.get("other_needs", {"volume", "raw"}.intersection(own))

        @functools.wraps(function)
        def public(*given: Any, **named: Any) -> Any:
            if len(given) > len(data):
                raise TypeError(
                    f"{name}() takes {len(data)} data, {len(given)} were given; parameters are given by name"
                )
            handed = dict(zip(data, given, strict=False)) | {
                key: named.pop(key) for key in data if key in named
            }
            values = with_defaults(function, named)
            found.check(values)
            taken = border(name, handed, data, integer=found.integer)
            result = function(**taken, **values)
            if slot == "matching_cost":
                return as_volume(result, taken["search"])
            if isinstance(result, Labeling):
                return replace(result, search=taken["volume"].search)
            # Arrays in, arrays out.
            return (
                result.costs
                if isinstance(result, CostVolume) and isinstance(handed.get("volume"), np.ndarray)
                else result
            )

        found = Stage(
            name,
            slot,
            function,
            public,
            source,
            halo,
            data,
            **declared | {"other_needs": frozenset(needs)},
        )
        _REGISTRY[slot].add(name, found, function.__module__)
        _BY_FUNCTION[public] = _BY_FUNCTION[function] = found
        return cast(F, public)

    return register


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
        starts = " or ".join(f"({', '.join(first)})" for first in SLOTS[slot].first)
        raise wrong(f"takes ({', '.join(data)}); stages of {slot} start with {starts}")
    allowed = SLOTS[slot].data - ({"auxiliary"} if first == ("image",) else set())
    for extra in data[len(first) :]:
        if extra not in allowed:
            remedy = new_or_nearest("data_arguments", "stage", extra, allowed, kind="data")
            raise wrong(f"there is no {extra!r} for it; {remedy}; parameters stand after '*'")
    reserved = [name for name in ("weight", "saturation") if name in parameters]
    if SLOTS[slot].added and reserved:
        raise wrong(
            f"{reserved[0]!r} belongs to the entries of a list of costs; call the parameter otherwise"
        )
    if (resume is not None) != ("partial" in data) or (
        resume is not None and resume not in parameters.keys() - set(data)
    ):
        raise wrong(
            "a stage that can be continued names the data 'partial' and declares @stage(..., resume=PARAMETER)"
        )
    return tuple(data)


def stages(slot: str | None = None) -> tuple[Stage, ...]:
    """The registered stages of one slot or of all, by slot and name. Plug-ins installed as packages are included."""
    if slot is not None and slot not in SLOTS:
        raise ParameterError(f"{slot}: no such slot; {nearest(slot, SLOTS, kind='slots')}")
    installed_plugins()
    return tuple(_REGISTRY[s][n] for s in ([slot] if slot else SLOTS) for n in sorted(_REGISTRY[s]))


def find(slot: str, name: str) -> Stage:
    """The stage `name` of `slot`.

    Raises
    ------
    ParameterError
        No such slot or stage; the message lists the allowed ones and the nearest.
    """
    known: Mapping[str, Stage] = _REGISTRY.get(slot, {})
    # Plug-ins are loaded, and slots checked, only where that is needed.
    if name not in known and name not in [one.name for one in stages(slot)]:
        elsewhere = [s for s in SLOTS if name in _REGISTRY[s]]
        hint = f"; {name!r} is a stage of {elsewhere[0]}" if elsewhere else ""
        raise ParameterError(
            f"{slot}: no stage {name!r}; {nearest(name, known, kind='stages')}{hint}"
        )
    return known[name]


def by_name(name: str) -> Stage:
    """The stage of a name, ``census``, or of a slot and a name, ``refinement.median``.

    Raises
    ------
    ParameterError
        There is none, or several slots have one; the message lists what is allowed.
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
        names = [one.name for one in stages()]
        remedy = close_or_listing(name, names, "'stereo-framework stages' lists all stages")
        raise ParameterError(f"no stage {name!r}; {remedy}")
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
        name = getattr(function, "__name__", describe_value(function))
        raise ParameterError(
            f"{name}: not a stage; give step(NAME, parameter=value), or register a function with @stage(slot, source=...)"
        ) from None
