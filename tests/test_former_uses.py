"""No former name has its former role in the package, its pages and its tests."""

import ast
import functools
import json
import re
from pathlib import Path

import pytest
import typer.main
import yaml

from stereo_framework.cli.main import app
from stereo_framework.core import former_names
from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS

ROOT = Path(__file__).parents[1]
FOLDERS = ("stereo_framework", "configs", "docs", "tests", "benchmarks", "examples", "scripts")
FILES = ("README.md", "CONTRIBUTING.md", "mkdocs.yml", "pyproject.toml")
TEXTS = (".py", ".md", ".yaml", ".yml", ".ipynb", ".txt", ".toml", ".sh")

EXEMPT = (
    "docs/names.md",
    "stereo_framework/core/former_names.py",
    "stereo_framework/core/former_names.yaml",
    "tests/former_definitions.yaml",
    "tests/sweep/test_former_results.py",
    "tests/test_former_names.py",
    "tests/test_former_uses.py",
)
"""Files that hold former names on purpose."""

FORMER = yaml.safe_load(Path(__file__).with_name("former_definitions.yaml").read_text())
TABLE = former_names.table()


def former_names_in(section):
    """Return the places and the former names of a section of the table."""
    names_with_places = []
    for place, names in TABLE[section].items():
        names_with_places += [(place, name) for name in names]
    return names_with_places


PARAMETERS = former_names_in("stage_parameters")
OPTIONS = former_names_in("command_options")
MODULE_NAMES = former_names_in("module_names")

# Alternatives and measures have a separate test. The others have other roles, too.
ATTRIBUTES = {name for _, name in former_names_in("attributes")}
ATTRIBUTES -= {"alternatives", "measures", "matched", "place", "runs"}


# --- the files ------------------------------------------------------------------------


@functools.cache
def texts():
    """Return the lines of all files by path; of a notebook the lines of its cells."""
    paths = [ROOT / name for name in FILES]
    for folder in FOLDERS:
        paths += [path for path in (ROOT / folder).rglob("*") if path.suffix in TEXTS]
    contents = {}
    for path in sorted(path for path in paths if path.is_file()):
        name = path.relative_to(ROOT).as_posix()
        if name not in EXEMPT and "__pycache__" not in name:
            contents[name] = _text(path)
    return contents


def _text(path):
    text = path.read_text("utf-8", errors="replace")
    if path.suffix != ".ipynb":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])


@functools.cache
def trees():
    """Return the syntax trees of all Python files by path."""
    paths = [path for path in texts() if path.endswith(".py")]
    valid_paths = [path for path in paths if "examples/stages/broken" not in path]
    return {path: ast.parse(texts()[path]) for path in valid_paths}


@functools.cache
def nodes(kind):
    """Return all nodes of a kind in all Python files, with the paths of the files."""
    found = []
    for name, tree in trees().items():
        found += [(name, node) for node in ast.walk(tree) if isinstance(node, kind)]
    return found


def places_of(pattern, word, *, is_code_included=True):
    """Return the places at which a regular expression matches.

    Parameters
    ----------
    pattern : str
    word : str
        A part of each match. Files without it are skipped, which saves much time.
    is_code_included : bool
        Whether Python files are searched as a whole. Otherwise only their texts are.
    """
    places = []
    for name, text in texts().items():
        if word not in text:
            continue
        parts = [(1, text)]
        if name in trees() and not is_code_included:
            constants = [node for node in ast.walk(trees()[name]) if isinstance(node, ast.Constant)]
            strings = [node for node in constants if isinstance(node.value, str)]
            parts = [(node.lineno, node.value) for node in strings]
        for first_line, part in parts:
            for match in re.finditer(pattern, part):
                line = first_line + part.count("\n", 0, match.start())
                places.append(f"{name}:{line}: {match[0].strip()[:80]!r}")
    return places


def list_places(places):
    """Return places as a text of one line each, for the message of a failing test."""
    return "\n".join(["", *places])


def uses_as_attribute_or_argument(name):
    """Return the places at which an attribute or an argument of a call has a name."""
    places = []
    for file, node in nodes((ast.Attribute, ast.keyword)):
        if isinstance(node, ast.Attribute) and node.attr == name:
            places.append(f"{file}:{node.lineno}: .{name}")
        elif isinstance(node, ast.keyword) and node.arg == name:
            places.append(f"{file}:{node.value.lineno}: {name}=")
    return places


# --- parameters of stages -------------------------------------------------------------


def stages_of(place):
    """Return the names of the stages at a place of the table."""
    slot, _, name = place.partition(".")
    return [stage.name for stage in stages(slot)] if name == "*" else [name]


def is_a_parameter_in_slot(slot, name):
    return any(name in stage.parameters for stage in stages(slot))


@pytest.mark.parametrize(("place", "former"), PARAMETERS)
def test_no_script_sets_a_former_parameter(place, former):
    pattern = rf"use: ({'|'.join(stages_of(place))})\b[^}}\n]*?[,{{ ]{former}: "
    if place.startswith("matcher.maps"):
        pattern = rf"{pattern}|\bmaps: \{{[^}}\n]*\b{former}: "
    block = rf"use: ({'|'.join(stages_of(place))})\n(?: +(?!-)\w+: .*\n)* +{former}: "
    assert not (places := places_of(f"{pattern}|{block}", former)), list_places(places)


@pytest.mark.parametrize(("place", "former"), PARAMETERS)
def test_no_address_names_a_former_parameter(place, former):
    slot, _, name = place.partition(".")
    addresses = [rf"{slot}\.{stage}\.{former}" for stage in stages_of(place)]
    if not is_a_parameter_in_slot(slot, former):
        addresses.append(rf"{slot}\.{former}")
    if name != "*" and name not in SLOTS and len(name) > 4:
        addresses.append(rf"(?<![\w.]){name}\.{former}")
    pattern = rf"(?<![\w/])({'|'.join(addresses)})(?![\w(/-]|\.(?:py|md))"
    assert not (places := places_of(pattern, former)), list_places(places)


@pytest.mark.parametrize(("place", "former"), PARAMETERS)
def test_no_call_gives_a_former_parameter(place, former):
    names = set(stages_of(place))
    places = []
    for file, call in nodes(ast.Call):
        keywords = [keyword for keyword in call.keywords if keyword.arg == former]
        if keywords and names & _stages_in_call(call):
            places.append(f"{file}:{keywords[0].value.lineno}: {former}=")
    assert not places, list_places(places)


def _stages_in_call(call):
    """Return the names of stages that a call can mean by its function or argument."""
    values = [call.func, *call.args[:1]]
    names = {value.id for value in values if isinstance(value, ast.Name)}
    names |= {value.attr for value in values if isinstance(value, ast.Attribute)}
    constants = [value.value for value in call.args[:1] if isinstance(value, ast.Constant)]
    names |= {str(value).rpartition(".")[2] for value in constants}
    return names


@pytest.mark.parametrize(("place", "former"), PARAMETERS)
def test_no_mapping_of_a_stage_holds_a_former_parameter(place, former):
    names = set(stages_of(place))
    places = []
    for file, mapping in nodes(ast.Dict):
        items = zip(mapping.keys, mapping.values, strict=True)
        entries = {key.value: value for key, value in items if isinstance(key, ast.Constant)}
        used = entries.get("use")
        if former in entries and isinstance(used, ast.Constant) and used.value in names:
            places.append(f"{file}:{mapping.lineno}: {former}")
    assert not places, list_places(places)


# --- keys -----------------------------------------------------------------------------


KEY_PATTERNS = {
    "alternatives:": r"(?<![\w.])alternatives: ?(?:\{|\n|null)",
    "alternatives.": r"(?<![\w.])alternatives\.[a-zA-Z_]\w*",
    "measures": r"evaluation[:=]? ?\{[^}\n]*\bmeasures: |(?<![\w`])measures: ?(?:\[|\n *- )"
    r"|evaluation\.measures|base: \w+, [^}\n]*measures?: ",
    "plane_least": r"\bplane_least\b",
    "scale: ": r"truth: \{[^}\n]*\bscale: |truth:\n(?: +\w+: .*\n)* +scale: ",
    "minimum: ": r"truth: \{[^}\n]*\bminimum: |truth:\n(?: +\w+: .*\n)* +minimum: ",
    "truth_free/reference": r"\btruth_free/reference\b",
}
"""Patterns of former keys and script names, by a part of each match."""

CONFIDENCE_MEASURES = (
    "scripts/confidence_tables.py",
    "stereo_framework/refinement/confidence_filter.py",
    "tests/sweep/test_measure_stored_map.py",
    "tests/test_method_claims.py",
)
"""Files in which measures are confidence measures, which keep this name."""

REFUSED_OPTIONS = {"--scale": "tests/cli/test_option_effects.py"}
"""Files with a test that a former option is refused, by the option."""


@pytest.mark.parametrize("word", KEY_PATTERNS)
def test_no_text_holds_a_former_key(word):
    places = places_of(KEY_PATTERNS[word], word, is_code_included=False)
    assert not places, list_places(places)


@pytest.mark.parametrize("former", ["alternatives", "measures", "plane_least"])
def test_no_code_holds_a_former_key_or_attribute(former):
    places = uses_as_attribute_or_argument(former)
    for file, node in nodes(ast.Constant):
        if node.value == former:
            places.append(f"{file}:{node.lineno}: {former!r}")
    if former == "measures":
        places = [place for place in places if not place.startswith(CONFIDENCE_MEASURES)]
    assert not places, list_places(places)


@pytest.mark.parametrize(
    ("decorator", "former"), [("stage", "alternatives"), ("metric", "visible")]
)
def test_no_plug_in_names_a_former_data_argument(decorator, former):
    places = []
    for file, function in nodes(ast.FunctionDef):
        names = [argument.arg for argument in function.args.args]
        if former in names and decorator in _decorators(function):
            places.append(f"{file}:{function.lineno}: {function.name}({former})")
    assert not places, list_places(places)


def _decorators(function):
    """Return the names of the decorators of a function."""
    calls = [item.func if isinstance(item, ast.Call) else item for item in function.decorator_list]
    names = [getattr(call, "id", getattr(call, "attr", "")) for call in calls]
    return set(names)


# --- options --------------------------------------------------------------------------


@functools.cache
def options():
    """Return the options of each command."""
    commands = typer.main.get_command(app).commands
    return {name: _options_of(command) for name, command in commands.items()}


def _options_of(command):
    names = set()
    for parameter in command.params:
        names.update(parameter.opts)
    return names


@pytest.mark.parametrize(("command", "former"), OPTIONS)
def test_no_command_line_uses_a_former_option(command, former):
    others = [name for name in options() if name != command]
    if any(former in options()[name] for name in options()):
        text = rf"stereo-framework {command}\b(?:[^`\n\\]|\\\n)* {former}(?![\w-])"
    else:
        text = rf"(?<![\w-]){former}(?![\w-])"
    places = places_of(text, former)
    for file, call in nodes((ast.Call, ast.Tuple, ast.List)):
        items = call.args if isinstance(call, ast.Call) else call.elts
        words = [item.value for item in items if isinstance(item, ast.Constant)]
        if command in words and former in words and not set(others) & set(words):
            places.append(f"{file}:{call.lineno}: {former}")
    if former in REFUSED_OPTIONS:
        places = [place for place in places if not place.startswith(REFUSED_OPTIONS[former])]
    assert not places, list_places(places)


# --- names of Python ------------------------------------------------------------------


@pytest.mark.parametrize(("module", "former"), MODULE_NAMES)
def test_no_import_and_no_attribute_has_a_former_name(module, former):
    names = [re.escape(module)]
    if module == "stereo_framework":
        names.append("sf")
    module_path = module.removeprefix("stereo_framework.").replace(".", "/")
    patterns = [
        rf"(?<![\w.])(?:{'|'.join(names)})\.{former}(?!\w)",
        rf"from {re.escape(module)} import (?:\w+, )*{former}(?!\w)",
        rf"(?<!\w){module_path}/{former}\.py",
    ]
    assert not (places := places_of("|".join(patterns), former)), list_places(places)


@pytest.mark.parametrize("former", sorted(ATTRIBUTES))
def test_no_code_uses_a_former_attribute_or_argument(former):
    places = uses_as_attribute_or_argument(former)
    assert not places, list_places(places)


@pytest.mark.parametrize("path", FORMER["paths"])
def test_no_file_has_a_former_path(path):
    assert not (ROOT / path).exists()
    short_path = path.removeprefix("stereo_framework/")
    stem = re.escape(short_path.removesuffix(".py"))
    dotted = stem.replace("/", r"\.")
    pattern = rf"(?<![\w/.]){re.escape(short_path)}(?!\w)"
    if path.endswith(".py") and "/" in short_path:
        pattern = rf"{pattern}|(?:stereo_framework|scripts)\.{dotted}(?!\w|\()"
    word = Path(path).stem
    assert not (places := places_of(pattern, word)), list_places(places)


@pytest.mark.parametrize("path", FORMER["definitions"])
def test_no_definition_and_no_import_of_it_has_a_former_name(path):
    formers = FORMER["definitions"][path]
    places = [f"{path}: {name}" for name in formers if name in _definitions(trees()[path])]
    module = path.removesuffix(".py").replace("/", ".")
    for file, node in nodes(ast.ImportFrom):
        if node.module == module:
            imported = {name.name for name in node.names} & set(formers)
            places += [f"{file}:{node.lineno}: import {name}" for name in sorted(imported)]
    assert not places, list_places(places)


def _definitions(tree):
    """Return the names that a module defines; members of classes as Class.member."""
    names = set()
    for node in tree.body:
        names |= _names_of(node)
        if isinstance(node, ast.ClassDef):
            for member in ast.walk(node):
                names |= {f"{node.name}.{name}" for name in _names_of(member)}
    return names


def _names_of(node):
    """Return the names that a statement defines, also by ``self.name = ...``."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return names | {target.attr for target in targets if isinstance(target, ast.Attribute)}


# --- the checks find what they look for -----------------------------------------------


EXAMPLES = {
    "a.py": "import stereo_framework as sf\n"
    "sf.step('census', grey='luma')\n"
    "script = {'use': 'census', 'grey': 'luma'}\n"
    "sf.load(script, overrides=['matching_cost.census.grey=luma'])\n"
    "run(['evaluate', 'map.pfm', '--measure', 'rms_error'])\n"
    "sf.Search(0, 5)\n"
    "from stereo_framework.sweep import outside\n"
    "pipeline.alternatives\n"
    "volume.outside\n"
    "@sf.stage('refinement')\n"
    "def mine(disparity, alternatives): ...\n"
    "from stereo_framework.core.errors import told\n",
    "a.md": "matching_cost: {use: census, width: 5, grey: luma}\n"
    "- use: census\n  width: 5\n  grey: luma\n"
    "alternatives: {a: {}}\n"
    "evaluation: {measures: [a]}\n"
    "truth: {file: a.png, scale: 4, minimum: 2}\n"
    "hci: {plane_least: 0.5}\n"
    "include: truth_free/reference\n"
    "aggregation: alternatives.a.aggregation\n",
}
"""Files with a former name for each check."""

CHECKS = [
    (test_no_script_sets_a_former_parameter, ("matching_cost.census", "grey")),
    (test_no_address_names_a_former_parameter, ("matching_cost.census", "grey")),
    (test_no_call_gives_a_former_parameter, ("matching_cost.census", "grey")),
    (test_no_mapping_of_a_stage_holds_a_former_parameter, ("matching_cost.census", "grey")),
    *((test_no_text_holds_a_former_key, (word,)) for word in KEY_PATTERNS),
    (test_no_code_holds_a_former_key_or_attribute, ("alternatives",)),
    (test_no_plug_in_names_a_former_data_argument, ("stage", "alternatives")),
    (test_no_code_uses_a_former_attribute_or_argument, ("outside",)),
    (test_no_command_line_uses_a_former_option, ("evaluate", "--measure")),
    (test_no_import_and_no_attribute_has_a_former_name, ("stereo_framework", "Search")),
    (test_no_import_and_no_attribute_has_a_former_name, ("stereo_framework.sweep", "outside")),
]


@pytest.mark.parametrize(("check", "arguments"), CHECKS)
def test_each_check_finds_an_example(check, arguments, monkeypatch):
    example_trees = {"a.py": ast.parse(EXAMPLES["a.py"])}
    monkeypatch.setitem(globals(), "texts", lambda: EXAMPLES)
    monkeypatch.setitem(globals(), "trees", lambda: example_trees)
    monkeypatch.setitem(globals(), "nodes", nodes.__wrapped__)
    with pytest.raises(AssertionError, match=r"a\.(py|md):\d+: "):
        check(*arguments)
