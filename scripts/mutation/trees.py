"""Copies of the checkout in which tests run, and the processes that run them."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

_PLUGIN = Path(__file__).with_name("pytest_plugin.py")


class Stopped(Exception):
    """The work was interrupted, and no process may be started any more."""


@dataclass
class Processes:
    """The running processes; they are killed together."""

    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_stopped: bool = False

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        environment: dict[str, str],
        output: Path,
        seconds: float | None = None,
    ) -> int | None:
        """Run a command and return its exit status, or None if it exceeds its time.

        A process that was stopped raises `Stopped`.
        """
        with open(output, "wb") as file:
            with self._lock:
                if self._is_stopped:
                    raise Stopped
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                self._running.add(process)
            status: int | None
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                _kill(process)
                process.wait()
                with self._lock:
                    self._running.discard(process)
        if self._is_stopped:
            raise Stopped
        return status

    def stop(self) -> None:
        """Kill all running processes and refuse to start others."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                _kill(process)


@dataclass(frozen=True)
class Tree:
    """A copy of the checkout in which tests run.

    Attributes
    ----------
    folder : Path
        The copy.
    scratch : Path
        A folder for lists, logs and the plug-in of pytest, outside the copy.
    processes : Processes
        The processes of this program.
    """

    folder: Path
    scratch: Path
    processes: Processes

    @property
    def log(self) -> Path:
        """File to which a finished test adds a line."""
        return self.scratch / "log.jsonl"

    @property
    def output(self) -> Path:
        """File with the output of pytest."""
        return self.scratch / "output.txt"

    def run_tests(
        self,
        files: Sequence[str],
        *,
        names: Sequence[str] | None = None,
        interpreted: bool,
        stop_at_failure: bool,
        seconds: float | None = None,
        coverage: Path | None = None,
    ) -> int | None:
        """Run tests; return the exit status of pytest, or None if they take too long.

        Parameters
        ----------
        files : sequence of str
            Files of tests.
        names : sequence of str, optional
            Tests in their order; default: all tests of the files.
        interpreted : bool
            Whether kernels run as plain Python.
        stop_at_failure : bool
            Whether the first failure ends the run.
        seconds : float, optional
            Time after which the run is killed.
        coverage : Path, optional
            Settings of coverage.py, by which executed lines are recorded.
        """
        self.log.unlink(missing_ok=True)
        environment = self._environment(interpreted)
        if names is not None:
            list_of_tests = self.scratch / "tests.json"
            list_of_tests.write_text(json.dumps(list(names)), encoding="utf-8")
            environment["MUTATION_TESTS"] = str(list_of_tests)
        if coverage is not None:
            environment["COVERAGE_PROCESS_START"] = str(coverage)

        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
        command += ["-p", _PLUGIN.stem, *files]
        if stop_at_failure:
            command.append("-x")
        if interpreted:
            command += ["-m", "not slow and not docs and not compiled"]
        return self.processes.run(command, self.folder, environment, self.output, seconds)

    def end_of_output(self) -> str:
        """Return the last lines of the output of the last run."""
        output = self.output.read_text(encoding="utf-8", errors="replace")
        return "\n".join(output.splitlines()[-15:])

    def outcomes(self) -> list[dict[str, object]]:
        """Return name, seconds and outcome of the tests of the last run."""
        if not self.log.exists():
            return []
        lines = self.log.read_text(encoding="utf-8").splitlines()
        # A killed process may leave half a line at the end.
        return [json.loads(line) for line in lines if line.endswith("}")]

    def _environment(self, interpreted: bool) -> dict[str, str]:
        # A shared cache of kernels would keep those of changed files. A test that runs
        # this program must not give its name to the tests in the copy.
        dropped = {
            "NUMBA_CACHE_DIR",
            "NUMBA_DISABLE_JIT",
            "MUTATION_TESTS",
            "PYTEST_ADDOPTS",
            "PYTEST_CURRENT_TEST",
        }
        environment = {name: text for name, text in os.environ.items() if name not in dropped}
        shutil.copy(_PLUGIN, self.scratch)
        environment["PYTHONPATH"] = os.pathsep.join([str(self.folder), str(self.scratch)])
        environment["MUTATION_LOG"] = str(self.log)
        # Python would use stored bytecode of another mutant of a file again if both
        # are written within the same second and have the same size.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        if interpreted:
            environment["NUMBA_DISABLE_JIT"] = "1"
            # Tests on real scenes take minutes without the JIT.
            environment["STEREO_DATA"] = ""
        return environment


def finished(futures: Iterable[Future[Result]]) -> Iterator[Future[Result]]:
    """Yield futures when they are done; unlike `as_completed`, notice signals soon."""
    waiting = set(futures)
    while waiting:
        # A signal that another thread receives does not end a wait without a limit.
        done, waiting = wait(waiting, timeout=1, return_when=FIRST_COMPLETED)
        yield from done


@contextlib.contextmanager
def copied(root: Path, processes: Processes) -> Iterator[Tree]:
    """Copy a checkout, or a copy of it, for the time of the block."""
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as name:
        tree = Tree(Path(name, "tree"), Path(name, "scratch"), processes)
        tree.scratch.mkdir()
        copy_tree(root, tree.folder)
        yield tree


def copy_tree(root: Path, target: Path) -> None:
    """Copy the files of a project, new files too, and its compiled kernels."""
    for name in project_files(root):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target / name)
    copy_kernels(root, target)


def copy_kernels(source: Path, target: Path) -> None:
    """Copy compiled kernels where the target has none or older ones."""
    for index in source.rglob("*.nbi"):
        copied_index = target / index.relative_to(source)
        if copied_index.exists() and copied_index.stat().st_mtime >= index.stat().st_mtime:
            continue
        # Files of machine code are numbered, and their numbers belong to one index.
        copied_index.parent.mkdir(parents=True, exist_ok=True)
        for path in [*index.parent.glob(f"{glob.escape(index.stem)}.*.nbc"), index]:
            shutil.copy2(path, copied_index.parent)


def project_files(root: Path) -> list[str]:
    """List the files of a checkout that git does not ignore, or all files of a copy."""
    if not (root / ".git").exists():
        paths = [path for path in root.rglob("*") if path.is_file()]
        names = [path.relative_to(root).as_posix() for path in paths]
        return [name for name in names if "__pycache__" not in name]
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return sorted(name for name in listing.stdout.split("\0") if name and (root / name).is_file())


def _kill(process: subprocess.Popen[bytes]) -> None:
    # Tests start processes too; all of them are in the session of pytest.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
