"""The entries of planted faults, which the YAML files beside this module store.

An entry describes a mistake in one place of a file, and the tests that must find it::

    kernel_parabola_sign:
      description: The subpixel offset of the parabola has the opposite sign.
      file: stereo_framework/kernels/parabola.py
      function: _refine_rows
      old: -slope / (np.float32(2) * curvature)
      new: slope / (np.float32(2) * curvature)
      tests: [tests/refinement/test_twins.py]

``file``
    The file with the mistake, relative to the root of the repository.
``function``
    In a Python file: the qualified name of the function (``PipelineRunner._view``,
    ``_send.run``) with its decorators, or of the class for code directly in its body.
    Without this key the code is at module level.
``key``
    In a YAML file: the path to a value, such as ``[rows, Cooperative, 8]``. A mapping
    in the path selects the only item of a list with these values, such as
    ``[tolerances, {column: teddy_disc}, above]``. ``old`` and ``new`` are then values.
``old``, ``new``
    An expression, or whole consecutive statements, or text in other files. An f-string
    is compared as a whole. An empty ``new`` deletes statements. To insert a statement,
    repeat its neighbour in ``old`` and in ``new``.
``occurrence``
    Needed only if the old code occurs more than once, such as ``1 of 2``.
``tests``
    Test files, or single tests such as ``tests/test_volume.py::test_levels``.

``python tests/faults/run.py --check NAME`` checks that an entry applies, and
``python tests/faults/run.py NAME`` that its tests find the mistake.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
KEYS_HELP = "tests/faults/fault.py describes the keys of an entry"


class FaultError(Exception):
    """An entry that is wrong, or a fault that no longer applies to the present code."""


class Fault(BaseModel):
    """A mistake that somebody could make in one place, and the tests that find it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str
    store: str
    """The YAML file that contains the entry, relative to the root of the repository."""
    description: str = Field(min_length=1)
    """One sentence that states what is wrong with the code."""
    file: str = Field(min_length=1)
    function: str = ""
    """The qualified name of a function or class; empty for code at module level."""
    key: list[str | int | dict[str, Any]] = Field(default_factory=list)
    """The path to a value of a YAML file."""
    occurrence: str = Field(default="", pattern=r"^([1-9]\d* of [1-9]\d*)?$")
    """For example "2 of 3" if the old code occurs three times."""
    old: Any
    new: Any
    tests: list[str] = Field(min_length=1)
    """Test files, or single tests such as tests/test_volume.py::test_name."""

    @property
    def place(self) -> str:
        """Return the beginning of messages about this fault."""
        return f"{self.store}: {self.name}"


class _LoaderOfUniqueKeys(yaml.SafeLoader):
    """A YAML loader that refuses a key that occurs twice, where YAML drops an entry."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        counts = Counter(key.value for key, _ in node.value)
        duplicates = [name for name, count in counts.items() if count > 1]
        if duplicates:
            message = f"the key {duplicates[0]!r} occurs twice; rename one of the two"
            raise yaml.constructor.ConstructorError(None, None, message, node.start_mark)
        return super().construct_mapping(node, deep)


def read_faults(folder: Path = FOLDER, root: Path = ROOT) -> dict[str, Fault]:
    """Read the entries of all YAML files of a folder, sorted by name.

    Raises
    ------
    FaultError
        If an entry is wrong or a name occurs in two files; one line for each mistake.
    """
    faults: dict[str, Fault] = {}
    messages = []
    for path in sorted(folder.glob("*.yaml")):
        store = path.relative_to(root).as_posix()
        for name, entry in _read_entries(path, store).items():
            if name in faults:
                messages.append(
                    f"{store}: {name}: {faults[name].store} has a fault of the same name; "
                    "rename one of the two"
                )
                continue
            try:
                faults[name] = _fault_of_entry(name, store, entry)
            except FaultError as error:
                messages.append(str(error))
    if messages:
        raise FaultError("\n".join(messages))
    return dict(sorted(faults.items()))


def _read_entries(path: Path, store: str) -> dict[str, Any]:
    """Read the entries of a YAML file by name."""
    try:
        entries = yaml.load(path.read_text(encoding="utf-8"), _LoaderOfUniqueKeys)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        message = f"{store}: the file is not valid YAML ({reason}); correct the file"
        raise FaultError(message) from error
    if not isinstance(entries, dict):
        message = f"{store}: the file must map names to faults; {KEYS_HELP}"
        raise FaultError(message)
    return entries


def _fault_of_entry(name: str, store: str, entry: Any) -> Fault:
    """Return the fault that an entry describes, and refuse a wrong entry."""
    place = f"{store}: {name}"
    if not isinstance(entry, dict):
        message = f"{place}: the entry must be a mapping; {KEYS_HELP}"
        raise FaultError(message)
    try:
        fault = Fault(name=name, store=store, **entry)
    except (TypeError, ValidationError) as error:
        message = f"{place}: {_reason(error)}; {KEYS_HELP}"
        raise FaultError(message) from error

    _refuse_values_that_are_not_text(fault)
    _refuse_unusable_keys(fault)
    return fault


def _reason(error: TypeError | ValidationError) -> str:
    """Return the problems that pydantic reports, with a clause for each."""
    if isinstance(error, TypeError):
        return "the keys 'name' and 'store' are not allowed"
    clauses = []
    for problem in error.errors():
        location = ".".join(str(step) for step in problem["loc"])
        if problem["type"] == "missing":
            clauses.append(f"the key '{location}' is missing")
        elif problem["type"] == "extra_forbidden":
            clauses.append(f"the key '{location}' is not allowed")
        else:
            clauses.append(f"the value of '{location}' is wrong ({problem['msg']})")
    return ", ".join(clauses)


def _refuse_values_that_are_not_text(fault: Fault) -> None:
    """Refuse old or new code that YAML reads as a number, a list or a mapping.

    Only at a key of a YAML file such a value is the value itself.
    """
    if fault.key:
        return
    for field, value in (("old", fault.old), ("new", fault.new)):
        if not isinstance(value, str):
            message = (
                f"{fault.place}: YAML reads the value of '{field}' as {value!r} and not as text; "
                "write it in quotes or as a block"
            )
            raise FaultError(message)
    if not fault.old.strip():
        message = f"{fault.place}: 'old' is empty; write the code that the fault replaces"
        raise FaultError(message)


def _refuse_unusable_keys(fault: Fault) -> None:
    """Refuse keys that have no meaning for the kind of file."""
    is_python = fault.file.endswith(".py")
    if fault.function and not is_python:
        message = f"{fault.place}: 'function' is allowed for Python files only; remove it"
        raise FaultError(message)
    if fault.key and not fault.file.endswith((".yaml", ".yml")):
        message = f"{fault.place}: 'key' is allowed for YAML files only; remove it"
        raise FaultError(message)
    if fault.key and fault.occurrence:
        message = f"{fault.place}: 'key' names one value, so 'occurrence' must be removed"
        raise FaultError(message)
    if fault.occurrence:
        number, count = occurrence_of(fault)
        if number > count:
            message = f"{fault.place}: there is no occurrence {fault.occurrence}; write N of M"
            raise FaultError(message)


def occurrence_of(fault: Fault) -> tuple[int, int]:
    """Return which occurrence of the old code is meant, and how many there must be."""
    if not fault.occurrence:
        return 1, 1
    number, count = re.findall(r"\d+", fault.occurrence)
    return int(number), int(count)


def shown(code: Any) -> str:
    """Return code on one line of at most 80 characters, for messages."""
    return f"`{textwrap.shorten(str(code), 80, placeholder=' ...')}`"
