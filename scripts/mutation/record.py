"""Which lines each test executes: recorded once, and kept while the code is the same.

The record of a file of tests depends on that file and on everything else that tests
read, except for other files of tests. If one file of tests changes, only this file is
recorded again. Lines that a test executes in other processes belong to it too.
"""

from __future__ import annotations

import ast
import contextlib
import gzip
import hashlib
import json
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from mutation.trees import Processes, Tree, copied, copy_kernels, finished, project_files
from mutation.witnesses import Lines

SOURCES = "stereo_framework"
"""Folder of the sources whose lines are recorded."""

_SHARED = (SOURCES, "tests", "configs", "examples", "scripts", "pyproject.toml")
"""Files and folders that any test may read."""

_CHUNK = 6
"""Files of tests that a process records; what an interrupt loses at most."""

_DAYS = 30
"""Age at which a record is deleted."""

_SETTINGS = """\
[run]
data_file = {data}
parallel = true
source = {sources}
context = ${{PYTEST_CURRENT_TEST-}}
patch = fork, _exit
disable_warnings = no-data-collected, module-not-imported, module-not-measured
"""
"""Settings of coverage.py; pytest names the running test in a variable of processes."""


class FailingTests(Exception):
    """Tests fail without any change of the source code."""


@dataclass(frozen=True)
class RecordedTest:
    """The time of a test and the lines that it executes.

    Attributes
    ----------
    name : str
        Name by which pytest selects the test.
    seconds : float
        Time of the test while its lines were recorded.
    lines : dict
        Sets of lines by file, each as a number whose bit `n` stands for line `n`.
    """

    name: str
    seconds: float
    lines: dict[str, int]

    @property
    def file(self) -> str:
        """File of the test."""
        return self.name.partition("::")[0]

    def executes(self, lines: Lines) -> bool:
        """Tell whether the test executes one of the lines."""
        return any(self.lines.get(file, 0) >> line & 1 for file, line in lines)


@dataclass
class Recorder:
    """Records lines of tests of a checkout, or reads them from earlier records.

    Attributes
    ----------
    root : Path
        A copy of the checkout, to which compiled kernels are added.
    cache : Path
        Folder of the records.
    processes : Processes
        The processes of this program.
    workers : int
        Processes at a time.
    report : callable
        Receives lines of progress.
    """

    root: Path
    cache: Path
    processes: Processes
    workers: int
    report: Callable[[str], None]
    _digest: str = field(init=False)

    def __post_init__(self) -> None:
        shared = [name for name in project_files(self.root) if name.startswith(_SHARED)]
        imported = _imported_test_files(self.root, shared)
        names = [name for name in shared if not is_test_file(name) or name in imported]
        self._digest = _digest_of_files(self.root, names)
        copy_kernels(self._kernels, self.root)

    def recorded(self, files: Sequence[str], *, interpreted: bool) -> list[RecordedTest]:
        """Return the tests of files, with their lines.

        Parameters
        ----------
        files : sequence of str
            Files of tests.
        interpreted : bool
            Whether kernels run as plain Python, so that their lines are seen.

        Raises
        ------
        FailingTests
            If a test fails without coverage as well.
        """
        self._delete_old_records()
        missing = [file for file in files if not self._path(file, interpreted).exists()]
        if missing:
            self._record(missing, interpreted)
        tests: list[RecordedTest] = []
        for file in files:
            with gzip.open(self._path(file, interpreted), "rt", encoding="utf-8") as text:
                entries = json.load(text)
            for entry in entries:
                lines = {name: int(bits, 16) for name, bits in entry["lines"].items()}
                tests.append(RecordedTest(entry["name"], entry["seconds"], lines))
        return tests

    def _record(self, files: Sequence[str], interpreted: bool) -> None:
        chunks = [files[i : i + _CHUNK] for i in range(0, len(files), _CHUNK)]
        mode = "as plain Python" if interpreted else "compiled"
        self.report(
            f"recording which lines the tests of {len(files)} files execute (kernels {mode})"
        )
        done = 0
        start = time.monotonic()
        with contextlib.ExitStack() as stack, ThreadPoolExecutor(self.workers) as pool:
            # Two processes must not write kernels to one folder, so each has a copy.
            trees = [
                stack.enter_context(copied(self.root, self.processes)) for _ in range(self.workers)
            ]
            try:
                futures = [
                    pool.submit(self._record_chunk, chunk, interpreted, trees) for chunk in chunks
                ]
                for future in finished(futures):
                    done += len(future.result())
                    seconds = time.monotonic() - start
                    self.report(f"  {done} of {len(files)} files recorded after {seconds:.0f} s")
                for tree in trees:
                    copy_kernels(tree.folder, self.root)
                copy_kernels(self.root, self._kernels)
            except BaseException:
                self.processes.stop()
                pool.shutdown(cancel_futures=True)
                raise

    def _record_chunk(
        self, files: Sequence[str], interpreted: bool, trees: list[Tree]
    ) -> Sequence[str]:
        """Record some files of tests in a copy that no other thread uses."""
        tree = trees.pop()
        try:
            settings = tree.scratch / "coverage.ini"
            text = _SETTINGS.format(data=tree.scratch / "lines", sources=tree.folder / SOURCES)
            settings.write_text(text, encoding="utf-8")
            status = tree.run_tests(
                files, interpreted=interpreted, stop_at_failure=False, coverage=settings
            )
            outcomes = tree.outcomes()
            lines = _lines_of_tests(tree)
            failed = [str(test["name"]) for test in outcomes if test["outcome"] == "failed"]
            # 5: a file without tests, such as one whose tests are all marked slow.
            if status not in (0, 5) or failed:
                self._require_success_without_coverage(tree, files, failed, interpreted)
            for file in files:
                entries = [
                    {
                        "name": test["name"],
                        "seconds": test["seconds"],
                        "lines": lines.get(str(test["name"]), {}),
                    }
                    for test in outcomes
                    if test["outcome"] == "passed" and str(test["name"]).startswith(f"{file}::")
                ]
                self._write(file, interpreted, entries)
        finally:
            trees.append(tree)
        return files

    def _require_success_without_coverage(
        self, tree: Tree, files: Sequence[str], failed: Sequence[str], interpreted: bool
    ) -> None:
        """Run failed tests again, because some look at what coverage changes."""
        end = tree.end_of_output()
        if failed:
            status = tree.run_tests(
                files, names=failed, interpreted=interpreted, stop_at_failure=False
            )
            if status == 0:
                self.report(f"  left out because they fail under coverage: {', '.join(failed)}")
                return
            end = tree.end_of_output()
        message = (
            "tests fail before any change of the source code, so that they cannot show whether"
            f" a change is found; the end of their output is:\n{end}"
        )
        raise FailingTests(message)

    @property
    def _kernels(self) -> Path:
        """Folder of the kernels that were compiled for this code."""
        return self.cache / f"kernels-{self._digest[:32]}"

    def _path(self, file: str, interpreted: bool) -> Path:
        # The content of a file with doctests is part of the shared digest already.
        own_digest = _digest_of_files(self.root, [file])
        mode = "interpreted" if interpreted else "compiled"
        text = f"{self._digest} {own_digest} {file} {mode} {os.environ.get('STEREO_DATA', '')}"
        return self.cache / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json.gz"

    def _write(self, file: str, interpreted: bool, entries: list[dict[str, object]]) -> None:
        self.cache.mkdir(parents=True, exist_ok=True)
        path = self._path(file, interpreted)
        part = path.with_suffix(f".{os.getpid()}")
        with gzip.open(part, "wt", encoding="utf-8") as text:
            json.dump(entries, text)
        part.replace(path)

    def _delete_old_records(self) -> None:
        oldest = time.time() - _DAYS * 86400
        for path in self.cache.glob("*"):
            if path.stat().st_mtime >= oldest:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def is_test_file(name: str) -> bool:
    """Tell whether a file holds tests that no other file of tests reads."""
    return name.startswith("tests/") and name.rpartition("/")[2].startswith("test_")


def test_files(root: Path) -> list[str]:
    """List the files with tests and with examples in docstrings."""
    names = [name for name in project_files(root) if name.endswith(".py")]
    with_examples = [
        name for name in names if name.startswith(f"{SOURCES}/") and _has_examples(root / name)
    ]
    return [name for name in names if is_test_file(name)] + with_examples


def _imported_test_files(root: Path, names: Sequence[str]) -> set[str]:
    """Return the files of tests that other files of tests import."""
    modules: set[str] = set()
    for name in names:
        if name.startswith("tests/") and name.endswith(".py"):
            text = (root / name).read_text(encoding="utf-8")
            modules.update(re.findall(r"^(?:import|from) (test_\w+)", text, re.MULTILINE))
    return {name for name in names if Path(name).stem in modules}


def _has_examples(path: Path) -> bool:
    return bool(re.search(r"^\s*>>> ", path.read_text(encoding="utf-8"), re.MULTILINE))


def _digest_of_files(root: Path, names: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(names):
        content = (root / name).read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def digest_of_sources(root: Path) -> str:
    """Return a digest of the code of the package, without comments and formatting."""
    digest = hashlib.sha256()
    for name in project_files(root):
        if name.startswith(f"{SOURCES}/") and name.endswith(".py"):
            tree = ast.parse((root / name).read_text(encoding="utf-8"))
            digest.update(f"{name}\0{ast.dump(tree)}\0".encode())
    return digest.hexdigest()


def digest_of_tests(root: Path) -> str:
    """Return a digest of all files of tests."""
    names = [name for name in project_files(root) if name.startswith("tests/")]
    return _digest_of_files(root, names)


def _lines_of_tests(tree: Tree) -> dict[str, dict[str, str]]:
    """Read the lines from the files of coverage.py and delete these files."""
    bits: dict[str, dict[str, int]] = {}
    for path in tree.scratch.glob("lines.*"):
        for context, file, numbits in _rows(path):
            # In other processes the name is followed by the phase of the test.
            name = re.sub(r" \((setup|call|teardown)\)$", "", context)
            if not name or not Path(file).is_relative_to(tree.folder):
                continue
            source = Path(file).relative_to(tree.folder).as_posix()
            lines = bits.setdefault(name, {})
            # In numbits, bit n of the bytes, lowest byte first, stands for line n.
            lines[source] = lines.get(source, 0) | int.from_bytes(numbits, "little")
        path.unlink()
    return {name: {file: f"{n:x}" for file, n in lines.items()} for name, lines in bits.items()}


def _rows(path: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yield context, file and lines; the scheme of the database is documented."""
    query = (
        "select context.context, file.path, line_bits.numbits from line_bits"
        " join context on context.id = line_bits.context_id"
        " join file on file.id = line_bits.file_id"
    )
    # A process that was killed may leave a file without tables.
    suppressed = contextlib.suppress(sqlite3.DatabaseError)
    with contextlib.closing(sqlite3.connect(path)) as database, suppressed:
        yield from database.execute(query).fetchall()
