"""From methods with axes to runs: one setting each, ready to be computed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereo_framework.engine.costs import Weighted
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.evaluation.protocols import Protocol, shortest
from stereo_framework.script.document import Spec, parameter
from stereo_framework.script.methods import Method, locate, takes_seed
from stereo_framework.stage import SLOTS, Bound, spelled


@dataclass(frozen=True)
class Common:
    """What all runs of a script share.

    Parameters
    ----------
    search : dict of str to float
        ``minimum``, ``maximum``, ``step`` in pixels and ``truth_margin``, as far as the script sets them.
    protocols : tuple of Protocol
    specification : object
        The protocols as the script writes them; None where it leaves them to the scenes.
    plugins : tuple of str
        Modules and absolute paths.
    """

    search: Mapping[str, float]
    protocols: tuple[Protocol, ...]
    specification: Any
    plugins: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One setting of a script, for any scene.

    Parameters
    ----------
    method : str
        Key in the script's ``methods``, else the script's name, else its file's.
    pipeline : Pipeline
    search : dict of str to float
        ``minimum``, ``maximum``, ``step`` in pixels, as far as they differ from the scene's own; ``truth_margin`` as a share.
    protocols : tuple of Protocol
        Empty: the protocol of the scene.
    seed : int
        Of the script; fills the ``seed`` of stages that were not given one.
    axes : dict of str to object
        Values of what was swept, by address. A whole stage is shown by its name and what differs from its defaults.
    common : Common
    seeded : tuple of str
        Addresses of the stages that `seed` was filled into.
    """

    method: str
    pipeline: Pipeline
    search: dict[str, float]
    protocols: tuple[Protocol, ...]
    seed: int
    axes: dict[str, Any]
    common: Common
    seeded: tuple[str, ...]

    @property
    def parameters(self) -> dict[str, Any]:
        """All values that decide the disparity map, defaults filled in, under dotted names.

        ``SLOT.use`` is the stage or, in a slot that takes several, their chain: ``box > min_filter``. ``seed`` is there if
        some stage was given it.
        """
        found: dict[str, Any] = {f"search.{key}": value for key, value in self.search.items()}
        for slot, about in SLOTS.items():
            stages = getattr(self.pipeline, slot)
            if about.many and stages:
                found[f"{slot}.use"] = " > ".join(bound.stage.name for bound in stages)
            elif not about.many and stages is not None:
                found[f"{slot}.use"] = stages.stage.name
        for address, bound in self.pipeline.stages():
            found.update({f"{address}.{name}": value for name, value in bound.parameters.items()})
        if self.seeded:
            found["seed"] = self.seed
        return found

    @property
    def mapping(self) -> dict[str, Any]:
        """A script of this run alone, defaults filled in, that `load` accepts; plain values that YAML can hold."""
        found: dict[str, Any] = {"name": self.method}
        if self.common.plugins:
            found["plugins"] = list(self.common.plugins)
        if self.search:
            found["search"] = dict(self.search)
        found["seed"] = self.seed
        written = {address: stage_mapping(bound, seed=address not in self.seeded) for address, bound in self.pipeline.stages()}
        for slot, about in SLOTS.items():
            stages = [text for address, text in written.items() if address.partition(".")[0] == slot]
            if stages:
                found[slot] = stages if about.many else stages[0]
        if self.common.specification is not None:
            found["evaluation"] = {"protocol": self.common.specification}
        return found


def stage_mapping(bound: Bound | Weighted, *, seed: bool) -> dict[str, Any]:
    """A stage as a script writes it, with all its parameters; its seed only on demand."""
    return {"use": bound.stage.name, **{k: v for k, v in bound.parameters.items() if seed or k != "seed"}}


class Settings:
    """All settings of a method that was checked: one for each choice of a value from every group of axes.

    Parameters
    ----------
    method : Method
    common : Common
    """

    def __init__(self, method: Method, common: Common):
        self.method, self.groups = method.name, method.groups
        self._seed, self.common, self._builder = method.seed, common, _Builder(method)
        placed = [(g, axis) for g, group in enumerate(self.groups) for axis in group]
        self._names = [axis.name for _, axis in placed]
        self._searches = [(g, axis) for g, axis in placed if axis.name.startswith("search.")]
        self._seeds = [(g, axis) for g, axis in placed if axis.name == "seed"]

    def __iter__(self) -> Iterator[Run]:
        """The runs in the order of the axes: the last axis varies fastest. There must be no continuous one."""
        return map(self.run, itertools.product(*(range(len(group[0].values)) for group in self.groups)))

    def run(self, choice: Sequence[float]) -> Run:
        """The run of one choice: for each group an index or, where its axis is continuous, the value."""
        seed = next((axis.at(choice[g]).value for g, axis in self._seeds), self._seed)
        values: dict[str, Any] = {"seed": seed}
        search = dict(self.common.search)
        for g, axis in self._searches:
            values[axis.name] = search[axis.name.removeprefix("search.")] = axis.at(choice[g]).value
        pipeline, seeded = self._builder.pipeline(tuple(choice), seed, values)
        axes = {name: values[name] for name in self._names}
        return Run(self.method, pipeline, search, self.common.protocols, seed, axes, self.common, seeded)


class _Builder:
    """Makes pipelines of a method; slots that several runs share are bound once."""

    def __init__(self, method: Method):
        self.method = method
        self.bounds: dict[str, Bound] = {}
        self.slots: dict[tuple[Any, ...], tuple[tuple[Bound, ...], dict[str, Any], tuple[int, ...]]] = {}
        self.pipelines: dict[tuple[Any, ...], tuple[Pipeline, tuple[str, ...]]] = {}
        # Per slot: the groups of axes that change it.
        self.relevant = {
            slot: [g for g, group in enumerate(method.groups) if any(axis.name.partition(".")[0] == slot for axis in group)]
            for slot in SLOTS
        }

    def pipeline(self, choice: tuple[float, ...], seed: int, values: dict[str, Any]) -> tuple[Pipeline, tuple[str, ...]]:
        """The pipeline of one choice of values, and the addresses that the seed was filled into; notes the axes' values in `values`."""
        chosen: dict[str, tuple[Bound, ...]] = {}
        seeded_indices: dict[str, tuple[int, ...]] = {}
        for slot, groups in self.relevant.items():
            key = (slot, seed, *(choice[g] for g in groups))
            if key not in self.slots:
                self.slots[key] = self._slot(slot, choice, seed)
            chosen[slot], shown, seeded_indices[slot] = self.slots[key]
            values.update(shown)
        key = (*((*map(id, bounds), seeded_indices[slot]) for slot, bounds in chosen.items()),)
        if key not in self.pipelines:
            stages = {slot: bounds if SLOTS[slot].many else (bounds or (None,))[0] for slot, bounds in chosen.items()}
            pipeline = Pipeline(**stages)
            addresses = iter([address for address, _ in pipeline.stages()])
            seeded = tuple(
                address
                for slot, bounds in chosen.items()
                for i, address in enumerate(itertools.islice(addresses, len(bounds)))
                if i in seeded_indices[slot]
            )
            self.pipelines[key] = pipeline, seeded
        return self.pipelines[key]

    def _slot(self, slot: str, choice: tuple[float, ...], seed: int) -> tuple[tuple[Bound, ...], dict[str, Any], tuple[int, ...]]:
        """Stages of a slot, the values of the axes that chose them, and the indices of those that the seed was filled into."""
        axes = [(axis, axis.at(choice[g])) for g in self.relevant[slot] for axis in self.method.groups[g]]
        specs: list[Spec] = list(self.method.slots.get(slot) or ())
        shown: dict[str, Any] = {}
        for axis, value in axes:
            if axis.name == slot:
                specs = list(value)
                shown[slot] = show(value)
        set_by: dict[str, tuple[int, str]] = {}
        for axis, value in axes:
            head, _, rest = axis.name.partition(".")
            if head == slot and rest:
                i, name = set_by[axis.name] = _checked(locate(slot, tuple(specs), rest))
                specs[i] = specs[i].having(name, parameter(specs[i].stage, name, value)[0])
        seeded = tuple(i for i, spec in enumerate(specs) if takes_seed(spec.stage, spec.parameters))
        bounds = tuple(self._bound(spec.having("seed", seed) if i in seeded else spec) for i, spec in enumerate(specs))
        shown.update({name: bounds[i].parameters[key] for name, (i, key) in set_by.items()})
        return bounds, shown, seeded

    def _bound(self, spec: Spec) -> Bound:
        bound = Bound(spec.stage.function, spec.parameters)
        return self.bounds.setdefault(f"{bound.stage.slot}.{bound!r}", bound)


def _checked(found: tuple[int, str] | str) -> tuple[int, str]:
    if isinstance(found, str):
        raise TypeError(found)  # an axis that was not checked: a bug here
    return found


def show(specs: tuple[Spec, ...]) -> str:
    """Stages in short, as an axis shows them: names and what differs from the defaults, ``box(size=21) > min_filter``."""
    return " > ".join(map(_show_one, specs)) or "none"


def _show_one(spec: Spec) -> str:
    defaults = Bound(spec.stage.function).parameters
    bound = Bound(spec.stage.function, spec.parameters)
    own = [f"{k}={_text(v)}" for k, v in bound.parameters.items() if _text(v) != _text(defaults[k])]
    return f"{spec.stage.name}({', '.join(own)})" if own else spec.stage.name


def _text(value: Any) -> str:
    """A value as one would write it: 20, not 20.0."""
    if isinstance(value, str):
        return value
    return shortest(value) if isinstance(value, float) else spelled(value)
