"""List the tests of the changed files: ``python scripts/changed_tests.py``.

A file counts as changed if it differs from the commit at which the branch left main, or
if git does not know it yet. Paths of tests go to the output, the most relevant first.
Remarks about changes whose tests are not in the list go to the error output.

The tests of a changed file are

- for a test file: the file itself;
- for another file in tests: the test files that import it or, in a package's folder,
  all test files of the folder;
- for a file of a package: its doctests, the tests of the package, those of the same
  name first, and the test files directly in tests that import the package;
- for a program in scripts or benchmarks: the test files that import or name it.

It ends with status 2 outside a git repository.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
PACKAGE = "stereo_framework"


class GitError(Exception):
    """A failure of git, with its message."""


@dataclass
class Selection:
    """Paths of tests in order of relevance, and remarks about tests left out."""

    first: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        """Return all paths without repetitions."""
        return list(dict.fromkeys([*self.first, *self.later, *self.last]))


def git(*arguments: str) -> str:
    """Run git in the checkout and return its output."""
    try:
        process = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise GitError("no such program; install git and start again") from None
    if process.returncode:
        raise GitError(process.stderr.strip())
    return process.stdout.strip()


def fork_point(branches: tuple[str, ...] = ("main", "origin/main")) -> str | None:
    """Return the commit at which the branch left main, or None if there is no main."""
    for branch in branches:
        try:
            return git("merge-base", "HEAD", branch)
        except GitError:
            continue
    return None


def changed_files(base: str) -> list[str]:
    """Return the files that differ from a commit or that git does not know."""
    changed = git("diff", "--name-only", "--no-renames", base, "--")
    untracked = git("ls-files", "--others", "--exclude-standard")
    return [*changed.splitlines(), *untracked.splitlines()]


def select(files: list[str], root: Path = ROOT) -> Selection:
    """Select the tests of changed files."""
    selection = Selection()
    for file in files:
        path = PurePosixPath(file)
        folder = path.parts[0]
        if folder == "tests":
            _select_for_test_file(path, root, selection)
        elif folder == PACKAGE:
            _select_for_module(path, root, selection)
        elif folder in ("scripts", "benchmarks"):
            selection.first += _test_files_with(path.name, path.stem, root)
        elif folder in ("docs", "configs", "examples") or path.suffix == ".md":
            _add_once(selection.remarks, "pages, scripts and examples: pytest -m docs tests")
    return selection


def _select_for_test_file(path: PurePosixPath, root: Path, selection: Selection) -> None:
    """Add a changed test file, or the tests that use a changed helper or table."""
    if path.name.startswith("test_") and path.suffix == ".py":
        if (root / path).is_file():
            selection.first.append(str(path))
    elif path.parts[1] in ("faults", "golden", "fuzz"):
        _add_once(selection.remarks, f"tests/{path.parts[1]}: .ci/full")
    elif len(path.parts) > 2:
        selection.later += _test_files(root / path.parent, root)
    elif path.name == "conftest.py":
        _add_once(selection.remarks, "tests/conftest.py, which all tests use: pytest")
    else:
        selection.later += _test_files_with(path.name, path.stem, root)


def _select_for_module(path: PurePosixPath, root: Path, selection: Selection) -> None:
    """Add the tests of a changed file of the package."""
    if path.suffix == ".py" and (root / path).is_file():
        selection.first.append(str(path))
    if len(path.parts) == 2:
        selection.first.append("tests/test_public_names.py")
        return

    package = path.parts[1]
    files = _test_files(root / "tests" / package, root)
    names = {f"test_{path.stem.strip('_')}.py", f"test_{path.parent.name}.py"}
    selection.first += [file for file in files if PurePosixPath(file).name in names]
    selection.later += files
    selection.last += _root_tests_of(package, root)
    _add_once(selection.remarks, f"packages that import {package}: pytest")


def _root_tests_of(package: str, root: Path) -> list[str]:
    """Return the test files directly in tests that import a package."""
    pattern = re.compile(rf"\b{PACKAGE}\.{package}\b|from {PACKAGE} import .*\b{package}\b")
    files = sorted((root / "tests").glob("test_*.py"))
    matches = [file for file in files if pattern.search(file.read_text(encoding="utf-8"))]
    return [file.relative_to(root).as_posix() for file in matches]


def _test_files(folder: Path, root: Path) -> list[str]:
    """Return the test files in a folder and below."""
    return [file.relative_to(root).as_posix() for file in sorted(folder.rglob("test_*.py"))]


def _test_files_with(file_name: str, module: str, root: Path) -> list[str]:
    """Return the test files that import a module or name its file."""
    imports = rf"^\s*(?:from|import) {re.escape(module)}\b"
    pattern = re.compile(rf"{imports}|\b{re.escape(file_name)}\b", re.MULTILINE)
    return [
        file
        for file in _test_files(root / "tests", root)
        if pattern.search((root / file).read_text(encoding="utf-8"))
    ]


def _add_once(remarks: list[str], remark: str) -> None:
    """Add a remark that is not in the list yet."""
    if remark not in remarks:
        remarks.append(remark)


def files_to_check(base: str | None) -> list[str]:
    """Return the files that changed since a commit, or since the branch left main."""
    try:
        git("rev-parse", "--git-dir")
    except GitError as error:
        message = (
            f"{ROOT}: git cannot list the changed files ({error}); start the check in a clone "
            "of the repository"
        )
        raise GitError(message) from None
    if base is None:
        base = fork_point()
    else:
        _refuse_unknown_commit(base)
    if base is None:
        print("there is no branch main; only changes without a commit count", file=sys.stderr)
    return changed_files(base or "HEAD")


def _refuse_unknown_commit(commit: str) -> None:
    """Refuse a commit that the repository lacks."""
    try:
        git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    except GitError:
        message = (
            f"--base {commit}: the repository has no such commit; `git log --oneline` lists "
            "the commits"
        )
        raise GitError(message) from None


def main() -> int:
    """Print the tests of the changed files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", help="the commit to compare with; default: where main was left")
    arguments = parser.parse_args()
    try:
        files = files_to_check(arguments.base)
    except GitError as error:
        print(f"changed_tests: {error}", file=sys.stderr)
        return 2

    selection = select(files)
    for path in selection.paths:
        print(path)
    for remark in selection.remarks:
        print(f"left to .ci/run: {remark}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
