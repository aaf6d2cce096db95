"""Dask clusters as executors: how one is reached, how large it is, whether it is still there."""

from __future__ import annotations

import logging
import threading
import warnings
from concurrent.futures import Future
from typing import Any

from stereo_framework.core.errors import DataError, MissingExtraError, StereoFrameworkError, brings

_CONNECTING = 3.5
"""Seconds in which a scheduler must have answered."""


class SchedulerGone(StereoFrameworkError):
    """There will be no workers any more; no failure of the runs."""


def dask_client(address: str) -> Any:
    """Connect to a Dask scheduler.

    Raises
    ------
    MissingExtraError
        dask.distributed is not installed.
    DataError
        Nobody answers at the address, or no worker is there.
    """
    try:
        from distributed import Client
        from distributed.comm import get_address_host_port
    except ImportError:
        raise MissingExtraError(f"--dask needs dask.distributed: {brings('cluster')}") from None
    try:
        # A client that was half made complains, seconds later, that it cannot be closed.
        get_address_host_port(address)
    except ValueError as error:
        raise DataError(f"--dask {address}: is no address, such as tcp://scheduler:8786: {error}") from None
    _quiet()
    answer: Future[Any] = Future()

    def connect() -> None:
        try:
            answer.set_result(Client(address, timeout=_CONNECTING, set_as_default=False))
        except Exception as error:  # whatever comes of talking to somebody else's server
            answer.set_exception(error)

    # Dask itself waits for ever for a server that takes the call and says nothing.
    threading.Thread(target=connect, daemon=True).start()
    try:
        client = answer.result(_CONNECTING + 0.5)
    except Exception as error:
        said = (str(error) or "it says nothing").splitlines()[0]
        raise DataError(f"--dask {address}: no Dask scheduler answers there: {said}") from error
    if not client.scheduler_info(n_workers=-1)["workers"]:
        client.close()
        raise DataError(f"--dask {address}: the scheduler has no workers; start some with: dask worker {address}")
    return client


def _quiet() -> None:
    """Keep Dask's own messages from the user: what goes wrong is told in a line of ours."""
    for name in ("tornado.application", "asyncio", *(n for n in logging.root.manager.loggerDict if n.startswith("distributed"))):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", "Sending large graph")


def capacity(client: Any) -> tuple[int, int]:
    """Threads of all workers, and bytes of memory for the one with the fewest; 0 = no limit."""
    machines = client.scheduler_info(n_workers=-1)["workers"].values()
    limit = min((one["memory_limit"] // one["nthreads"] for one in machines if one["memory_limit"]), default=0)
    return sum(one["nthreads"] for one in machines), limit


def is_alive(client: Any) -> bool:
    """Whether there is a connection."""
    return client.status in ("running", "connecting")


def check_alive(client: Any) -> None:
    """Raise a `SchedulerGone` if the connection is lost."""
    if not is_alive(client):
        raise SchedulerGone("--dask: the scheduler is gone; results so far are kept, and the same command continues")
