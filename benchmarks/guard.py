"""Compare the resources of two commits: ``python benchmarks/guard.py BASE [COMMIT]``.

The two commits are measured in one run on one machine, alternating between them. Each
is checked out into a temporary folder and runs its own benchmarks/guard_workload.py. If
a commit lacks this file, the file beside this one is used.

The figures are medians over new processes with one thread:

processor time
    of ``ssd``, ``sgm``, ``fast``, ``fine``, ``gc``, ``bp`` and ``patch_match`` on
    cones, of a sweep of 200 settings, of planning 10,000 settings, of ``--help`` and of
    ``import stereo_framework``. Other programs on the machine disturb processor time
    less than wall time.
peak memory
    of the same workloads. For methods, sweep and plan it is the increase above the
    memory that the process used before; for ``--help`` and the import it is the memory
    of the whole process.
compile time
    of the methods: processor time of the first call, which compiles into an empty Numba
    cache, minus that of the second call. It is measured in at most three repeats.

The table shows each figure of both commits with its range over the repeats, and the
ratio of the medians, new to old. The exit status is 1 if a ratio is above the limit or
if a workload fails in one of the commits, and 2 if the comparison is refused. A ratio
above the limit gives exit status 1 even if the two ranges overlap. The table reports
the overlap; run the comparison again with a larger ``--repeats`` to see whether the
difference is noise. A complete run takes about 45 minutes of an idle core. It needs
git, and Linux with glibc.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from guard_workload import METHODS, SCENE, WORKLOADS
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
WORKLOAD = Path("benchmarks", "guard_workload.py")
PREFIX = "stereo-guard-"
"""Beginning of the name of the temporary folder; the process ID follows."""

COMPILE_REPEATS = 3
"""Largest number of repeats with an empty cache, because compiling takes long."""

UNITS = {"processor": (1.0, "s"), "memory": (1e6, "MB"), "compile": (1.0, "s")}
"""What a figure is divided by in the table, and the unit that it then has."""

QUIET_LOAD = 0.5
"""Largest load average of the last minute that does not disturb small figures."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OLD, NEW = "old", "new"
REFUSED = 2
"""Exit status of a comparison that cannot be made."""


class RefusedError(Exception):
    """A comparison that cannot be made, with the reason and the remedy."""


class WorkloadError(Exception):
    """A workload that fails in one of the commits."""


@dataclass(frozen=True)
class Checkout:
    """One of the two commits, checked out into a temporary folder."""

    side: str
    commit: str
    folder: Path

    @property
    def workload(self) -> Path:
        """The commit's own workload, or the one beside this file if it has none."""
        own_workload = self.folder / WORKLOAD
        return own_workload if own_workload.is_file() else ROOT / WORKLOAD

    def cache(self, workload: str) -> Path:
        """Return the folder of Numba's cache for a workload."""
        return self.folder.with_name(f"{self.side}-kernels") / workload


@dataclass
class Measurements:
    """The values of one figure of one workload, by commit."""

    workload: str
    figure: str
    old: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)

    def values_of(self, side: str) -> list[float]:
        """Return the values of one of the two commits."""
        return self.old if side == OLD else self.new

    @property
    def ratio(self) -> float:
        """The median of the new commit over that of the old one."""
        old, new = median(self.old), median(self.new)
        if old <= 0:
            # A compile time is a difference, which noise may make negative.
            return 1.0 if new <= 0 else float("inf")
        return new / old

    @property
    def ranges_overlap(self) -> bool:
        """Whether the ranges of the old and of the new values overlap."""
        return min(self.new) <= max(self.old) and min(self.old) <= max(self.new)

    def remark(self, limit: float) -> str:
        """Return the verdict in words, empty if the ratio is within the limit."""
        if self.ratio <= limit:
            return ""
        if self.ranges_overlap:
            return "above the limit; the ranges overlap"
        return "above the limit"

    def row(self, limit: float) -> list[str]:
        """Return the cells of the table's row."""
        name = f"{self.workload}, {self.figure}"
        old_cell = _value_and_range(self.old, self.figure)
        new_cell = _value_and_range(self.new, self.figure)
        return [name, old_cell, new_cell, f"{self.ratio:.3f}", self.remark(limit)]


@dataclass(frozen=True)
class Failure:
    """A workload that failed in one commit, with the last line of its errors."""

    workload: str
    side: str
    message: str

    def row(self) -> list[str]:
        """Return the cells of the table's row."""
        if self.side == OLD:
            return [self.workload, "failed", "", "-", self.message]
        return [self.workload, "", "failed", "-", self.message]


def _value_and_range(values: Sequence[float], figure: str) -> str:
    """Write a median with its unit and the range of the values."""
    divisor, unit = UNITS[figure]
    middle, low, high = (value / divisor for value in (median(values), min(values), max(values)))
    return f"{middle:.4g} {unit} ({low:.4g} to {high:.4g})"


def exit_status(
    measurements: Sequence[Measurements], failures: Sequence[Failure], limit: float
) -> int:
    """Return 1 if a workload failed or if a ratio is above the limit, else 0."""
    above = any(measured.ratio > limit for measured in measurements)
    return 1 if failures or above else 0


def result_table(
    measurements: Sequence[Measurements], failures: Sequence[Failure], limit: float
) -> Table:
    """Return the table of all figures; failed workloads come last."""
    table = Table("figure", "old (range)", "new (range)", "new/old", f"limit {limit:g}")
    for measured in measurements:
        table.add_row(*measured.row(limit))
    for failure in failures:
        table.add_row(*failure.row())
    return table


def git(*arguments: str) -> str:
    """Run git in the checkout of this file and return its output."""
    process = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if process.returncode:
        message = f"git {' '.join(arguments)}: {process.stderr.strip()}"
        raise RefusedError(message)
    return process.stdout.strip()


def refuse_other_folders() -> None:
    """Refuse to start if this project's folder is not the top of a git repository."""
    if shutil.which("git") is None:
        raise RefusedError("git: no such program; install git and start again")
    try:
        top = git("rev-parse", "--show-toplevel")
    except RefusedError:
        top = ""
    if not top or Path(top).resolve() != ROOT.resolve():
        message = (
            f"{ROOT}: the folder is not a git repository, so it has no commits to compare; "
            "clone the repository and start benchmarks/guard.py from the clone"
        )
        raise RefusedError(message)


def full_hash(commit: str) -> str:
    """Return the full hash of a commit."""
    try:
        return git("rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}")
    except RefusedError:
        message = (
            f"{commit}: the repository has no such commit; give a hash, a branch, a tag or an "
            "expression such as HEAD~20; `git log --oneline` lists the commits, and a shallow "
            "clone gets the others by `git fetch --unshallow`"
        )
        raise RefusedError(message) from None


def scene_folder(data: Path | None, workloads: Sequence[str]) -> Path | None:
    """Return the folder of real scenes, or refuse if a method would lack its scene."""
    methods = [name for name in workloads if name in METHODS]
    if not methods:
        return None
    named = data or os.environ.get("STEREO_DATA")
    remedy = (
        f"set STEREO_DATA or --data to a folder with the scene {SCENE}, which "
        f"`stereo-framework scenes --fetch {SCENE}` downloads, or choose workloads without "
        "real scenes, such as --only sweep plan help import"
    )
    if not named:
        raise RefusedError(f"STEREO_DATA is not set, but {methods[0]} needs real scenes; {remedy}")
    folder = Path(named).resolve()
    if not any(folder.glob(f"*/{SCENE}")):
        raise RefusedError(f"{named}: the folder holds no scene {SCENE}; {remedy}")
    return folder


def remove_leftovers() -> None:
    """Remove the folders of earlier comparisons that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        number = folder.name.removeprefix(PREFIX).partition("-")[0]
        if number.isdecimal() and not Path("/proc", number).exists():
            shutil.rmtree(folder, ignore_errors=True)
    git("worktree", "prune")


@contextlib.contextmanager
def checkouts(base: str, commit: str) -> Iterator[tuple[Checkout, Checkout]]:
    """Check out both commits into a temporary folder, which is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    old, new = Checkout(OLD, base, folder / OLD), Checkout(NEW, commit, folder / NEW)
    try:
        for checkout in (old, new):
            git("worktree", "add", "--quiet", "--detach", str(checkout.folder), checkout.commit)
        yield old, new
    finally:
        # The program ends after the removal, and no signal may interrupt the removal.
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        shutil.rmtree(folder, ignore_errors=True)
        git("worktree", "prune")


def child_environment(checkout: Checkout, workload: str) -> dict[str, str]:
    """Return the environment in which a commit runs a workload."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    scratch = checkout.folder.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return environment | {
        **dict.fromkeys(names, "1"),
        "NUMBA_CACHE_DIR": str(checkout.cache(workload)),
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(checkout.folder),
        "TMPDIR": str(scratch),
    }


def run_workload(
    checkout: Checkout, workload: str, data: Path | None, *, compiling: bool = False
) -> dict[str, float]:
    """Run a workload of a commit in a new process and return its figures.

    Raises
    ------
    WorkloadError
        The process failed, or its last line holds no figures.
    """
    command = [sys.executable, str(checkout.workload), workload]
    if data is not None:
        command += ["--data", str(data)]
    if compiling:
        command.append("--compile")
        shutil.rmtree(checkout.cache(workload), ignore_errors=True)

    # The workload may start further processes. In a new session, they and the workload
    # form one group of processes, which is killed below.
    process = subprocess.Popen(
        command,
        cwd=checkout.folder,
        env=child_environment(checkout, workload),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return _figures(output, errors, process.returncode)


def _figures(output: str, errors: str, status: int) -> dict[str, float]:
    """Return the figures from the last line of a workload's output."""
    if status:
        lines = errors.strip().splitlines() or [f"it ended with status {status}"]
        raise WorkloadError(lines[-1])
    try:
        figures: dict[str, float] = json.loads(output.splitlines()[-1])
    except (IndexError, ValueError):
        message = "the last line of its output holds no figures"
        raise WorkloadError(message) from None
    return figures


def report(text: str) -> None:
    """Print a line to the error output."""
    print(text, file=sys.stderr, flush=True)


def compare(
    pair: tuple[Checkout, Checkout], workload: str, data: Path | None, repeats: int
) -> list[Measurements] | Failure:
    """Measure a workload in both commits in turn.

    Odd repeats begin with the old commit and even repeats with the new one, so that a
    machine that slows down or warms up treats both alike. If the workload fails once,
    its earlier figures are discarded.
    """
    measurements: dict[str, Measurements] = {}
    for repeat in range(repeats):
        order = pair if repeat % 2 == 0 else pair[::-1]
        for checkout in order:
            try:
                figures = _measure_once(checkout, workload, data, repeat)
            except WorkloadError as error:
                return Failure(workload, checkout.side, str(error))
            for name, value in figures.items():
                measured = measurements.setdefault(name, Measurements(workload, name))
                measured.values_of(checkout.side).append(value)
            texts = [f"{name} {_value(name, value)}" for name, value in figures.items()]
            place = f"{workload}, repeat {repeat + 1} of {repeats}, {checkout.side}"
            report(f"{place}: {', '.join(texts)}")
    return _missing_figure(measurements) or list(measurements.values())


def _missing_figure(measurements: Mapping[str, Measurements]) -> Failure | None:
    """Return a failure if the workload of one commit lacks a figure of the other."""
    for name, measured in measurements.items():
        for side in (OLD, NEW):
            if not measured.values_of(side):
                message = f"the workload of this commit measures no {name}"
                return Failure(measured.workload, side, message)
    return None


def _value(figure: str, value: float) -> str:
    """Write a value with its unit."""
    divisor, unit = UNITS[figure]
    return f"{value / divisor:.4g} {unit}"


def _measure_once(
    checkout: Checkout, workload: str, data: Path | None, repeat: int
) -> dict[str, float]:
    """Measure all figures of a workload once.

    The first process of a commit fills the Numba cache. Its processor time and memory
    do not count.
    """
    compile_figures: dict[str, float] = {}
    if workload in METHODS and repeat < COMPILE_REPEATS:
        compile_figures = run_workload(checkout, workload, data, compiling=True)
    elif repeat == 0:
        run_workload(checkout, workload, data)
    return run_workload(checkout, workload, data) | compile_figures


def compare_all(
    pair: tuple[Checkout, Checkout], workloads: Sequence[str], data: Path | None, repeats: int
) -> tuple[list[Measurements], list[Failure]]:
    """Measure all workloads in both commits."""
    measurements: list[Measurements] = []
    failures: list[Failure] = []
    for checkout in pair:
        # Otherwise the import would compile the Python files in the first process.
        command = [sys.executable, "-m", "compileall", "-q", "stereo_framework"]
        subprocess.run(command, cwd=checkout.folder, check=False, stdout=subprocess.DEVNULL)
        if checkout.workload == ROOT / WORKLOAD:
            report(
                f"{checkout.side}: the commit has no {WORKLOAD}; the file of this checkout is used"
            )
    for workload in workloads:
        result = compare(pair, workload, data, repeats)
        if isinstance(result, Failure):
            report(f"{workload} failed in the {result.side} commit: {result.message}")
            failures.append(result)
        else:
            measurements += result
    return measurements, failures


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", metavar="BASE", help="the commit to compare with")
    parser.add_argument(
        "commit", metavar="COMMIT", nargs="?", default="HEAD", help="the new commit; default: HEAD"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        choices=list(WORKLOADS),
        help=f"the workloads to run, of {', '.join(WORKLOADS)}; default: all",
    )
    parser.add_argument(
        "--limit", type=float, default=1.05, help="largest allowed ratio; default: %(default)s"
    )
    parser.add_argument(
        "--repeats", type=int, default=5, help="processes for each figure; default: %(default)s"
    )
    parser.add_argument("--data", type=Path, help="folder of real scenes; default: STEREO_DATA")
    arguments = parser.parse_args()
    if arguments.repeats < 1:
        parser.error(f"--repeats {arguments.repeats}: at least one repeat is needed")
    if not arguments.limit > 0:
        parser.error(f"--limit {arguments.limit:g}: the limit must be above 0, such as 1.05")
    return arguments


def compare_commits(arguments: argparse.Namespace) -> int:
    """Compare the two commits, print the table and return the exit status."""
    if not sys.platform.startswith("linux"):
        raise RefusedError(f"{sys.platform}: memory can be measured on Linux only; use Linux")
    refuse_other_folders()
    base, commit = full_hash(arguments.base), full_hash(arguments.commit)
    workloads = list(dict.fromkeys(arguments.only or WORKLOADS))
    data = scene_folder(arguments.data, workloads)
    if base == commit:
        report("both commits are the same, so ratios other than 1 show the noise")
    if arguments.commit == "HEAD" and git("status", "--porcelain"):
        report("the checkout has changes that are not committed; they are not measured")
    load = os.getloadavg()[0]
    if load > QUIET_LOAD:
        report(f"the load average is {load:.1f}: other programs make the figures less certain")

    remove_leftovers()
    with checkouts(base, commit) as pair:
        measurements, failures = compare_all(pair, workloads, data, arguments.repeats)
    print(f"old: {base[:12]} ({arguments.base}), new: {commit[:12]} ({arguments.commit})")
    Console(width=120).print(result_table(measurements, failures, arguments.limit))
    return exit_status(measurements, failures, arguments.limit)


def _stop(number: int, frame: object) -> None:
    """End the program by an exception, so that `checkouts` removes its folders."""
    raise SystemExit(128 + number)


def main() -> int:
    """Compare two commits."""
    arguments = read_arguments()
    # A shell starts background jobs with SIGINT ignored, but `kill -INT` must end them.
    for number in STOP_SIGNALS:
        # `nohup` ignores SIGHUP, so that the program outlives its terminal.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        return compare_commits(arguments)
    except RefusedError as error:
        report(f"guard: {error}")
        return REFUSED


if __name__ == "__main__":
    sys.exit(main())
