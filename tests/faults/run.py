"""Plant faults, and check that the tests find them.

The YAML files beside this script store mistakes that somebody could make. Each fault
is planted in a copy of the working tree, in which the tests of its entry are then run.
A fault is found if one of them fails with the fault and passes without it. The command
prints a line for each fault. Its exit status is 1 if a fault is not found, or no longer
applies to the present code.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from fault import ROOT, Fault, FaultError, read_faults
from planting import check_fault, plant

FOUND = "found"
LIMIT_SECONDS = 900
"""Tests that run longer than this count as hanging."""

PYTEST_OPTIONS = ("-q", "-x", "-n0", "-p", "no:cacheprovider", "--hypothesis-profile=planted")


class Stopped(Exception):
    """The command was interrupted, so no further tests may start."""


class TestProcesses:
    """The processes of pytest that run at present; they can be stopped together."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, arguments: Sequence[str], folder: Path) -> tuple[int, str]:
        """Run pytest in a folder, and return its exit status and its output.

        Raises
        ------
        subprocess.TimeoutExpired
            If the tests hang.
        Stopped
            If `stop` was called.
        """
        with self._lock:
            if self._stopped:
                raise Stopped
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *PYTEST_OPTIONS, *arguments],
                cwd=folder,
                env=_environment(folder),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            self._processes.add(process)
        with process:
            try:
                output, _ = process.communicate(timeout=LIMIT_SECONDS)
            finally:
                _kill(process)
                self._processes.discard(process)
        if self._stopped:
            raise Stopped
        return process.returncode, output

    def stop(self) -> None:
        """Kill all processes, and refuse to start others."""
        with self._lock:
            self._stopped = True
            for process in list(self._processes):
                _kill(process)


def _environment(copy: Path) -> dict[str, str]:
    """Return the environment of tests in a copy of the working tree."""
    environment = dict(os.environ)
    # The copy must come before an installed package.
    environment["PYTHONPATH"] = str(copy)
    # Kernels with a fault must not be stored among those of the working tree.
    environment.pop("NUMBA_CACHE_DIR", None)
    # Python would use stored bytecode of the faulty file again if the file is restored
    # within the same second and has the same size.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return environment


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a process and its children, if they still run."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def try_fault(fault: Fault, processes: TestProcesses, whole: bool) -> tuple[str, float]:
    """Plant a fault in a copy, and return its outcome and the seconds that it took."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        copy_tree(copy)
        try:
            outcome = _outcome(fault, copy, processes, whole)
        except subprocess.TimeoutExpired:
            outcome = f"HANGS: the tests did not end within {LIMIT_SECONDS} s"
    return outcome, time.monotonic() - start


def copy_tree(target: Path) -> None:
    """Copy the files of the project, new files too, and the compiled kernels."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listing.stdout.split("\0") if name]
    kernels = (ROOT / "stereo_framework").rglob("*.nb[ci]")
    names += [path.relative_to(ROOT).as_posix() for path in kernels]
    for name in names:
        # Git lists files that are deleted in the working tree too.
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def _outcome(fault: Fault, copy: Path, processes: TestProcesses, whole: bool) -> str:
    """Return FOUND and the test that failed, or the reason why no test is named."""
    try:
        check_fault(fault, copy)
    except FaultError as error:
        return f"NO LONGER APPLIES: {error}"
    plant(fault, copy)
    # With a fault planted, the test that all stored faults apply would always fail.
    selection = ["--ignore=tests/faults"] if whole else fault.tests
    status, output = processes.run(selection, copy)
    if status == 0:
        return "NOT FOUND: all tests pass"
    failing_test = find_failing_test(output)
    # Other exit statuses mean, for example, that nothing can be imported.
    if status != 1 or failing_test is None:
        return f"TESTS DID NOT RUN: pytest ended with {status}: {_last_line(output)}"

    shutil.copy2(ROOT / fault.file, copy / fault.file)
    status, output = processes.run([failing_test], copy)
    if status != 0:
        return f"NOT FOUND: {failing_test} fails without the fault too: {_last_line(output)}"
    return f"{FOUND} by {failing_test}"


def find_failing_test(output: str) -> str | None:
    """Return the test that pytest reports as failed, or None if it reports no test."""
    # A parameter in square brackets may contain spaces and dashes.
    pattern = r"^(?:FAILED|ERROR) (\S+?\.py::[^\[\s]+(?:\[.*?\])?)(?: - |$)"
    match = re.search(pattern, output, re.MULTILINE)
    return match.group(1) if match else None


def _last_line(output: str) -> str:
    """Return the last line that pytest prints."""
    lines = output.strip().splitlines()
    return lines[-1] if lines else "no output"


def main() -> None:
    """Check or try all faults, or the faults that are named."""
    faults = read_faults_or_exit()
    arguments = read_arguments(faults)
    selected_faults = [faults[name] for name in arguments.names or faults]
    if arguments.check:
        sys.exit(check_faults(selected_faults))
    # Otherwise SIGTERM would leave the copies and the tests behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(try_faults(selected_faults, workers=arguments.workers, whole=arguments.whole))


def read_faults_or_exit() -> dict[str, Fault]:
    """Read the stored faults, and end the command if an entry is wrong."""
    try:
        return read_faults()
    except FaultError as error:
        print(error, file=sys.stderr)
        sys.exit(1)


def read_arguments(faults: dict[str, Fault]) -> argparse.Namespace:
    """Read the command line, and refuse unknown faults."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="fault to plant; default: all")
    parser.add_argument(
        "--check",
        action="store_true",
        help="only check that the faults apply to the present code; no tests are run",
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="run the whole suite and not only the tests of a fault's entry",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count(),
        help="number of faults tried at a time; default: one for each core",
    )
    arguments = parser.parse_args()
    if arguments.workers < 1:
        parser.error(f"--workers: {arguments.workers} is too small; the minimum is 1")
    for name in arguments.names:
        if name not in faults:
            parser.error(_message_about_unknown_fault(name, faults))
    return arguments


def _message_about_unknown_fault(name: str, faults: dict[str, Fault]) -> str:
    similar_names = difflib.get_close_matches(name, list(faults), n=3, cutoff=0.4)
    hint = f"similar names are: {', '.join(similar_names)}" if similar_names else "see the files"
    stores = sorted({fault.store for fault in faults.values()})
    return f"{name}: none of {', '.join(stores)} stores a fault of this name; {hint}"


def check_faults(faults: Sequence[Fault]) -> int:
    """Print the faults that no longer apply, and return the exit status."""
    messages = []
    for fault in faults:
        try:
            check_fault(fault, ROOT)
        except FaultError as error:
            messages.append(str(error))
    for message in messages:
        print(message, file=sys.stderr)
    print(f"{len(faults) - len(messages)} of {len(faults)} faults apply to the present code")
    return 1 if messages else 0


def try_faults(faults: Sequence[Fault], *, workers: int, whole: bool) -> int:
    """Try faults, several at a time, and print each outcome; return the exit status."""
    found = finished = 0
    try:
        for fault, outcome, seconds in _outcomes(faults, workers, whole):
            finished += 1
            found += outcome.startswith(FOUND)
            counter = f"[{finished}/{len(faults)}]"
            print(f"{counter} {fault.name:40} {seconds:5.0f} s  {outcome}", flush=True)
    except KeyboardInterrupt:
        print(f"interrupted after {finished} of {len(faults)} faults", file=sys.stderr)
        return 130
    print(f"{found} of {len(faults)} faults found")
    return 0 if found == len(faults) else 1


def _outcomes(
    faults: Sequence[Fault], workers: int, whole: bool
) -> Iterator[tuple[Fault, str, float]]:
    """Yield each fault with its outcome and seconds as soon as it is tried."""
    processes = TestProcesses()
    with ThreadPoolExecutor(workers) as pool:
        futures = {pool.submit(try_fault, fault, processes, whole): fault for fault in faults}
        try:
            for future in as_completed(futures):
                outcome, seconds = future.result()
                yield futures[future], outcome, seconds
        except BaseException:
            # Leaving the block waits for the threads, which remove their copies.
            pool.shutdown(wait=False, cancel_futures=True)
            processes.stop()
            raise


if __name__ == "__main__":
    main()
