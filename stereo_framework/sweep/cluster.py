"""Workers of a Dask cluster that compute the units of a sweep.

They tell of every run as soon as it is through: as an event, which costs next to nothing and of which the scheduler keeps the last thousand, or
with its map through a queue, of which it keeps nothing. The arrays of a scene go to each worker once.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import pickle
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any

from stereo_framework.core.errors import DataError, MissingExtraError, brings
from stereo_framework.core.scene import Scene
from stereo_framework.kernels import compiling
from stereo_framework.sweep.executors import Found, Options, Team, WorkerLost, WorkersGone
from stereo_framework.sweep.plan import Unit
from stereo_framework.sweep.scenes import Sending, SentScene
from stereo_framework.sweep.work import Outcome, pack, work

_CONNECTING = 3.5
"""Seconds in which a scheduler must have answered."""

_PATIENCE = 60.0
"""Seconds in which what a finished unit told must have come; it lies on the scheduler."""


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


class ClusterTeam(Team):
    """Workers of the Dask cluster at an address; the client is the caller's to close."""

    def __init__(self, options: Options, address: str, client: Any):
        from distributed import Queue

        self.options, self.address, self.client, self.sending = options, address, client, Sending(options.data)
        self.name = f"stereo-framework-{uuid.uuid4().hex}"
        self.pool = ThreadPoolExecutor(options.workers + options.ahead, thread_name_prefix="cluster")
        self.numbers, self.sheets = itertools.count(), dict[int, _Sheet]()
        # The last scene, where its arrays were sent.
        self.scattered: tuple[Scene, Any] | None = None
        self.closed = False
        client.subscribe_topic(self.name, lambda event: self._note(event[1]))
        if options.keep:
            self.queue = Queue(self.name, client=client)
            threading.Thread(target=self._read, daemon=True).start()

    def submit(self, unit: Unit, emit: Callable[[Found], None]) -> Future[list[Found]]:
        """Hand a unit out."""
        sheet = _Sheet([position for position, _ in unit.tasks], emit)
        return self.pool.submit(
            self._compute, next(self.numbers), sheet, *pack(unit, self.options.keep, self.options.parts), self._sent(unit.scene)
        )

    def _sent(self, scene: Scene) -> Any:
        """A scene for the workers: a small name, or arrays that lie on each of them already."""
        sent = self.sending(scene)
        if sent.pickled is None:
            return sent
        if self.scattered is None or self.scattered[0] is not scene:
            with self._told():
                self.scattered = scene, self.client.scatter(sent, broadcast=True, hash=False)
        return self.scattered[1]

    def _compute(self, number: int, sheet: _Sheet, plugins: tuple[str, ...], packed: bytes, sent: Any) -> list[Found]:
        self.sheets[number] = sheet
        try:
            with self._told():
                count = self.client.submit(_work, self.name, number, plugins, packed, sent, pure=False).result()
                if not sheet.wait(count, _PATIENCE):
                    raise WorkerLost
        finally:
            del self.sheets[number]
        return []

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Tell a lost worker and a scheduler that is gone from what a stage raised."""
        try:
            yield
        except Exception as error:
            if self.client.status != "running":
                raise WorkersGone(
                    f"--dask {self.address}: the scheduler is gone; results so far are kept, and the same command continues"
                ) from error
            if isinstance(error, CancelledError) or type(error).__name__ == "KilledWorker":
                # With its last holder the scene is lost as well.
                self.scattered = None
                raise WorkerLost from error
            raise

    def _read(self) -> None:
        """Take in what lies in the queue, until the end."""
        while not self.closed:
            try:
                messages = [self.queue.get(timeout=1), *self.queue.get(batch=True)]
            except TimeoutError:
                continue
            except Exception:  # without a scheduler the units end by themselves
                return
            for message in messages:
                self._note(message)

    def _note(self, message: bytes) -> None:
        number, index, outcome = pickle.loads(message)
        if index is None:
            compiling.announce_compiling(outcome)
        elif (sheet := self.sheets.get(number)) is not None:
            sheet.note(index, outcome)

    def close(self, *, stop: bool) -> None:
        """Let the cluster go; with `stop` what it has begun comes to nothing."""
        self.closed = True
        self.pool.shutdown(wait=not stop, cancel_futures=True)
        if self.client.status == "running":
            self.client.unsubscribe_topic(self.name)


class _Sheet:
    """What has come of the tasks of a unit."""

    def __init__(self, positions: Sequence[int], emit: Callable[[Found], None]):
        self.positions, self.emit = positions, emit
        self.came, self.changed = set[int](), threading.Condition()

    def note(self, index: int, outcome: Any) -> None:
        """Take in what came of a task."""
        self.emit((self.positions[index], outcome))
        with self.changed:
            self.came.add(index)
            self.changed.notify_all()

    def wait(self, count: int, seconds: float) -> bool:
        """Wait until so many have come; False if they do not."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.came) >= count, seconds)


def _work(name: str, number: int, plugins: tuple[str, ...], packed: bytes, sent: SentScene) -> int:
    """Compute a unit on a worker of the cluster, and return how many tasks were told of."""
    from distributed import Queue, get_client, get_worker

    @functools.cache
    def queue() -> Any:
        return Queue(name, client=get_client())

    def say(index: int | None, outcome: Outcome | str) -> None:
        message = pickle.dumps((number, index, outcome))
        if isinstance(outcome, Outcome) and outcome.disparity is not None:
            queue().put(message)
        else:
            get_worker().log_event(name, message)

    count = 0
    with compiling.compiling_announced_to(lambda name: say(None, name)):
        for index, outcome in work(plugins, packed, sent):
            say(index, outcome)
            count += 1
    return count
