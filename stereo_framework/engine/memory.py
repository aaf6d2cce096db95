"""How much memory pipelines take, and how much is free: of the machine, and of the control group (container, batch job) around it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import Search
from stereo_framework.core.view import View
from stereo_framework.core.volume import CostVolume
from stereo_framework.engine.step import EXCHANGE, Step
from stereo_framework.engine.step import step as made
from stereo_framework.engine.strips import strip_rows
from stereo_framework.engine.tasks import Task
from stereo_framework.engine.walk import Walk
from stereo_framework.scheme import tiles

_WORKING_VOLUMES = {"aggregation": 4}
"""Further volumes that a stage of a slot that sees the whole holds while it works, its result included, unless it declares them; else 2.

Measured: 2 of diffusion, 4 of Bayesian diffusion, up to 1 of graph cuts and simulated annealing.
"""

_STRIP_VOLUMES = 3
"""Volumes of a strip, halos included, that local steps hold at a time; measured: 1.5 without aggregation, 2.4 with a box, 3.4
with three passes of a binomial filter.
"""


def peak_memory(
    pipelines: Sequence[Any],
    shape: tuple[int, ...],
    levels: int,
    *,
    search: Search | None = None,
    both: bool = False,
    keep_volume: bool = False,
) -> int:
    """About how many bytes of volumes there are at most while a walk computes some pipelines.

    Parameters
    ----------
    pipelines : sequence of Pipeline
    shape : (rows, columns)
    levels : int
    search : Search, optional
        The disparities of the levels, by which schemes widen parts of a pair; default: those from 0 on.
    both, keep_volume : bool
        As of `Walk`.
    """
    walk = _Rehearsal(pipelines, _NOTHING, both=both, keep_volume=keep_volume)
    walk.shape, walk.levels = shape, levels
    walk.search = search or Search(0, max(levels - 1, 1))
    for _, found in walk:
        if isinstance(found, Exception):  # a plug-in's halo may raise anything
            raise found
    return walk.peak


def in_tiles(method: Any, shape: tuple[int, int], search: Search, most: float) -> Any:
    """The method in the largest tiles whose volumes take at most so many bytes; None where no tiles do, or where a stage cannot work on parts.

    Parameters
    ----------
    method : Pipeline
    shape : (rows, columns)
    search : Search
    most : float
    """
    if any(step.stage.name != tiles.__name__ for step in method.in_slot("scheme")):
        return None
    for size in _TILES:
        try:
            tiled = method.having(scheme=made(tiles, size=size))
        except ParameterError:  # a stage needs the scene itself
            return None
        if peak_memory([tiled], shape, search.levels, search=search) <= most:
            return tiled
    return None


def fitted(method: Any, pair: Pair, most: float | None = None) -> Any:
    """The method as it matches a pair best: whole or, where the pair is large or its volumes would not fit into memory, in tiles.

    Parameters
    ----------
    method : Pipeline
    pair : Pair
    most : float, optional
        Bytes that volumes may take. Default: four fifths of what is free.

    Raises
    ------
    StereoFrameworkError
        Neither the whole nor any tiles fit.
    """
    if most is None:
        free = free_memory()
        most = math.inf if free is None else 0.8 * free
    need = peak_memory([method], pair.shape, pair.search.levels, search=pair.search)
    if need <= most and math.prod((*pair.shape, pair.search.levels)) < _LARGE:
        return method
    tiled = in_tiles(method, pair.shape, pair.search, most)
    if tiled is None and need > most:
        (rows, columns), levels = pair.shape, pair.search.levels
        raise StereoFrameworkError(
            f"{method.name} needs about {need / 2**30:.1f} GiB for {columns}x{rows} pixels and {levels} levels; {most / 2**30:.1f} GiB are "
            "allowed, and no tiles of it take less; use fewer levels or smaller images"
        )
    return tiled or method


def of_large_pair(method: Any, shape: tuple[int, int], search: Search) -> Any:
    """The method as it matches a pair of this size on any machine: in `tiles` if it holds whole volumes of 2^29 cells or more, else as it is.

    Parameters
    ----------
    method : Pipeline
    shape : (rows, columns)
    search : Search
    """
    cells = math.prod((*shape, search.levels))
    if cells < _LARGE or method.in_slot("scheme") or peak_memory([method], shape, search.levels, search=search) < 4 * cells:
        return method
    return in_tiles(method, shape, search, math.inf) or method


_LARGE = 2**29
"""Cells of a volume from which tiles are faster than the whole: `sgm` takes half the time of 2900x1900 pixels and 280 levels."""

_TILES = (1024, 768, 512, 384, 256, 192, 128)
"""Sizes of tiles that are tried, pixels."""


_NOTHING = Pair(np.zeros((1, 1), np.uint8), np.zeros((1, 1), np.uint8), Search(0, 1))


class _Rehearsal(Walk):
    """A walk in which nothing is computed: each volume is a single cell, and they are counted."""

    shape: tuple[int, ...]
    levels: int
    search: Search
    peak = 0

    @property
    def volume(self) -> int:
        """Bytes of a volume."""
        return 4 * self.shape[0] * self.shape[1] * self.levels

    def _match(self, index: int, leaf: Task) -> Any:
        return leaf.take()

    def _run(self, group: Sequence[Task], view: View, other: View | None) -> View:
        if group[0].step is EXCHANGE:
            return view.exchanged()
        steps = [task.step for task in group if len(group) == 1 or task.step.stage.slot != "smoothness"]
        (rows, columns), before = self.shape, [view, *([other] if other else [])]
        height = strip_rows(steps, rows, columns, self.levels)
        at_once = min(rows, height + 2 * sum(step.halo or 0 for step in steps))
        for step in steps:
            view = _after(step, view)
        view = view.keeping(group[-1].needs)
        if len(steps) > 1 or height < rows:
            working = _STRIP_VOLUMES * self.volume * at_once // rows + self.volume * len(_volumes([view])) * (at_once < rows)
        else:
            working = self._working(group[0])
        states = [task.state for task in self.tasks if isinstance(task.state, View)]
        self.peak = max(self.peak, self.volume * len(_volumes([*states, *before])) + working)
        return view

    def _working(self, task: Task) -> int:
        """Bytes of volumes that a step that sees the whole holds while it works."""
        step, shape, slot = task.step, self.shape, task.step.stage.slot
        if slot == "alternatives":
            methods = [method for _, method in step.inner]
            return peak_memory(methods, shape, self.levels, search=self.search, both="both" in task.needs)
        if slot == "scheme":
            if step.stage.largest is not None:
                shape = step.stage.largest(shape, self.search, **step.parameters)
            return peak_memory(step.inner, shape, self.levels, search=self.search)
        if (
            slot == "matching_cost" and step.halo is not None
        ):  # made at once they are all that there is; a sum has one more beside them
            return self.volume * (1 + bool(step.inner))
        declared = step.stage.volumes
        return self.volume * (_WORKING_VOLUMES.get(slot, 2) if declared is None else declared) * step.touches_volume


def _after(step: Step, view: View) -> View:
    """The view with the volumes that are new after a step."""
    new = CostVolume(np.zeros((1, 1, 1), np.float32), _NOTHING.search, 0.0)
    if step.stage.slot == "matching_cost":
        return replace(view, volumes={"volume": new, "raw": new}, shared=False)
    copied = step.stage.slot == "restore_outside" and (view.shared or view.volumes.get("raw") is view.volumes.get("volume"))
    if step.stage.slot == "aggregation" or copied:
        return replace(view, volumes={**view.volumes, "volume": new}, shared=False)
    return view


def _volumes(views: Sequence[View]) -> set[int]:
    """The volumes of some views, by identity."""
    return {id(volume) for view in views for volume in view.volumes.values()}


def free_memory(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that new processes and arrays may take; None where the system does not tell.

    Parameters
    ----------
    proc, groups : Path
        Where Linux shows processes and control groups.
    """
    return min((free for free in (_of_machine(proc), _of_group(proc, groups)) if free is not None), default=None)


def _of_machine(proc: Path) -> int | None:
    for line in _read(proc / "meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not everywhere known
        return None


def _of_group(proc: Path, groups: Path) -> int | None:
    """The tightest of the limits on the process's group and those around it, less what the group holds."""
    found = []
    for line in _read(proc / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root = groups / controllers
        names = ("memory.max", "memory.current") if not controllers else ("memory.limit_in_bytes", "memory.usage_in_bytes")
        group = root / path.lstrip("/")
        # In a container the group's own path is not shown, only the root.
        for folder in dict.fromkeys([group, *(p for p in group.parents if p.is_relative_to(root)), root]):
            limit, used = (_read(folder / name).strip() for name in names)
            if limit.isdecimal() and used.isdecimal():
                found.append(int(limit) - int(used) + _reclaimable(folder))
    return max(0, min(found)) if found else None


def _reclaimable(folder: Path) -> int:
    """File pages that the system gives up when memory is asked for."""
    values = dict(line.split()[:2] for line in _read(folder / "memory.stat").splitlines())
    return int(values.get("total_inactive_file", values.get("inactive_file", 0)))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
