"""Pipeline: stages in order, one scene in, one Match out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from stereo_framework import aggregation as _aggregation  # noqa: F401  importing a family registers its stages
from stereo_framework import matching_cost as _matching_cost  # noqa: F401
from stereo_framework import optimization as _optimization  # noqa: F401
from stereo_framework import preprocessing as _preprocessing  # noqa: F401
from stereo_framework import refinement as _refinement  # noqa: F401
from stereo_framework import smoothness as _smoothness  # noqa: F401
from stereo_framework._memory import free_memory, holds_volume, peak_memory
from stereo_framework._tree import Tree
from stereo_framework.errors import DataError, ParameterError, StereoFrameworkError
from stereo_framework.match import Match
from stereo_framework.scene import Scene, Search
from stereo_framework.stage import SLOTS, Bound

__all__ = ["Match", "Pipeline"]


@dataclass(frozen=True)
class Pipeline:
    """A stereo method: bound stages by slot.

    Parameters
    ----------
    matching_cost, optimization : Bound
        A registered stage function stands for itself with its defaults, here and below.
    preprocessing, aggregation, refinement : iterable of Bound
    smoothness : Bound or None

    Raises
    ------
    ParameterError
        A stage stands in a slot that is not its own.

    Examples
    --------
    >>> from stereo_framework import Bound, Pipeline, load_scene
    >>> from stereo_framework.aggregation import box
    >>> from stereo_framework.matching_cost import absolute_difference
    >>> from stereo_framework.optimization import winner_take_all
    >>> method = Pipeline(absolute_difference, winner_take_all, aggregation=[Bound(box, {"size": 9})])
    >>> method(load_scene("synthetic/planes")).disparity.shape
    (240, 320)
    """

    matching_cost: Bound
    optimization: Bound
    preprocessing: tuple[Bound, ...] = ()
    aggregation: tuple[Bound, ...] = ()
    smoothness: Bound | None = None
    refinement: tuple[Bound, ...] = ()

    def __post_init__(self) -> None:
        for name, slot in SLOTS.items():
            value = getattr(self, name)
            if slot.many:
                single = isinstance(value, Bound) or callable(value)
                checked: Any = tuple(_as_bound(v, name) for v in ([value] if single else value or ()))
            else:
                checked = None if value is None and slot.optional else _as_bound(value, name)
            object.__setattr__(self, name, checked)

    def __str__(self) -> str:
        return " > ".join(str(b) for _, b in self.stages())

    def stages(self) -> tuple[tuple[str, Bound], ...]:
        """(address, stage) in running order; addresses as in scripts, ``aggregation.box``, by index where a name repeats."""
        found: list[tuple[str, Bound]] = []
        for name, slot in SLOTS.items():
            value = getattr(self, name)
            if not slot.many:
                found += [(name, value)] if value is not None else []
                continue
            names = [b.stage.name for b in value]
            found += [(f"{name}.{b.stage.name if names.count(b.stage.name) == 1 else i}", b) for i, b in enumerate(value)]
        return tuple(found)

    def __call__(self, scene: Scene, search: Search | None = None, *, keep_volume: bool = False) -> Match:
        """Match the scene's frame pair.

        Parameters
        ----------
        scene : Scene
        search : Search, optional
            Instead of the scene's own; its direction is taken from the scene.
        keep_volume : bool
            Keep the optimizer's volume in the result. It then exists whole.

        Returns
        -------
        Match

        Raises
        ------
        DataError
            The scene has no search range, its images differ in size or are missing.
        StereoFrameworkError
            A stage refuses its input, or the volume would not fit into memory.
        """
        search = search or scene.search
        if search is None:
            raise DataError(f"scene {scene.name}: no search range; give one (search: {{minimum, maximum}} or --disparities A:B)")
        tree = Tree([self], keep_volume=keep_volume)
        self._check_memory(tree, scene, search)
        [(_, outcome)] = tree.walk(scene, replace(search, direction=scene.direction))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _check_memory(self, tree: Tree, scene: Scene, search: Search) -> None:
        """Refuse a volume that cannot fit."""
        if not holds_volume(tree.root):
            return
        rows, columns = scene.reference.shape[:2]
        free, need = free_memory(), peak_memory(tree.root, (rows, columns), search.levels)
        if free is not None and need > free:
            raise StereoFrameworkError(
                f"{self.optimization.stage.name} needs about {need / 2**30:.1f} GiB for {columns}x{rows} pixels and "
                f"{search.levels} levels; {free / 2**30:.1f} GiB are free; use fewer levels or smaller images"
            )


def _as_bound(value: Any, slot: str) -> Bound:
    bound = value if isinstance(value, Bound) else Bound(value)
    if bound.stage.slot != slot:
        raise ParameterError(f"{slot}: {bound.stage.name} is a stage of {bound.stage.slot}")
    return bound
