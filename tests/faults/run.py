"""Plant faults and see whether the tests find them: ``python tests/faults/run.py [NAME ...] [--whole] [--workers N]``.

Every ``NAME.patch`` beside this file is a mistake that somebody could make. It says what is wrong and, after ``Tests:``, which test files must find it.
Each is applied to a copy of the working tree, in which these tests are then run; with ``--whole`` the whole suite instead. The exit status is 1 if a
fault is not found, or if a patch no longer applies, which is a failure of its own: whoever changes the lines moves the fault along.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FAULTS = Path(__file__).resolve().parent
ROOT = FAULTS.parents[1]
LIMIT = 900
"""Seconds after which tests count as hanging."""


def tried(name: str, whole: bool) -> tuple[str, float]:
    """What became of a fault, ``found`` or what is wrong, and the seconds that it took."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        copy_tree(copy)
        return _tried(FAULTS / f"{name}.patch", copy, whole), time.monotonic() - start


def copy_tree(to: Path) -> None:
    """Copy what belongs to the project, new files too, and the kernels that are compiled already."""
    listed = _run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT
    ).stdout.split("\0")
    compiled = (
        path.relative_to(ROOT).as_posix() for path in (ROOT / "stereo_framework").rglob("*.nb[ci]")
    )
    for name in (*filter(None, listed), *compiled):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def _tried(patch: Path, copy: Path, whole: bool) -> str:
    # One line of context is enough: lines nearby may change.
    applied = _run(["git", "apply", "-C1", str(patch)], copy)
    if applied.returncode:
        return f"NO LONGER APPLIES: {' '.join(applied.stderr.split())}"
    [tests] = [
        line.removeprefix("Tests:").split()
        for line in patch.read_text().splitlines()
        if line.startswith("Tests:")
    ]
    absent = [file for file in tests if not (copy / file).exists()]
    if absent:
        return f"NO SUCH TESTS: {' '.join(absent)}"
    # The copy comes before an installed package, and its kernels are not kept among those of the original.
    environment = {
        name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"
    } | {"PYTHONPATH": str(copy)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n0",
        "-p",
        "no:cacheprovider",
        "--hypothesis-profile=planted",
    ]
    command += [] if whole else tests
    try:
        status = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=LIMIT, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return f"HANGS for {LIMIT} s"
    # 1: tests failed. All else that is not 0 means that they could not be run, for example because nothing can be imported.
    return {0: "NOT FOUND", 1: "found"}.get(
        status, f"TESTS DID NOT RUN: pytest ended with {status}"
    )


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def main() -> None:
    """Try all faults, or those named, several at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults to plant; default: all")
    parser.add_argument(
        "--whole",
        action="store_true",
        help="run the whole suite, not only the tests that a fault names",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count(),
        help="faults at a time; default: one for each core",
    )
    arguments = parser.parse_args()
    known = sorted(path.stem for path in FAULTS.glob("*.patch"))
    names = arguments.names or known
    unknown = set(names) - set(known)
    if unknown:
        parser.error(f"no such fault: {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    missed = 0
    with ThreadPoolExecutor(arguments.workers) as pool:
        for name, (outcome, seconds) in zip(
            names, pool.map(lambda name: tried(name, arguments.whole), names), strict=True
        ):
            print(f"{name:40} {seconds:5.0f} s  {outcome}", flush=True)
            missed += outcome != "found"
    print(f"{len(names) - missed} of {len(names)} faults found")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
