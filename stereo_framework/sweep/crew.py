"""Who computes the runs of a sweep or a search, and within what memory."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.engine.memory import free_memory
from stereo_framework.kernels.threads import available_cores
from stereo_framework.sweep import cluster, processes
from stereo_framework.sweep.executors import ExecutorTeam, Options, Team, ThreadTeam, pooled, serial
from stereo_framework.sweep.plan import Task, units
from stereo_framework.sweep.work import Outcome

EXECUTORS = ("thread", "process")

_SHARE_OF_FREE = 0.8
"""How much of the free memory a sweep may take unless told otherwise."""


class Crew:
    """Workers that stay for one batch of runs after the other. A context manager; nobody is called before there is work.

    Parameters
    ----------
    options : Options
        Of all batches. 0 workers are as many as there are cores, or as the cluster or executor has; no limit of memory is most of what is free.
    executor : {"thread", "process"} or concurrent.futures.Executor
    dask : str, optional
        Address of a Dask scheduler, whose workers compute instead.

    Raises
    ------
    ParameterError
        Another executor, or no memory.
    """

    def __init__(self, options: Options, executor: Literal["thread", "process"] | Executor = "thread", dask: str | None = None):
        if isinstance(executor, str) and executor not in EXECUTORS:
            raise ParameterError(f"executor: no such executor {executor!r}; {nearest(executor, EXECUTORS)}")
        if options.memory is not None and options.memory <= 0:
            raise ParameterError(f"memory: {options.memory} bytes is nothing")
        self.options, self._executor, self._dask = options, executor, dask
        self._team: Team | None = None
        self._client: Any = None

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._team is not None:
            self._team.close(stop=False)
        if self._client is not None:
            self._client.close()

    def compute(self, todo: Sequence[tuple[int, Task]]) -> Generator[tuple[int, Outcome]]:
        """What came of tasks, each with its number, as it is there; closed early, the workers are stopped in the middle of their work."""
        if not todo:
            return
        if self.options.watch:
            self.options.watch(f"{len(todo)} runs")
        options = self._engaged()
        coming = units(todo, options.workers)
        if self._dask is None and self._executor == "thread":
            first = list(itertools.islice(coming, 2))
            alone = len(first) == 1
            # Computed units are let go of.
            coming = itertools.chain((first.pop(0) for _ in range(len(first))), coming)
            if options.workers == 1 or alone:
                yield from serial(coming, options)
                return
        self._team = self._team or self._made(options)
        finished = False
        try:
            yield from pooled(coming, self._team, options)
            finished = True
        finally:
            if not finished:
                team, self._team = self._team, None
                team.close(stop=True)

    def _engaged(self) -> Options:
        """The options of the next batch, with the number of workers and what memory there is now."""
        if self._dask is not None:
            self._client = self._client or cluster.dask_client(self._dask)
            machines = self._client.scheduler_info(n_workers=-1)["workers"].values()
            limit = min((w["memory_limit"] // w["nthreads"] for w in machines if w["memory_limit"]), default=0)
            workers = self.options.workers or sum(w["nthreads"] for w in machines)
            # Each worker has memory of its own, and computes a unit at a time however many it was handed out.
            each, ahead = self.options.memory or int(limit * _SHARE_OF_FREE) or None, 0 if self.options.workers else workers
            return replace(self.options, workers=workers, memory=each, together=False, ahead=ahead)
        most = getattr(self._executor, "_max_workers", None) if isinstance(self._executor, Executor) else None
        options = replace(self.options, workers=self.options.workers or most or available_cores())
        if options.memory is None and (free := free_memory()) is not None:
            others = processes.PROCESS_BYTES * options.workers if self._executor == "process" else 0
            options = replace(options, memory=max(0, int(_SHARE_OF_FREE * free) - others))
        return options

    def _made(self, options: Options) -> Team:
        if self._dask is not None:
            return cluster.ClusterTeam(options, self._dask, self._client)
        if isinstance(self._executor, Executor):
            threads = isinstance(self._executor, ThreadPoolExecutor)
            return ThreadTeam(options, self._executor) if threads else ExecutorTeam(options, self._executor)
        return processes.ProcessTeam(options) if self._executor == "process" else ThreadTeam(options)
