"""Compute batches of tasks on a Dask cluster."""

import contextlib
import logging
import warnings
from collections.abc import Iterator
from concurrent import futures
from typing import Any

from stereo_framework.core.errors import (
    DataError,
    MissingExtraError,
    StereoFrameworkError,
    install_command,
    one_line,
    warn,
)
from stereo_framework.sweep.executors import OtherProcesses

_CONNECTION_TIMEOUT = 4
"""Maximum time to wait for the answer of a Dask scheduler, in seconds."""

_PATIENCE = 20
"""Time without any Dask worker after which a warning is issued, in seconds."""

_CONNECTED = ("running", "connecting")
"""States of a Dask client that is connected to its scheduler, or reconnects to it."""

_CANNOT_CONNECT = (OSError, ValueError)
"""Exceptions that Dask raises if no scheduler answers or if an address is not valid."""


class DaskCluster(OtherProcesses):
    """Workers of a Dask cluster.

    Parameters
    ----------
    pool : concurrent.futures.Executor
        Executor of a Dask client, such as ``Client(address).get_executor()``.
    """

    is_on_this_machine = False

    def __init__(self, pool: futures.Executor):
        super().__init__(pool)
        self._client: Any = client_of(pool)
        # A client that has lost its scheduler has no attribute `scheduler`.
        scheduler = getattr(self._client, "scheduler", None)
        self._address = getattr(scheduler, "address", "ADDRESS")
        self._seconds_without_worker = 0

    @property
    def workers(self) -> int:
        """The number of threads of all Dask workers."""
        return sum(self._client.nthreads().values())

    def has_lost(self, error: Exception) -> bool:
        """Return whether the exception of a future means that its worker died."""
        # Dask raises KilledWorker after several workers died with the same batch. The
        # code compares the name of the class, because the class cannot be imported if
        # Dask is not installed.
        return super().has_lost(error) or type(error).__name__ == "KilledWorker"

    def check_workers(self) -> None:
        """Warn once if the cluster has had no worker for some time."""
        if self._client.nthreads():
            self._seconds_without_worker = 0
            return
        self._seconds_without_worker += 1
        if self._seconds_without_worker == _PATIENCE:
            message = (
                f"--dask {self._address}: the cluster has had no worker for {_PATIENCE} seconds; "
                "the sweep continues when a worker connects; start a worker with: "
                f"dask worker {self._address}"
            )
            warn([message])

    def is_gone(self) -> bool:
        """Return whether the client has lost its scheduler."""
        return self._client.status not in _CONNECTED

    def gone_error(self) -> StereoFrameworkError:
        """Return the error that reports a lost connection to the scheduler."""
        message = (
            f"--dask {self._address}: the connection to the Dask scheduler was lost during the "
            "run; the scheduler must run until all results are computed; stored results are kept; "
            "start the scheduler again, and run the same command to continue"
        )
        return StereoFrameworkError(message)


def client_of(pool: futures.Executor | None) -> Any:
    """Return the client of a Dask executor, or None for any other executor."""
    # Only the executor of a Dask client has the attribute `_client`.
    return getattr(pool, "_client", None)


@contextlib.contextmanager
def dask_executor(address: str) -> Iterator[futures.Executor]:
    """Connect to a Dask cluster for a ``with`` block, and yield its executor.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``"tcp://localhost:8786"``.

    Raises
    ------
    MissingExtraError
        The package dask.distributed is not installed.
    DataError
        No scheduler answers at the address, or the scheduler has no workers.
    """
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        message = f"--dask needs dask.distributed: {install_command('cluster')}"
        raise MissingExtraError(message) from None
    _silence_dask()
    try:
        # If a Client gets a wrong address, the Client prints messages when it ends.
        # Therefore the address is checked before the Client is made. Addresses that
        # begin with "inproc:" are not checked, because they have neither host nor port.
        if not address.startswith("inproc:"):
            get_address_host_port(address)
        client = Client(address, timeout=_CONNECTION_TIMEOUT, set_as_default=False)
    except _CANNOT_CONNECT as error:
        raise _no_scheduler_error(address, error) from error

    with contextlib.closing(client):
        try:
            has_workers = bool(client.nthreads())
        except _CANNOT_CONNECT as error:
            raise _no_scheduler_error(address, error) from error
        if not has_workers:
            message = (
                f"--dask {address}: the scheduler has no workers; expected at least one; start a "
                f"worker with: dask worker {address}"
            )
            raise DataError(message)
        yield client.get_executor(pure=False)


def _silence_dask() -> None:
    """Switch off the log messages of Dask, because this module reports all errors."""
    dask_loggers = [name for name in logging.root.manager.loggerDict if _is_of_dask(name)]
    for name in ("tornado.application", "asyncio", *dask_loggers):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", "Sending large graph")


def _is_of_dask(logger_name: str) -> bool:
    """Return whether a logger belongs to the package distributed."""
    return logger_name.startswith("distributed")


def _no_scheduler_error(address: str, error: Exception) -> DataError:
    """Return the error that reports an address at which no scheduler answers."""
    lines = str(error).splitlines()
    reason = one_line(lines[0]) if lines else type(error).__name__
    message = (
        f"--dask {address}: no Dask scheduler answers at this address: {reason}; expected the "
        "address that 'dask scheduler' prints, such as tcp://localhost:8786; start the scheduler, "
        "or correct the address"
    )
    return DataError(message)
