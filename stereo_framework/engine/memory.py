"""How much memory pipelines take, and how much is free: of the machine, and of the control group (container, batch job) around it."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import SearchRange
from stereo_framework.core.step import Step, step
from stereo_framework.core.view import View, Volumes
from stereo_framework.core.volume import CostVolume
from stereo_framework.engine.walk import State, Walk, strip_rows
from stereo_framework.kernels.control_groups import (
    CONTROL_GROUPS,
    PROCESSES,
    folders_around,
    groups_of_process,
    text_of,
)
from stereo_framework.scheme import tiles

_LARGE = 2**29
"""Cells of a volume from which tiles are faster than the whole: `sgm` takes half the time of 2900x1900 pixels and 280 levels."""

_TILES = (1024, 768, 512, 384, 256, 192, 128)
"""Sizes of tiles that are tried, pixels."""

_STRIP_VOLUMES = 3
"""Volumes of a strip, halos included, that local steps hold at a time; measured: 1.5 without aggregation, 2.4 with a box, 3.4
with three passes of a binomial filter.
"""


def peak_memory(
    pipelines: Sequence[Any],
    shape: tuple[int, ...],
    search: SearchRange,
    *,
    both: bool = False,
    keep_volume: bool = False,
) -> int:
    """About how many bytes of volumes there are at most while a walk computes some pipelines on a pair of this size.

    Parameters
    ----------
    pipelines : sequence of Pipeline
    shape : (rows, columns)
    search : SearchRange
    both, keep_volume : bool
        As of `Walk`.
    """
    walk = _Rehearsal(pipelines, shape, search, both=both, keep_volume=keep_volume)
    for _, found in walk:
        if isinstance(found, Exception):  # a plug-in's halo may raise anything
            raise found
    return walk.peak


def in_tiles(method: Any, shape: tuple[int, ...], search: SearchRange, most: float) -> Any:
    """The method in the largest tiles whose volumes take at most so many bytes; None where no tiles do, or where a stage cannot work on parts."""
    if any(one.stage.name != tiles.__name__ for one in method.in_slot("scheme")):
        return None
    try:
        tried = (method.having(scheme=step(tiles, tile_size=tile_size)) for tile_size in _TILES)
        return next((tiled for tiled in tried if peak_memory([tiled], shape, search) <= most), None)
    except ParameterError:  # a stage needs the scene itself
        return None


def refusal(
    method: Any,
    shape: tuple[int, ...],
    search: SearchRange,
    need: float,
    most: float,
    told: str = "allowed (--memory)",
) -> str:
    """Why a method that needs more bytes than it may take is not run, and the tiles that would do."""
    tiled = in_tiles(method, shape, search, most)
    hint = (
        f", or tiles: --set 'scheme=[{{use: tiles, tile_size: {tiled.in_slot('scheme')[0].parameters['tile_size']}}}]'"
        if tiled
        else ""
    )
    needed, allowed = (
        f"{count / 2**30:.1f} GiB" if count >= 2**29 else f"{count / 2**20:.3g} MiB"
        for count in (need, most)
    )
    return (
        f"{method.name} needs about {needed} for {shape[1]}x{shape[0]} pixels and {search.levels} levels; {allowed} are {told}; "
        f"use fewer levels or smaller images{hint}"
    )


def fitted(
    method: Any, shape: tuple[int, ...], search: SearchRange, most: float | None = None
) -> Any:
    """The method as it matches a pair best: whole or, where the pair is large or its volumes would not fit into memory, in tiles.

    Parameters
    ----------
    method : Pipeline
    shape : (rows, columns)
    search : SearchRange
    most : float, optional
        Bytes that volumes may take. Default: four fifths of what is free.

    Raises
    ------
    StereoFrameworkError
        Neither the whole nor any tiles fit.
    """
    need, most = peak_memory([method], shape, search), 0.8 * free_memory() if most is None else most
    if need <= most and math.prod(shape) * search.levels < _LARGE:
        return method
    tiled = in_tiles(method, shape, search, most)
    if tiled is None and need > most:
        raise StereoFrameworkError(refusal(method, shape, search, need, most))
    return tiled or method


def of_large_pair(method: Any, shape: tuple[int, ...], search: SearchRange) -> Any:
    """The method as it matches a pair of this size on any machine: in `tiles` if it holds whole volumes of 2^29 cells or more, else as it is."""
    cells = math.prod(shape) * search.levels
    if (
        cells < _LARGE
        or method.in_slot("scheme")
        or peak_memory([method], shape, search) < 4 * cells
    ):
        return method
    return in_tiles(method, shape, search, math.inf) or method


class _Rehearsal(Walk):
    """A walk in which nothing is computed: each volume is a single cell, and they are counted."""

    def __init__(
        self, pipelines: Sequence[Any], shape: tuple[int, ...], search: SearchRange, **options: Any
    ):
        super().__init__(
            pipelines,
            Pair(np.zeros((1, 1), np.uint8), np.zeros((1, 1), np.uint8), SearchRange(0, 1)),
            **options,
        )
        self.shape, self.search, self.peak = shape, search, 0

    def _match(self, pipeline: Any, view: View) -> Any:
        return view

    def _run(self, group: Sequence[State], view: View, other: View | None) -> View:
        steps = [done[-1] for done, _ in group]
        rows, levels = self.shape[0], self.search.levels
        volume, height = (
            4 * math.prod(self.shape) * levels,
            strip_rows(steps, rows, self.shape[1], levels),
        )
        held = _volumes([*self.views.values(), view, other])
        for one in steps:
            view = replace(view, volumes=self._volumes_after(one, view.volumes))
        view = view.keeping(self.needs[group[-1]])
        if len(steps) > 1 or height < rows:
            at_once = min(rows, height + 2 * sum(one.halo or 0 for one in steps))
            working = _STRIP_VOLUMES * volume * at_once // rows + volume * _volumes([view]) * (
                at_once < rows
            )
        else:
            working = self._working(group[0], volume)
        self.peak = max(self.peak, volume * held + working)
        return view

    def _volumes_after(self, step: Step, volumes: Volumes) -> Volumes:
        """Return the volumes after a step, of which each new one is a single cell."""
        new = CostVolume(np.zeros((1, 1, 1), np.float32), self.search, 0.0)
        slot = step.stage.slot
        if slot == "matching_cost":
            return replace(volumes, current=new, raw=new)
        is_copied = volumes.is_shared or volumes.raw is volumes.current
        if slot == "aggregation" or (slot == "restore_outside_cost" and is_copied):
            return replace(volumes, current=new)
        return volumes

    def _working(self, state: State, volume: int) -> int:
        """Bytes of volumes that a step that sees the whole holds while it works, its result included."""
        one, shape = state[0][-1], self.shape
        slot, told = one.stage.slot, one.stage.memory
        if slot == "auxiliary":
            return peak_memory(
                [method for _, method in one.inner],
                shape,
                self.search,
                both="both" in self.needs[state],
            )
        if slot == "scheme":
            return peak_memory(
                one.inner,
                told(shape, self.search, **one.parameters) if callable(told) else shape,
                self.search,
            )
        if (
            slot == "matching_cost" and one.halo is not None
        ):  # a sum has one more beside that which it makes
            return volume * (1 + bool(one.inner))
        # Measured: 2 of diffusion, 4 of Bayesian diffusion, up to 1 of graph cuts and simulated annealing.
        usual = 4 if slot == "aggregation" else 2
        return volume * (told if isinstance(told, int) else usual) * one.touches_volume


def _volumes(views: Sequence[Any]) -> int:
    """How many volumes some views hold."""
    volume_ids: set[int] = set()
    for view in views:
        if isinstance(view, View):
            volume_ids.update(id(volume) for volume in view.volumes.by_name().values())
    return len(volume_ids)


def free_memory(proc: Path = PROCESSES, groups: Path = CONTROL_GROUPS) -> float:
    """Return the bytes that new processes and arrays may take; infinite if the system does not tell.

    Parameters
    ----------
    proc, groups : Path
        Folders in which Linux shows processes and control groups.
    """
    limits = [1024 * amount for amount in _amounts(proc / "meminfo", "MemAvailable:")]
    for controllers, path in groups_of_process(proc):
        if controllers == "":
            limits += _free_in_groups(
                folders_around(groups, path), "memory.max", "memory.current", "inactive_file"
            )
        elif controllers == "memory":
            folders = folders_around(groups / controllers, path)
            limits += _free_in_groups(
                folders, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            )
    return min(limits, default=math.inf)


def _free_in_groups(folders: Iterable[Path], limit: str, used: str, pages: str) -> Iterator[int]:
    """Yield the bytes that are free in each control group with a limit.

    Parameters
    ----------
    folders : iterable of Path
        Folders of the control groups.
    limit, used : str
        Names of the files with the limit and with the used bytes.
    pages : str
        Name of the number of inactive file pages in ``memory.stat``.
    """
    for folder in folders:
        texts = [text_of(folder / name).strip() for name in (limit, used)]
        if all(text.isdecimal() for text in texts):
            # The system gives up file pages when a program asks for memory.
            reclaimable = sum(_amounts(folder / "memory.stat", pages))
            yield max(0, int(texts[0]) - int(texts[1]) + reclaimable)


def _amounts(path: Path, name: str) -> list[int]:
    """Return the numbers after a name in a file with lines of names and numbers."""
    return [
        int(line.split()[1]) for line in text_of(path).splitlines() if line.split()[:1] == [name]
    ]
