"""Program that runs commands of stereo-framework, and counts the places they come to.

The program reads one request in each line of its input, as JSON. It runs the command in
a forked process, and prints the exit status. A fork saves the imports, which take most
of the time of a small sweep. The forked process begins with the function that is the
entry point of stereo-framework.

A request has the keys `arguments` (the words of the command line), `folder` (the folder
of `kill_plan`) and `output` (the file for everything that the command prints).
"""

import contextlib
import functools
import json
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, Self

import kill_plan

TIMED_OUT = "timed out"
"""Exit status of a command that did not end."""

_TIMEOUT = 180
_CHECK_SECONDS = 0.01
_PARTIAL_FILE_SUFFIX = ".stereo-framework-part"


def main() -> None:
    """Answer requests until the input ends."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        # Programs that run in the background may have to ignore some signals.
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # SIGQUIT would write the memory of the process to a file.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _import_everything()
    # A fork copies only one thread, so the locks of other threads would stay locked.
    assert threading.active_count() == 1
    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(_run(request)), flush=True)


def _import_everything() -> None:
    """Import the modules, and load the compiled kernels.

    Worker processes are forked, too, by a process that has imported the same modules.
    Otherwise their imports would take most of the time of the tests.
    """
    import warm_kernels  # noqa: F401

    # Without this package, no command uses Dask.
    with contextlib.suppress(ImportError):
        import distributed  # noqa: F401

    from stereo_framework.sweep import processes

    # The process that forks the workers imports this module by its name.
    search_path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, search_path))
    multiprocessing.set_forkserver_preload(["warm_kernels"])
    processes._SPAWNING = multiprocessing.get_context("forkserver")


def _run(request: dict[str, Any]) -> int | str:
    """Run a command in a forked process, and return its exit status.

    The status is negative if a signal has ended the process.
    """
    _restart_fork_server()
    process_id = os.fork()
    if process_id == 0:
        _run_here(**request)
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        ended_process, status = os.waitpid(process_id, os.WNOHANG)
        if ended_process:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_CHECK_SECONDS)
    os.kill(process_id, signal.SIGKILL)
    os.waitpid(process_id, 0)
    return TIMED_OUT


def _restart_fork_server() -> None:
    """Start the process that forks the workers again, if it does not run.

    The process ends if a command is killed while it requests a worker. This may happen
    some time after the command has ended. Therefore a worker is requested here, too.
    """
    while True:
        forkserver.ensure_running()
        worker = multiprocessing.get_context("forkserver").Process(target=int)
        with contextlib.suppress(OSError, EOFError):
            worker.start()
            worker.join()
            if worker.exitcode == 0:
                return
        time.sleep(_CHECK_SECONDS)


def _run_here(arguments: list[str], folder: str, output: str) -> None:
    """Run a command in this process, and end the process."""
    from stereo_framework.__main__ import main as command

    # Only the parent of the process that forks the workers can check whether it runs.
    forkserver._forkserver.ensure_running = lambda: None
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["stereo-framework", *arguments]
    kill_plan.remember_command(Path(folder))
    _watch_places(functools.partial(kill_plan.reach, Path(folder)))
    try:
        command()
    finally:
        # Nothing of the program that answers requests may run in this process.
        _end_process()


def _end_process() -> None:
    """End this process as Python does at the end of a program."""
    import atexit

    error = sys.exc_info()[1]
    status = error.code if isinstance(error, SystemExit) else 1
    if not isinstance(error, SystemExit):
        sys.excepthook(*sys.exc_info())
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)


# --- places ---------------------------------------------------------------------------


def _watch_places(reach: Callable[[str], None]) -> None:
    """Let functions of the package report the places at which a command can be killed.

    The place "stage" is reported by a stage of a plug-in, also in other processes.
    """
    import stereo_framework.cli.run  # noqa: F401
    from stereo_framework.datasets import built_in_scenes
    from stereo_framework.kernels.threads import ThreadPool
    from stereo_framework.sweep import tasks
    from stereo_framework.sweep.executors import OtherProcesses, Threads

    # Pictures take longer than all other parts of a small sweep.
    sys.modules["stereo_framework.cli.run"]._write_pictures = lambda task, result: None

    _report_after(built_in_scenes, "load", functools.partial(reach, "planning"))
    _report_after(tasks, "run_id", functools.partial(reach, "planning"))
    _report_half_written_files(reach)
    _report_stored_results(functools.partial(reach, "transaction"))
    report_workers = functools.partial(reach, "workers")
    _report_after(Threads, "submit", report_workers)
    _report_after(OtherProcesses, "submit", report_workers)
    _report_before(ThreadPool, "shutdown", report_workers)
    if "distributed" in sys.modules:
        _report_before(sys.modules["distributed"].Client, "close", report_workers)


def _report_after(holder: Any, name: str, report: Callable[[], None]) -> None:
    """Call a function after each call of a function of a module or class."""
    function = getattr(holder, name)

    @functools.wraps(function)
    def replacement(*arguments: Any, **options: Any) -> Any:
        value = function(*arguments, **options)
        report()
        return value

    setattr(holder, name, replacement)


def _report_before(holder: Any, name: str, report: Callable[[], None]) -> None:
    """Call a function before each call of a function of a module or class."""
    function = getattr(holder, name)

    @functools.wraps(function)
    def replacement(*arguments: Any, **options: Any) -> Any:
        report()
        return function(*arguments, **options)

    setattr(holder, name, replacement)


def _report_stored_results(report: Callable[[], None]) -> None:
    """Report each result that is written, but not committed."""
    from stereo_framework.sweep.database import Database

    execute = Database.execute

    def replacement(self: Database, sql: str, values: Any = ()) -> Any:
        rows = execute(self, sql, values)
        if sql.startswith("INSERT INTO results") and "statistics" in sql:
            report()
        return rows

    Database.execute = replacement  # type: ignore[method-assign]


def _report_half_written_files(reach: Callable[[str], None]) -> None:
    """Report each file of a results folder when one half of it is written."""
    open_file = Path.open

    def replacement(self: Path, *arguments: Any, **options: Any) -> Any:
        file = open_file(self, *arguments, **options)
        if not self.name.endswith(_PARTIAL_FILE_SUFFIX):
            return file
        place = "map" if self.parent.name == "maps" else "file"
        return _HalvedFile(file, functools.partial(reach, place))

    Path.open = replacement  # type: ignore[method-assign]


class _HalvedFile:
    """A file that is written in two halves, with a report between them."""

    def __init__(self, file: Any, report: Callable[[], None]):
        self._file = file
        self._report = report

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> int:
        """Write both halves of the data."""
        middle = len(data) // 2
        self._file.write(data[:middle])
        self._file.flush()
        self._report()
        self._file.write(data[middle:])
        return len(data)


if __name__ == "__main__":
    main()
