"""The page docs/architecture.md describes the code as it is.

Each class or function in a table is defined in the file of its row. A recorded run
makes the calls that the page lists, in the same order. Most checks return complaints,
so that other tests can call them with a page that has a mistake.
"""

import ast
import functools
import importlib
import re
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from cli_parts import invoke
from page_outputs import read_blocks
from small_scenes import cut_scenes

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "stereo_framework"
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
COMMAND = "stereo-framework run ssd"
"""Beginning of the command whose calls the page lists."""

PATH = re.compile(r"`((?:[\w.]+/)+[\w.]+\.\w+|\w+\.toml)`")
"""A path in the text of a page."""
NAME_IN_FILE = re.compile(r"`([\w.]+)`\s+in\s+`([\w/]+\.py)`")
"""A name that is defined in a file, as pages write it, on one line or on two."""


class Definition(NamedTuple):
    """A class, function or method, or another name of a module, and its file.

    Parameters
    ----------
    name : str
        Name such as ``load`` or ``Store.add``.
    file : str
        Path in the package, such as ``sweep/store.py``.
    """

    name: str
    file: str

    def __str__(self):
        return f"{self.name} in {self.file}"


# --- Parts of the page ----------------------------------------------------------------


def section(text, heading):
    """Return the text of a section of a page, without its heading."""
    pattern = rf"^##+ {re.escape(heading)}\n(.*?)(?=^##|\Z)"
    match = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    assert match is not None, f"the page has no section '{heading}'"
    return match[1]


def table_rows(text):
    """Return the rows of all tables in a text; a row maps each column to its cell."""
    rows = []
    header = None
    for line in text.splitlines():
        if not line.startswith("|"):
            header = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if header is None:
            header = [cell.strip("| ") for cell in cells]
        elif not set(line) <= set("|- "):
            rows.append(dict(zip(header, cells, strict=True)))
    return rows


def definitions_on(text):
    """Return all definitions that a page names in its tables and sentences."""
    definitions = [Definition(*match) for match in NAME_IN_FILE.findall(text)]
    for row in table_rows(text):
        for column in ("object", "function"):
            if column in row:
                definitions.append(Definition(row[column].strip("`"), row["file"].strip("`")))
    return definitions


def listed_calls(text):
    """Return the functions in the table of calls, in the order of the table."""
    rows = table_rows(section(text, "From the command to the report"))
    return [Definition(row["function"].strip("`"), row["file"].strip("`")) for row in rows]


def layers_of_picture(text):
    """Return the names in each layer of the picture, from the highest layer down.

    Each line above and below the two rules begins with the name of a layer. The names
    between the rules form one layer.
    """
    [block] = read_blocks("page", section(text, "Packages"))
    layers = []
    is_between_rules = False
    for line in block.text.splitlines():
        if line.startswith("─"):
            is_between_rules = not is_between_rules
            if is_between_rules:
                layers.append(set())
        elif is_between_rules:
            layers[-1].update(line.split())
        else:
            layers.append({line.split()[0]})
    return layers


# --- The code -------------------------------------------------------------------------


def path_of(name):
    """Return a file that a page names by its path in the package or the repository."""
    in_package = PACKAGE / name
    return in_package if in_package.exists() else ROOT / name


@functools.cache
def syntax_tree(file):
    """Return the syntax tree of a file."""
    return ast.parse(path_of(file).read_text("utf-8"))


@functools.cache
def defined_names(file):
    """Return the names of the classes, functions, methods and variables of a file."""
    names = set()
    for node in syntax_tree(file).body:
        names.update(_names_of_statement(node))
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                names.update(f"{node.name}.{name}" for name in _names_of_statement(part))
    return names


def _names_of_statement(node):
    """Return the names that a definition or an assignment binds."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


@functools.cache
def identifiers(file):
    """Return all names of variables, attributes, arguments and functions in a file."""
    names = set()
    for node in ast.walk(syntax_tree(file)):
        for field in ("id", "attr", "arg", "name"):
            names.add(getattr(node, field, None))
    return names


def layers_of_contract():
    """Return the names in each layer of the packages that import-linter checks."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    name = "Imports go down the floors only"
    [contract] = [contract for contract in contracts if contract["name"] == name]
    layers = []
    for layer in contract["layers"]:
        modules = [module.strip() for module in layer.split("|")]
        layers.append({module.removeprefix("stereo_framework.") for module in modules})
    return layers


# --- Complaints -----------------------------------------------------------------------


def complaints_about_files(text):
    """List the paths on a page that do not exist."""
    return [f"{name} does not exist" for name in PATH.findall(text) if not path_of(name).exists()]


def complaints_about_definitions(text):
    """List the names on a page that are not defined in the file of their row."""
    complaints = []
    for definition in definitions_on(text):
        if not path_of(definition.file).exists():
            complaints.append(f"{definition.file} does not exist")
        elif definition.name not in defined_names(definition.file):
            complaints.append(f"{definition.name} is not defined in {definition.file}")
    return complaints


def complaints_about_calls(text, calls):
    """List the functions of the table that were not called, or not in this order.

    Parameters
    ----------
    text : str
        Text of the page.
    calls : list of Definition
        All called functions, in the order of their first calls.
    """
    listed = listed_calls(text)
    missing = [definition for definition in listed if definition not in calls]
    if missing:
        return [f"the run does not call {definition}" for definition in missing]
    positions = [calls.index(definition) for definition in listed]
    complaints = []
    for number in range(1, len(listed)):
        if positions[number] <= positions[number - 1]:
            complaints.append(f"{listed[number]} is called before {listed[number - 1]}")
    return complaints


def complaints_about_glossary(text):
    """List the terms of the glossary that do not occur in the file of their row."""
    complaints = []
    for row in table_rows(section(text, "Glossary of code terms")):
        term = row["term"]
        name, file = row["name in the code"].strip("`"), row["file"].strip("`")
        if name not in identifiers(file):
            complaints.append(f"{file} has no variable, attribute or definition {name}")
        whole_term = rf"\b{re.escape(term)}s?\b"
        if not re.search(whole_term, path_of(file).read_text("utf-8").lower()):
            complaints.append(f"{file} does not contain the term '{term}'")
        words = term.replace(" ", "_")
        if not (words.startswith(name.lower()) or name.lower().startswith(words)):
            complaints.append(f"the name {name} and the term '{term}' do not begin alike")
    return complaints


# --- The recorded run -----------------------------------------------------------------


class CallRecorder:
    """A profiler that records the first call of each function of the package.

    Attributes
    ----------
    calls : dict of Definition to None
        The functions, in the order of their first calls. A method that is called for a
        subclass is not recorded.
    """

    def __init__(self):
        self.calls = {}

    def __call__(self, frame, event, argument):
        """Record the function of a frame; Python calls this method at each event."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(f"{PACKAGE}/"):
            return
        file = Path(code.co_filename).relative_to(PACKAGE).as_posix()
        definition = Definition(code.co_qualname, file)
        if definition not in self.calls and not _is_call_for_subclass(frame):
            self.calls[definition] = None

    def wrap_kernel(self, definition, patch):
        """Record the calls of a kernel, which the profiler of Python may not see."""
        module_name = definition.file.removesuffix(".py").replace("/", ".")
        module = importlib.import_module(f"stereo_framework.{module_name}")
        kernel = getattr(module, definition.name)

        def recorded_kernel(*arguments):
            self.calls.setdefault(definition)
            return kernel(*arguments)

        patch.setattr(module, definition.name, recorded_kernel)


def _is_call_for_subclass(frame):
    """Return whether a method is called for an instance of a subclass."""
    class_name = frame.f_code.co_qualname.rpartition(".")[0]
    instance = frame.f_locals.get("self")
    return instance is not None and type(instance).__name__ != class_name


def command_of_page(text):
    """Return the words of the command whose calls the page lists."""
    lines = section(text, "From the command to the report").splitlines()
    [line] = [line for line in lines if line.startswith(COMMAND)]
    return line.split()[1:]


@pytest.fixture(scope="module")
def run_of_page(tmp_path_factory):
    """Run the command of the page; return the calls and the folder of the results."""
    recorder = CallRecorder()
    words = command_of_page(PAGE)
    folder = tmp_path_factory.mktemp("run")
    previous_profiler = sys.getprofile()
    with pytest.MonkeyPatch.context() as patch:
        cut_scenes(patch)
        patch.chdir(folder)
        [kernel] = [call for call in listed_calls(PAGE) if call.name == "_kernel"]
        recorder.wrap_kernel(kernel, patch)
        sys.setprofile(recorder)
        try:
            result = invoke(*words)
        finally:
            sys.setprofile(previous_profiler)
    assert result.exit_code == 0, result.output
    return list(recorder.calls), folder / words[words.index("--out") + 1]


# --- Tests ----------------------------------------------------------------------------

TEXTS = [PAGE, section(CONTRIBUTING, "Where to change the package")]
"""The page, and the table in CONTRIBUTING that lists the files to change."""


@pytest.mark.parametrize("text", TEXTS, ids=["architecture", "contributing"])
def test_every_file_that_a_text_names_exists(text):
    assert PATH.findall(text)
    assert complaints_about_files(text) == []


@pytest.mark.parametrize("text", TEXTS, ids=["architecture", "contributing"])
def test_every_name_in_a_table_is_defined_in_the_file_of_its_row(text):
    assert definitions_on(text)
    assert complaints_about_definitions(text) == []


def test_a_run_makes_the_listed_calls_in_the_listed_order(run_of_page):
    calls, _ = run_of_page
    assert complaints_about_calls(PAGE, calls) == []


def test_a_run_writes_the_files_that_the_table_of_calls_names(run_of_page):
    _, folder = run_of_page
    text = section(PAGE, "From the command to the report")
    for name in ("results.sqlite", "report.html", "maps"):
        assert f"`{name}`" in text
        assert (folder / name).exists()


def test_the_terms_of_the_glossary_occur_in_the_code():
    assert complaints_about_glossary(PAGE) == []


def test_the_picture_of_the_packages_shows_the_layers_of_the_import_contract():
    assert layers_of_picture(PAGE) == layers_of_contract()


def test_the_list_of_packages_in_contributing_has_the_layers_of_the_import_contract():
    [block] = read_blocks("CONTRIBUTING.md", section(CONTRIBUTING, "Packages"))
    layers = [set(line.split()) for line in block.text.splitlines()]
    # `stages` and `parts` are modules, and the list contains only packages.
    modules = ({"stages"}, {"parts"})
    assert layers == [layer for layer in layers_of_contract() if layer not in modules]


def test_the_reading_order_has_at_most_ten_files():
    rows = table_rows(section(PAGE, "Reading order"))
    assert 1 <= len(rows) <= 10


# --- Each check reports a mistake -----------------------------------------------------


def changed(old, new):
    """Return the page with one text replaced; the page must contain this text."""
    assert old in PAGE, f"the page does not contain {old!r}; adapt the planted mistake"
    return PAGE.replace(old, new, 1)


@pytest.mark.parametrize("file", ["engine/walking.py", "engine/runner/plans.py", "setup.toml"])
def test_a_file_that_does_not_exist_is_reported(file):
    assert complaints_about_files(changed("`pyproject.toml`", f"`{file}`")) == [
        f"{file} does not exist"
    ]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("| `Estimate` |", "| `Match` |", "Match is not defined in core/estimate.py"),
        (
            "`load` in `script/load.py`",
            "`load` in `script/model.py`",
            "load is not defined in script/model.py",
        ),
        (
            "| `Store.add` | `sweep/store.py` |",
            "| `Store.append` | `sweep/store.py` |",
            "Store.append is not defined in sweep/store.py",
        ),
        (
            "| `Store.add` | `sweep/store.py` |",
            "| `Store.add` | `sweep/stores.py` |",
            "sweep/stores.py does not exist",
        ),
    ],
)
def test_a_name_that_its_file_does_not_define_is_reported(old, new, complaint):
    assert complaints_about_definitions(changed(old, new)) == [complaint]


def _rows_of_calls(*calls):
    """Return a page with a table of calls."""
    rows = [f"| `{call.name}` | `{call.file}` | effect |" for call in calls]
    lines = ["## From the command to the report", "", "| function | file | effect of the call |"]
    return "\n".join([*lines, "| --- | --- | --- |", *rows, ""])


def test_each_exchange_of_two_neighbouring_calls_is_reported(run_of_page):
    calls, _ = run_of_page
    listed = listed_calls(PAGE)
    for number in range(len(listed) - 1):
        first, second = listed[number], listed[number + 1]
        exchanged = [*listed[:number], second, first, *listed[number + 2 :]]
        complaints = complaints_about_calls(_rows_of_calls(*exchanged), calls)
        assert f"{first} is called before {second}" in complaints


@pytest.mark.parametrize(
    "uncalled",
    [
        Definition("tune", "cli/tune.py"),
        Definition("census", "matching_cost/census.py"),
        Definition("PipelineRunner._call_scheme", "engine/runner.py"),
    ],
    ids=str,
)
def test_a_function_that_the_run_does_not_call_is_reported(uncalled, run_of_page):
    calls, _ = run_of_page
    text = _rows_of_calls(*listed_calls(PAGE), uncalled)
    assert uncalled.name in defined_names(uncalled.file)
    assert complaints_about_calls(text, calls) == [f"the run does not call {uncalled}"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "`checkpoints`",
            "`checkpoint_set`",
            "engine/plans.py has no variable, attribute or definition checkpoint_set",
        ),
        (
            "| checkpoint |",
            "| waypoint |",
            "engine/plans.py does not contain the term 'waypoint'",
        ),
        (
            "| `octaves` | `scheme/pyramid.py` |",
            "| `octaves` | `scheme/tiles.py` |",
            "scheme/tiles.py has no variable, attribute or definition octaves",
        ),
        (
            "| `Beginning` |",
            "| `State` |",
            "the name State and the term 'beginning' do not begin alike",
        ),
    ],
)
def test_a_term_that_the_code_does_not_have_is_reported(old, new, complaint):
    assert complaint in complaints_about_glossary(changed(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\nscript       parameter", "\nscripts      parameter"),
        ("\nio           image", "\nimages       image"),
        ("evaluation      datasets", "evaluation"),
        ("\nuser_pair    matching", "\nfigures      matching"),
        ("optimization    confidence", "optimization    confidence    kernels"),
    ],
)
def test_a_picture_with_a_wrong_package_is_not_the_import_contract(old, new):
    assert layers_of_picture(changed(old, new)) != layers_of_contract()


def test_a_picture_with_two_exchanged_layers_is_not_the_import_contract():
    lines = {name: re.search(rf"^{name}  .*\n", PAGE, re.MULTILINE)[0] for name in ("io", "core")}
    text = changed(lines["io"] + lines["core"], lines["core"] + lines["io"])
    assert layers_of_picture(text) != layers_of_contract()
