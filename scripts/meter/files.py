"""The measurement of files, and the groups of files that a table has rows for."""

from __future__ import annotations

import gc
import json
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from .functions import add_functions, add_summaries
from .measurement import Measurement, Passage
from .names import add_names
from .prose import add_docs, add_lines, add_messages
from .statements import add_comprehensions, add_conditional_expressions, add_statements
from .syntax import SyntaxTree
from .yaml_texts import add_yaml

Groups = Mapping[str, Sequence[Measurement]]
"""The measured files of each row of a table."""

DIVIDED_FOLDER = "tests"
"""Name of a folder that has a row for each folder in it, as a package has."""


class UsageError(Exception):
    """A command cannot be carried out as it was typed."""


def measure_python(path: Path) -> Measurement:
    """Measure a Python file."""
    measurement = Measurement(path)
    try:
        with tokenize.open(path) as file:
            tree = SyntaxTree(file.read())
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        message = f"{path}:{line}: the file is not valid Python: {error}; correct it first"
        raise UsageError(message) from error
    add_statements(measurement, tree)
    add_comprehensions(measurement, tree)
    add_conditional_expressions(measurement, tree)
    add_names(measurement, tree)
    add_functions(measurement, tree)
    add_summaries(measurement, tree)
    add_lines(measurement, tree)
    add_docs(measurement, tree)
    add_messages(measurement, tree)
    return measurement


def measure_page(path: Path) -> Measurement:
    """Measure a Markdown page."""
    measurement = Measurement(path)
    measurement.add_passage(Passage("pages", 1, _text_of(path)))
    return measurement


def measure_notebook(path: Path) -> Measurement:
    """Measure the Markdown cells of a Jupyter notebook."""
    measurement = Measurement(path)
    for cell in json.loads(_text_of(path))["cells"]:
        if cell["cell_type"] == "markdown":
            measurement.add_passage(Passage("pages", 1, "".join(cell["source"])))
    return measurement


def measure_yaml(path: Path) -> Measurement:
    """Measure the comments and the sentences of a YAML file."""
    measurement = Measurement(path)
    add_yaml(measurement, _text_of(path))
    return measurement


MEASURES = {
    ".py": measure_python,
    ".md": measure_page,
    ".ipynb": measure_notebook,
    ".yaml": measure_yaml,
    ".yml": measure_yaml,
}


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def files_of(path: Path) -> list[Path]:
    """Return the files of a path that can be measured, or refuse the path."""
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder; check the path")
    candidates = [path] if path.is_file() else sorted(path.rglob("*"))
    files = [file for file in candidates if _is_measurable(file, path)]
    if not files:
        suffixes = ", ".join(MEASURES)
        message = f"{path}: there is no file to measure; choose files that end in {suffixes}"
        raise UsageError(message)
    return files


def _is_measurable(file: Path, folder: Path) -> bool:
    """Return whether a file has a known suffix and is outside hidden folders."""
    parts = file.relative_to(folder).parts
    is_hidden = any(part.startswith(".") for part in parts)
    return file.suffix in MEASURES and file.is_file() and not is_hidden


def files_of_groups(paths: Iterable[Path]) -> dict[str, list[Path]]:
    """Return the files of each group.

    A package has one group for each folder in it, one for the files outside these
    folders, and one for all. A folder named `tests` is divided in the same way, unless
    it is inside a package. Every other path is one group.
    """
    groups: dict[str, list[Path]] = defaultdict(list)
    for path in paths:
        name = path.resolve().name
        if name in groups:
            raise UsageError(f"{path}: two paths have this name; measure one at a time")
        for file in files_of(path):
            groups[name].append(file)
            if is_divided(path):
                groups[part_of(path, file)].append(file)
    return dict(sorted(groups.items()))


def is_divided(path: Path) -> bool:
    """Return whether a path has a row for each folder in it."""
    is_in_package = (path.resolve().parent / "__init__.py").exists()
    is_package = (path / "__init__.py").exists()
    is_tests = path.is_dir() and path.resolve().name == DIVIDED_FOLDER
    return (is_package or is_tests) and not is_in_package


def part_of(path: Path, file: Path) -> str:
    """Return the name of the group of a file in a package or in a folder of tests."""
    parts = file.relative_to(path).parts
    folder = parts[0] if len(parts) > 1 else "*"
    return f"{path.resolve().name}/{folder}"


def measure_groups(paths: Iterable[Path]) -> Groups:
    """Measure each file once, and return the measurements of each group."""
    groups = files_of_groups(paths)
    files = sorted(set(chain.from_iterable(groups.values())))
    with _without_garbage_collection():
        measurements = {file: MEASURES[file.suffix](file) for file in files}
    measured_groups = {}
    for name, members in groups.items():
        measured_groups[name] = [measurements[file] for file in members]
    return measured_groups


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Switch the search for circles off, which takes a third of the time.

    Trees refer to their nodes, and no node refers to its tree. Thus no circle remains.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
