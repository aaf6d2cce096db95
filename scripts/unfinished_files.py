"""Update the list of files that break a rule of legibility, in pyproject.toml.

    python scripts/unfinished_files.py          remove rules that files no longer break
    python scripts/unfinished_files.py --add    also add rules that files break
    python scripts/unfinished_files.py --check  change nothing, report the changes

The list follows the comment ``# not rewritten yet`` in the table
``[tool.ruff.lint.per-file-ignores]``. Each line of it names a file and the rules that
ruff does not check in this file. The program runs ruff without the list, compares the
findings with the list, and writes the list again.

The list should only become shorter, because each file in it waits for a rewrite.
Therefore the program adds nothing unless ``--add`` is used. The exit status is 0 if the
list agrees with the findings, 1 if it does not, and 2 if the program cannot work.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

RULES = ("C901", "D205", "D400", "D401", "D415", "E501", "PLR0912", "PLR0915", "W505")
"""Rules that a file in the list may break. Every other rule holds in every file."""

HEADING = "# not rewritten yet"
TABLE = "[tool.ruff.lint.per-file-ignores]"
ENTRY = re.compile(r'"(?P<path>[^"]+)" = \[(?P<rules>[^\]]*)\]')

MAX_PRINTED = 20

INTERRUPTED = 130
"""Exit status of a program that Ctrl-C stops."""

RulesOfFile = Mapping[str, frozenset[str]]
"""Names of rules, by the path of a file from the folder of the project."""


class ListError(Exception):
    """The list cannot be read, compared or written."""


@dataclass(frozen=True)
class Configuration:
    """The text of pyproject.toml, divided at the list of unfinished files."""

    before: str
    entries: RulesOfFile
    after: str

    def with_entries(self, entries: RulesOfFile) -> str:
        """Return the text of pyproject.toml with another list."""
        if entries and HEADING not in self.before:
            message = (
                f"pyproject.toml: the comment '{HEADING}' is missing; "
                f"add it as the last line of the table {TABLE}"
            )
            raise ListError(message)
        exact_paths = set(re.findall(r'^"([^"]+)" = ', self.before + self.after, re.MULTILINE))
        lines = []
        for path in sorted(entries):
            # TOML refuses a key that occurs twice. For ruff, both spellings are equal.
            key = f"./{path}" if path in exact_paths else path
            rules = ", ".join(f'"{rule}"' for rule in sorted(entries[path]))
            lines.append(f'"{key}" = [{rules}]\n')
        return self.before + "".join(lines) + self.after


def read_configuration(text: str) -> Configuration:
    """Divide the text of pyproject.toml at the list of unfinished files.

    Without the comment of the list, the list is empty.
    """
    lines = text.splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines, 1) if line.startswith(HEADING)), None)
    if first is None:
        return Configuration(text, {}, "")

    entries = {}
    last = first
    for line in lines[first:]:
        match = ENTRY.match(line)
        if match is None:
            break
        path = match["path"].removeprefix("./")
        entries[path] = frozenset(re.findall(r'"([^"]+)"', match["rules"]))
        last += 1
    return Configuration("".join(lines[:first]), entries, "".join(lines[last:]))


def broken_rules(root: Path, configuration: Configuration) -> RulesOfFile:
    """Run ruff without the list, and return the rules that each file breaks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pyproject.toml")
        path.write_text(configuration.with_entries({}), encoding="utf-8")
        options = ["--config", str(path), "--output-format", "json", "--no-fix", "--exit-zero"]
        command = [sys.executable, "-m", "ruff", "check", *options, "."]
        run = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8")
    if run.returncode != 0:
        raise ListError(f"ruff check: the command failed: {run.stderr.strip()}")

    rules: dict[str, set[str]] = defaultdict(set)
    for finding in json.loads(run.stdout):
        if finding["code"] in RULES:
            file = Path(finding["filename"]).relative_to(root.resolve()).as_posix()
            rules[file].add(finding["code"])
    return {file: frozenset(names) for file, names in rules.items()}


def difference(larger: RulesOfFile, smaller: RulesOfFile) -> RulesOfFile:
    """Return the rules of files that only the first list contains."""
    rest = {path: rules - smaller.get(path, frozenset()) for path, rules in larger.items()}
    return {path: rules for path, rules in rest.items() if rules or path not in smaller}


def intersection(first: RulesOfFile, second: RulesOfFile) -> RulesOfFile:
    """Return the rules of files that both lists contain."""
    common = {path: first[path] & second[path] for path in first.keys() & second.keys()}
    return {path: rules for path, rules in common.items() if rules}


def lines_of(entries: RulesOfFile) -> list[str]:
    """Return a line of text for each file, with its rules."""
    return [f"{path}: {', '.join(sorted(entries[path]))}" for path in sorted(entries)]


def print_files(entries: RulesOfFile, statement: str) -> None:
    """Print a statement about the first files of a list, and the number of the rest."""
    lines = lines_of(entries)
    for line in lines[:MAX_PRINTED]:
        print(f"{line}: {statement}")
    if len(lines) > MAX_PRINTED:
        print(f"{len(lines) - MAX_PRINTED} more files: {statement}")


def write_atomically(path: Path, text: str) -> None:
    """Replace a text file in one step, so that no reader sees half of it."""
    tomllib.loads(text)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def parsed_options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--add", action="store_true", help="also add rules that files break")
    modes.add_argument("--check", action="store_true", help="change nothing")
    return parser.parse_args(arguments)


def update(root: Path, add: bool, check: bool) -> int:
    """Compare the list with ruff's findings, write it, and return the exit status."""
    path = root / "pyproject.toml"
    configuration = read_configuration(path.read_text(encoding="utf-8"))
    broken = broken_rules(root, configuration)
    finished = difference(configuration.entries, broken)
    missing = difference(broken, configuration.entries)

    if check:
        print_files(finished, "no longer broken; run the program without --check")
        print_files(missing, "broken, and not in the list; correct the file")
        return 1 if finished or missing else 0

    if add:
        entries = broken
        addition = "broken; added to the list"
    else:
        entries = intersection(configuration.entries, broken)
        addition = "broken, and not in the list; correct the file, or use --add"
    print_files(finished, "no longer broken; removed from the list")
    print_files(missing, addition)
    write_atomically(path, configuration.with_entries(entries))
    print(f"{path.name}: the list has {len(entries)} files")
    return 1 if missing and not add else 0


def main(arguments: list[str] | None = None) -> int:
    """Run the program, and report a fault in one line."""
    options = parsed_options(arguments)
    try:
        return update(ROOT, options.add, options.check)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ListError, OSError) as error:
        print(f"unfinished_files.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
