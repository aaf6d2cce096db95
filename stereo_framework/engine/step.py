"""Step: a stage with all its parameters at its place in a pipeline; a sum of costs is one, and so are the few things that a pipeline does besides."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from stereo_framework.core import stage as registered
from stereo_framework.core.calls import Stopped
from stereo_framework.core.errors import (
    ArgumentError,
    ParameterError,
    StereoFrameworkError,
    describe_exception,
)
from stereo_framework.core.parameters import (
    Positive,
    as_yaml,
    parameter_faults,
    parameters_of,
    with_defaults,
)
from stereo_framework.core.scene import read_only
from stereo_framework.core.stage import SLOTS, Stage
from stereo_framework.core.view import View, in_one_form, mapped
from stereo_framework.core.volume import CostVolume, as_volume
from stereo_framework.engine.match import check_returned

VOLUMES = frozenset({"volume", "raw"})


def weighted(
    volume: CostVolume, *, weight: Positive = 1.0, saturation: Positive | None = None
) -> CostVolume:
    """Saturate and weight a matching cost, as an entry of a list of costs requests.

    Parameters
    ----------
    volume : CostVolume
        Costs of one entry. The result overwrites them if they are writeable and
        float32.
    weight : float
        Factor of this cost in the sum.
    saturation : float or None
        Cost at which the saturated cost ``1 - exp(-cost / saturation)`` is 1 - 1/e, in
        the unit of the matching cost. None: the cost is not saturated.

    Returns
    -------
    CostVolume
        Float32.
    """
    is_writeable = volume.costs.flags.writeable
    costs = volume.costs.astype(np.float32, copy=not is_writeable)
    outside_cost = volume.outside_cost

    if saturation is not None:
        np.divide(costs, np.float32(-saturation), out=costs)
        np.expm1(costs, out=costs)
        np.negative(costs, out=costs)
        outside_cost = -float(np.expm1(-outside_cost / saturation))

    costs *= np.float32(weight)
    return CostVolume(costs, volume.search, weight * outside_cost)


FACTORS = tuple(parameters_of(weighted))


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """A stage with all its parameters: immutable, printable, comparable, hashable. `step` makes one.

    Parameters
    ----------
    stage : Stage
    parameters : mapping
        Values by name. An entry of a list of costs also has a weight and a saturation.
    inner : tuple
        What the step is made of: the costs of a sum, the method under a scheme, the auxiliary methods by name.
    """

    stage: Stage
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inner: tuple[Any, ...] = ()

    @functools.cached_property
    def _key(self) -> str:
        # 1 and True are equal in Python but not as parameters.
        return f"{self.stage.slot}.{self.stage.name}{dict(self.parameters)!r}{self.inner!r}"

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Step) and self._key == other._key)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(step, self.stage.public, **self.parameters), ()

    def __repr__(self) -> str:
        """In short: its name and what differs from the defaults."""
        usual = {
            name: parameter.default
            for name, parameter in {**parameters_of(weighted), **self.stage.parameters}.items()
        }
        own = ", ".join(
            f"{name}={_text(value)}"
            for name, value in self.parameters.items()
            if _text(value) != _text(usual[name])
        )
        return f"{self.stage.name}({own})" if own else self.stage.name

    def having(self, **parameters: Any) -> Step:
        """The same with other values of some parameters."""
        return step(self.stage.function, **{**self.parameters, **parameters})

    @property
    def name(self) -> str:
        """``SLOT.STAGE``; of what is no stage of a slot what it does."""
        return (
            self.stage.slot
            if self.stage.name == self.stage.slot
            else f"{self.stage.slot}.{self.stage.name}"
        )

    @property
    def added(self) -> bool:
        """Whether it is an entry of a list of costs."""
        return "weight" in self.parameters and SLOTS[self.stage.slot].added

    @functools.cached_property
    def line(self) -> tuple[Any, int]:
        """The same for steps that differ in their iterations alone, and how many these are."""
        count = self.stage.resume
        if count is None:
            return self, 0
        others = {name: value for name, value in self.parameters.items() if name != count}
        return Step(self.stage, others), self.parameters[count]

    @functools.cached_property
    def reads(self) -> frozenset[str]:
        """What must be there before it, of what is kept only for those who read it: volumes and the views of auxiliary methods."""
        return (VOLUMES | {"auxiliary"}) & {*self.stage.data}

    @functools.cached_property
    def other_reads(self) -> frozenset[str]:
        """The volumes of the other side that must be there before it."""
        if "other" not in self.stage.data:
            return frozenset()
        return self.stage.other_needs | ({"volume"} if self.stage.slot == "optimization" else set())

    @property
    def touches_volume(self) -> bool:
        """Whether it makes or reads a volume."""
        return self.stage.slot == "matching_cost" or bool(VOLUMES & (self.reads | self.other_reads))

    @functools.cached_property
    def halo(self) -> int | None:
        """Rows above and below a row that it needs; None: all."""
        if (
            self.stage.halo is None
            or "other" in self.stage.data
            or self.stage.slot in ("preprocessing", "matcher")
        ):
            return None
        with _blaming(self.stage):
            halo = self.stage.halo(**_named(self.stage.halo, self.parameters))
            if halo is not None and (not isinstance(halo, int | np.integer) or halo < 0):
                raise ValueError(
                    f"its halo is {halo!r}; expected a whole number of rows >= 0, or None"
                )
            return halo

    def files(self, scene: Any = None) -> tuple[Path, ...]:
        """Files from outside that decide what it does, on a scene or on any.

        Raises
        ------
        ParameterError
            Something is missing that does not depend on the scene.
        """
        files = self.stage.files
        with _blaming(self.stage):
            found = (
                (files(**_named(files, {**self.parameters, "scene": scene})) or ()) if files else ()
            )
            return tuple(map(Path, [found] if isinstance(found, str | Path) else found))

    def __call__(self, data: Mapping[str, Any]) -> Any:
        """Run it on those data that it names."""
        # Only what is continued has a partial result.
        named = {
            name: data.get(name) if name == "partial" else data[name] for name in self.stage.data
        }
        given = mapped("", named, lambda _, array: in_one_form(array))
        # A stage may change its lists.
        own = copy.deepcopy(
            {
                name: value
                for name, value in self.parameters.items()
                if name in self.stage.parameters
            }
        )
        with _blaming(self.stage):
            self.stage.check(own)
            result = self.stage.function(**given, **own)
            if self.stage.slot != "matching_cost":
                return result
            volume = as_volume(result, given["search"])
            # Who made it elsewhere may keep it: nobody writes into it.
            return (
                volume
                if volume is not result or self.stage.is_built_in
                else mapped("", volume, lambda _, array: read_only(array))
            )


@contextlib.contextmanager
def _blaming(stage: Stage) -> Iterator[None]:
    """Note at what is raised within the block that the stage raised it; the innermost one counts."""
    try:
        yield
    except BaseException as error:
        found = error
        # Neither sys.exit nor a panic in Rust ends the program.
        if not isinstance(error, Exception | KeyboardInterrupt | Stopped):
            text = (
                f"calls sys.exit({error.code!r})"
                if isinstance(error, SystemExit)
                else describe_exception(error)
            )
            found = RuntimeError(text).with_traceback(error.__traceback__)
        found.raised_by = getattr(error, "raised_by", stage)  # type: ignore[attr-defined]
        raise found  # noqa: B904  It carries its own traceback.


def blame(error: BaseException) -> str:
    """Tell an exception in one line.

    What a stage raises on purpose, a `StereoFrameworkError`, speaks for itself. For all else the line begins with the place in the stage's file where it
    was raised, or passed through.
    """
    stage: Stage | None = getattr(error, "raised_by", None)
    # A wrong argument in the code of a stage is a mistake there, not a refusal by the stage.
    is_refusal = isinstance(error, StereoFrameworkError) and not (
        stage is not None and isinstance(error, ArgumentError)
    )
    if is_refusal:
        return str(error)
    return (
        describe_exception(error)
        if stage is None
        else describe_exception(error, stage.function, f"{stage.slot} stage {stage.name}")
    )


def _text(value: Any) -> str:
    """A value as one would write it: 20, not 20.0."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return (
        value
        if isinstance(value, str)
        else as_yaml(value)
        if isinstance(value, bool | None)
        else repr(value)
    )


def _named(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Those values that a function names."""
    return {
        name: value
        for name, value in values.items()
        if name in inspect.signature(function).parameters
    }


def step(which: str | Callable[..., Any] | Step, /, **parameters: Any) -> Step:
    """A stage with all its parameters.

    Parameters
    ----------
    which : str, callable or Step
        The name of a stage (``census``, or ``refinement.median``) or its function.
    **parameters
        Values by name; defaults fill the rest. A cost that is one of several also has a
        ``weight`` in the sum and a ``saturation``, with which a cost becomes
        ``1 - exp(-cost / saturation)``.

    Raises
    ------
    ParameterError
        Not a stage, or unknown parameters, or parameters with values that are not allowed.

    Examples
    --------
    >>> step("box", size=21)
    box(size=21)
    """
    if isinstance(which, Step):
        return which.having(**parameters) if parameters else which
    stage = registered.by_name(which) if isinstance(which, str) else registered.of(which)
    factors = {}
    if SLOTS[stage.slot].added and parameters.keys() & set(FACTORS):
        factors = {name: parameters.pop(name) for name in FACTORS if name in parameters}
        for name, wrong in parameter_faults(weighted, factors).items():
            raise ParameterError(f"{stage.slot}.{stage.name}.{name}: {wrong}")
        factors = with_defaults(weighted, factors)
    return Step(stage, MappingProxyType(with_defaults(stage.function, parameters) | factors))


def places(steps: Iterable[Step], numbers: dict[Step, int]) -> list[tuple[int, int]]:
    """Of each step a number, the same for those that are alike or differ in their iterations alone, and the iterations.

    Sorted by these, pipelines that begin alike follow each other, more iterations after fewer. `numbers` are those of all steps so far.
    """
    return [
        (numbers.setdefault(line, len(numbers)), count)
        for line, count in (one.line for one in steps)
    ]


def cost_sum(parts: Iterable[Step | Callable[..., Any]]) -> Step:
    """Return a step whose float32 costs are the weighted sum of several costs.

    Each entry is saturated and weighted by `weighted`. The stage names all data that
    any of the entries names.
    """
    costs = tuple(map(step, parts))

    def total(**given: Any) -> CostVolume:
        view = View(reference=given["reference"], search=given["search"])

        def part(one: Step) -> CostVolume:
            check_returned(one.stage, volume := one(given), view)
            return weighted(
                volume, **{name: one.parameters[name] for name in FACTORS if name in one.parameters}
            )

        return functools.reduce(_added, map(part, costs))

    halos = [one.halo for one in costs]
    halo = None if None in halos else lambda: max(filter(None, halos), default=0)
    data = tuple(dict.fromkeys(name for one in costs for name in one.stage.data))
    return Step(_own("matching_cost", total, halo=halo, data=data), inner=costs)


def _added(one: CostVolume, other: CostVolume) -> CostVolume:
    return CostVolume(
        np.add(one.costs, other.costs, out=one.costs),
        one.search,
        one.outside_cost + other.outside_cost,
    )


def _own(name: str, function: Callable[..., Any] | None = None, **declared: Any) -> Stage:
    """What is no stage of a slot, but runs like one; without a function the walk knows what to do."""
    return Stage(
        name, name, function or _own, function or _own, "", **{"halo": None, "data": (), **declared}
    )


RESTORE = Step(_own("restore_outside_cost", data=("volume",), halo=lambda: 0, integer=True))
"""Step that resets cells out of view to `outside_cost` after the last aggregation."""
AUXILIARY = _own("auxiliary")
