"""How much memory pipelines take, and how much is free: of the machine, and of the control group (container, batch job) around it."""

from __future__ import annotations

import os
from pathlib import Path

from stereo_framework.engine.links import BOTH
from stereo_framework.engine.slabs import groups, slab_rows
from stereo_framework.engine.steps import Step
from stereo_framework.engine.tree import Node, Tree
from stereo_framework.scene import Search

_WORKING_VOLUMES = {"aggregation": 4}
"""Further volumes that a stage of a slot that sees the whole holds while it works, its result included, unless it declares them; else 2.

Measured: 2 of diffusion, 4 of Bayesian diffusion, up to 1 of graph cuts and simulated annealing.
"""

_SLAB_VOLUMES = 3
"""Volumes of a slab, halos included, that a chain of local steps holds at a time; measured: 1.5 without aggregation, 2.4 with a box, 3.4
with three passes of a binomial filter.
"""


def peak_memory(
    node: Node,
    shape: tuple[int, ...],
    levels: int,
    held: int = 0,
    own: int = 0,
    *,
    search: Search | None = None,
    whole: int | None = None,
) -> int:
    """About how many bytes of volumes there are at most while a node's descendants are computed.

    Parameters
    ----------
    node : Node
    shape : (rows, columns)
    levels : int
    held : int
        Bytes that are there besides.
    own : int
        Bytes of the node's own state, which its last descendant takes over.
    search : Search, optional
        The disparities of the levels, by which schemes widen parts of a pair; default: those from 0 on.
    whole : int, optional
        Where `levels` is what compact volumes hold, how many there are in all, for alternatives that are not compact; default: `levels`.
    """
    volume = 4 * shape[0] * shape[1] * levels
    peak, nodes = held + own, list(node.lines())
    for child in nodes:
        chain, keep = child.chain()
        kept = own if child is not nodes[-1] else 0
        # What is continued stays until the continuation is there.
        there = own + (volume if child.more else 0)
        for steps, in_slabs, outlive in groups([one.step for one in chain], keep):
            after = volume * len(outlive[-1])
            if in_slabs:
                rows = min(shape[0], slab_rows(shape[0], shape[1], levels, steps) + 2 * sum(step.halo or 0 for step in steps))
                # Costs that are made at once are all that there is; a sum of costs has one more beside them.
                at_once = (
                    1 + (steps[0].bound is None) if len(steps) == 1 and steps[0].link.slot == "matching_cost" else _SLAB_VOLUMES
                )
                working = at_once * volume * rows // shape[0] + (after if rows < shape[0] else 0)
            else:
                working = _working(steps[0], shape, levels, search, whole)
            # What a stage that takes no integer costs is given stands beside what it was made from.
            working += volume if any(step.converts for step in steps) else 0
            peak = max(peak, held + there + working)
            there = kept + after
        below = (held + there, 0) if child.next else (held + kept, there - kept)
        peak = max(peak, peak_memory(chain[-1], shape, levels, *below, search=search, whole=whole))
    return peak


def _working(step: Step, shape: tuple[int, ...], levels: int, search: Search | None = None, whole: int | None = None) -> int:
    """Bytes of volumes that a step that sees the whole holds while it works."""
    whole = whole or levels
    if step.link.slot == "alternatives":
        methods = [method for _, method in step.link.work]
        levels = levels if all(method.compact for method in methods) else whole
        return peak_memory(Tree(methods, both=step.view == BOTH).root, shape, levels, search=search, whole=whole)
    if step.link.slot == "scheme":
        scheme, method = step.link.work
        if scheme.stage.largest is not None:
            shape = scheme.stage.largest(shape, search or Search(0, max(levels - 1, 1)), **scheme.parameters)
        if scheme.stage.widest is not None and method.compact:
            levels = scheme.stage.widest(levels, **scheme.parameters)
        return peak_memory(Tree([method]).root, shape, levels, search=search, whole=whole)
    if not step.link.touches_volume:
        return 0
    declared = step.bound.stage.volumes if step.bound else None
    return (_WORKING_VOLUMES.get(step.link.slot, 2) if declared is None else declared) * 4 * shape[0] * shape[1] * levels


def holds_volume(node: Node) -> bool:
    """Whether some volume exists whole while a node's descendants are computed."""
    for child in node.lines():
        chain, keep = child.chain()
        found = groups([one.step for one in chain], keep)
        if keep or any(not in_slabs and _may_hold(steps[0]) for steps, in_slabs, _ in found) or holds_volume(chain[-1]):
            return True
    return False


def _may_hold(step: Step) -> bool:
    return step.link.touches_volume or _working(step, (1, 1), 1) > 0


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
