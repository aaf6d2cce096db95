"""Pages of the site that are generated from the program: its methods, stages and commands, the keys of scripts, and its Python names."""

import functools
import importlib
import inspect
import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import typer

import stereo_framework
from stereo_framework.cli import main as command_line
from stereo_framework.cli.stages import slot_row
from stereo_framework.core.docstrings import parameter_descriptions
from stereo_framework.core.package_files import package_folder
from stereo_framework.core.parameters import as_yaml, describe
from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.stage import Stage
from stereo_framework.core.step import Step
from stereo_framework.script import load, schema

ROOMS = {
    "Stages": [*SLOTS],
    "Measuring": ["evaluation", "evaluation.hci", "evaluation.roc"],
    "Data": [
        "core.scene",
        "core.search",
        "core.pair",
        "core.volume",
        "core.estimate",
        "datasets",
        "io",
    ],
    "Running": [
        "user_pair",
        "engine.pipeline",
        "core.step",
        "script",
        "sweep",
        "tables.results",
        "figures.notebook",
        "core.threads",
    ],
    "Adding more": [
        "evaluation.user_metrics",
        "evaluation.protocols",
        "figures.chart",
        "tables.differences",
        "tables.ranking",
    ],
    "Writing stages": [
        "stages",
        "parts",
        "core.registration",
        "core.stage",
        "core.parameters",
        "core.view",
        "core.cost_of_pairs",
        "core.auxiliary_maps",
        "core.call_context",
        "core.errors",
    ],
}
"""Modules whose public names are documented, each on a page of its own."""


def pages(docs: Path) -> dict[str, str]:
    """All pages that are generated completely, by their place on the site."""
    made = {
        f"methods/{name}.md": method_page(name, docs)
        for name in methods()
        if not (docs / "methods" / f"{name}.md").exists()
    }
    made |= {f"reference/stages/{slot}.md": slot_page(slot, docs) for slot in SLOTS}
    made |= {"reference/command_line.md": commands_page(), "reference/script.md": script_page()}
    made |= {
        f"reference/python/{room}.md": python_page(room)
        for rooms in ROOMS.values()
        for room in rooms
    }
    return made | {
        "reference/python/index.md": names_page(),
        "howto/examples.md": examples_page(docs.parent / "examples"),
    }


def appended(uri: str, docs: Path) -> str:
    """The generated part at the end of a written page."""
    if uri == "methods/README.md":
        return "\n## All stages\n\n" + "\n".join(map(stage_list, SLOTS))
    name = re.fullmatch(r"methods/(\w+)\.md", uri)
    return "\n" + method_details(name[1], docs) if name and name[1] in methods() else ""


@functools.cache
def methods() -> tuple[str, ...]:
    """Names of the methods that ship as scripts."""
    return tuple(sorted(path.stem for path in (package_folder() / "methods").glob("*.yaml")))


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; empty without rows."""
    lines = [
        header,
        ["---"] * len(header),
        *([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n" if rows else ""


# --- methods --------------------------------------------------------------------------------------------------------------


def method_page(name: str, docs: Path) -> str:
    """The page of a method that has no written one: the comment of its script, and the generated part."""
    said, _ = _script(name)
    about = [
        page
        for page in sorted(docs.glob("*.md"))
        if name in re.findall(r"\w+", page.read_text().partition("\n")[0])
    ]
    return (
        "\n\n".join(
            [
                f"# {name}",
                said,
                *(f"[A page of its own](../{page.name}) tells more of it." for page in about),
            ]
        )
        + "\n"
    )


def method_details(name: str, docs: Path) -> str:
    """A method's results, the stages it consists of, and its script."""
    _, script = _script(name)
    rows = _rows_of_method(name, docs)
    parts = [f"## How `{name}` did\n", rows] if rows else []
    parts += [f"## What `{name}` is made of\n", _made_of(name, docs), f"## The script `{name}`\n"]
    told = f"`stereo-framework run {name} --scene SCENE` runs it, and `--set` changes a parameter. A script of yours begins with `include: {name}`."
    parts += [f"```yaml\n{script}```\n", f"{told}\n"]
    return "\n".join(parts)


def _script(name: str) -> tuple[str, str]:
    """The comment at the head of a script, as Markdown, and the rest of the script."""
    text = (package_folder() / "methods" / f"{name}.yaml").read_text()
    head = re.match(r"(?:#.*\n)*", text)[0]  # type: ignore[index]
    paragraphs = re.sub(r"^# ?", "", head, flags=re.MULTILINE).strip().split("\n\n")
    said = [re.sub(r"\s+", " ", p) for p in paragraphs if not p.startswith("    ")]
    commands = [p.strip() for p in paragraphs if p.startswith("    ")]
    return "\n\n".join([*said, *(f"```sh\n{command}\n```" for command in commands)]), text[
        len(head) :
    ].lstrip()


def _rows_of_method(name: str, docs: Path) -> str:
    """Return a method's rows of the tables of docs/results.md as a table."""
    rows = []
    for section in re.split(r"^## ", (docs / "results.md").read_text(), flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        link = f"[{heading}](../results.md#{_slug(heading)})"
        # Blocks between markers are tables, or sentences, which do not begin with a vertical bar.
        for block in re.findall(r"<!-- \w+ -->\n(\|.*?)<!-- end -->", section, re.DOTALL):
            header, _, *lines = [
                [cell.strip() for cell in line.strip("|").split("|")]
                for line in block.strip().splitlines()
            ]
            for place, cells in enumerate(lines, 1):
                if cells[0] == f"`{name}`":
                    seconds = cells[header.index("seconds")] if "seconds" in header else ""
                    rows.append([link, header[1], cells[1], f"{place} of {len(lines)}", seconds])
    return table(["scenes", "metric", "bad pixels, %", "place", "seconds"], rows)


def _slug(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _made_of(name: str, docs: Path) -> str:
    pipeline = load(name).settings[0].pipeline
    rows = []
    addressed_steps: list[tuple[str, Step]] = []
    for address, step in pipeline.addressed_steps():
        addressed_steps += step.walk(address)
    for place, bound in addressed_steps:
        texts = parameter_descriptions(bound.stage.function)
        written = (
            f"{bound.stage.name}.md"
            if (docs / "methods" / f"{bound.stage.name}.md").exists()
            else ""
        )
        link = f"[`{bound.stage.name}`]({written or f'../reference/stages/{bound.stage.slot}.md#{bound.stage.name}'})"
        values = [
            (f"`{n}`", _spelled(bound.parameters[n]), texts.get(n, ""))
            for n in bound.stage.parameters
        ] or [("", "", "")]
        for i, told in enumerate(values):
            rows.append([*(("", "") if i else (place.partition(".")[0], link)), *told])
    others = ", ".join(f"`{n}`" for n, _ in pipeline.auxiliary)
    before = f"\nBefore it, other methods run whose maps its stages look at: {others}. The script says which they are.\n"
    return table(["slot", "stage", "parameter", "value here", "what it is"], rows) + (
        before if others else ""
    )


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else as_yaml(value)


# --- reference ------------------------------------------------------------------------------------------------------------


def slot_page(slot: str, docs: Path) -> str:
    """All stages of a slot."""
    _, first, named, returned = slot_row(slot)
    besides = "" if named == "-" else f" They may name {_code(named)} besides."
    parts = [
        f"# {slot}\n",
        f"Stages of this slot get {_code(first)}.{besides} They return: {returned}.\n",
    ]
    own = [s for s in stages(slot) if s.function.__module__.startswith("stereo_framework.")]
    return "\n".join([*parts, *(_stage(s, docs) for s in own)])


def stage_list(slot: str) -> str:
    """A line for each stage of a slot, with a link to all that is known of it."""
    own = [s for s in stages(slot) if s.function.__module__.startswith("stereo_framework.")]
    lines = [f"- [`{s.name}`](../reference/stages/{slot}.md#{s.name}): {s.summary}" for s in own]
    return "\n".join([f"### {slot}\n", *lines, ""])


def _code(names: str) -> str:
    return re.sub(r"\b(?!or\b)\w+", r"`\g<0>`", names)


def _stage(stage: Stage, docs: Path) -> str:
    texts = parameter_descriptions(stage.function)
    rows = [
        [
            f"`{n}`",
            describe(p.annotation),
            f"`{_spelled(p.default)}`",
            stage.unit(n),
            texts.get(n, ""),
        ]
        for n, p in stage.parameters.items()
    ]
    page = docs / "methods" / f"{stage.name}.md"
    more = f" It has [a page of its own](../../methods/{stage.name}.md)." if page.exists() else ""
    lines = [f"## {stage.name}\n", f"{stage.summary} Source: {stage.source}.{more}\n"]
    return "\n".join(
        [
            *lines,
            table(["parameter", "allowed", "default", "unit", "what it is"], rows)
            or "It has no parameters.\n",
        ]
    )


def commands_page() -> str:
    """Return a page about all commands, with their arguments and options."""
    program = typer.main.get_command(command_line.app)
    said = "`stereo-framework COMMAND --help` prints what stands here. `python -m stereo_framework` is the same program."
    parts = ["# Command line\n", f"{said}\n"]
    for name, command in program.commands.items():  # type: ignore[attr-defined]
        about = [
            re.sub(r"\s+", " ", part)
            for part in (command.help or "").replace("\b\n", "").split("\n\n")
        ]
        text = [
            f"    {p.strip().removeprefix('Example: ')}" if p.strip().startswith("Example: ") else p
            for p in about
        ]
        kinds = inspect.signature(command.callback).parameters
        rows = [
            _option(p, kinds[p.name].annotation)
            for p in command.params
            if p.name in kinds and not p.hidden
        ]
        parts += [
            f"## {name}\n",
            "\n\n".join(text) + "\n",
            table(["argument or option", "takes", "what it is"], rows),
        ]
    return "\n".join(parts)


KINDS = {"str": "text", "Path": "path", "int": "whole number", "float": "number"}


def _option(parameter: Any, annotation: Any) -> list[str]:
    while get_args(annotation):
        annotation = get_args(annotation)[0]
    takes = "" if annotation is bool else parameter.metavar or KINDS[annotation.__name__]
    option = parameter.param_type_name == "option"
    names = (
        [*parameter.opts, *parameter.secondary_opts]
        if option
        else [parameter.metavar or parameter.name]
    )
    default = (
        f" Default: `{parameter.default}`."
        if takes and parameter.default not in (None, [], ())
        else ""
    )
    return [", ".join(f"`{n}`" for n in names), takes, f"{parameter.help or ''}{default}"]


def script_page() -> str:
    """The keys of parameter scripts, from their JSON Schema."""
    made = schema()
    said = "A script is a YAML file. `stereo-framework check --schema` prints the JSON Schema that its keys below are taken from, for your editor."
    parts = ["# Parameter scripts\n", f"{said}\n"]
    rows = [[f"`{name}`", *_key(made, node)] for name, node in made["properties"].items()]
    parts += ["## Keys\n", table(["key", "takes", "what it says"], rows)]
    for name in ("search", "evaluation", "sweep"):
        parts += [f"## {name}\n", _keys(made, made["properties"][name])]
    ranges = ", ".join(
        f"`{{{key}: ...}}`"
        for one in made["$defs"]["axis"]["anyOf"]
        for key in one.get("required", [])
    )
    parts.append(f"An axis takes a list of values, or one of {ranges}.\n")
    for name, node in made["properties"]["report"]["properties"].items():
        below = node.get("additionalProperties", {})
        parts += [
            f"## report.{name}\n",
            f"{_text(made, node)} {_text(made, below)}\n",
            _keys(made, below),
        ]
    said = "A slot takes the name of a stage, `{use: NAME, parameter: value}`, or, where it says so, a list of these."
    rows = [
        [f"[{first}](stages/{slot}.md)", *rest]
        for slot in SLOTS
        for first, *rest in [slot_row(slot)]
    ]
    parts += [
        "## Slots\n",
        f"{said}\n",
        table(["slot", "its stages get", "and may name", "they return"], rows),
    ]
    return "\n".join(parts)


TYPES = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "object": "mapping",
    "array": "list",
}


def _resolved(made: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    return made["$defs"][node["$ref"].rpartition("/")[2]] | node if "$ref" in node else node


def _text(made: dict[str, Any], node: dict[str, Any]) -> str:
    return _resolved(made, node).get("description", "").replace("``", "`")


def _keys(made: dict[str, Any], node: dict[str, Any]) -> str:
    properties = _resolved(made, node)["properties"]
    return table(
        ["key", "takes", "what it says"],
        [[f"`{name}`", *_key(made, below)] for name, below in properties.items()],
    )


def _key(made: dict[str, Any], node: dict[str, Any]) -> list[str]:
    node = _resolved(made, node)
    return [_kinds(made, node), _text(made, node)]


def _kinds(made: dict[str, Any], node: dict[str, Any]) -> str:
    """What a value may be, in words; for names from a pattern or a long list, only that they are names."""
    node = _resolved(made, node)
    if "enum" in node and len(node["enum"]) <= 6:
        return ", ".join("none" if value is None else f"`{value}`" for value in node["enum"])
    if "anyOf" in node:
        return " or ".join(
            dict.fromkeys(filter(None, (_kinds(made, one) for one in node["anyOf"])))
        )
    kinds = node.get("type", "string")
    return " or ".join(
        TYPES[k] for k in ([kinds] if isinstance(kinds, str) else kinds) if k in TYPES
    )


def python_page(room: str) -> str:
    """The docstrings of a module's public names."""
    module = importlib.import_module(f"stereo_framework.{room}")
    parts = [f"# {room}\n", f"{_about(module)} `from {module.__name__} import ...`\n"]
    parts.append(_names_of_other_modules(module))
    # By their home: a function and its module may have one name.
    return "\n".join(
        [*parts, *(f"::: {home}\n" for name in _public(module) if (home := _home(module, name)))]
    )


def _names_of_other_modules(module: ModuleType) -> str:
    """Return a table of the public names that other modules define."""
    documented_modules = {f"stereo_framework.{room}" for room in itertools.chain(*ROOMS.values())}
    rows = []
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        home = str(getattr(value, "__module__", ""))
        if home.startswith(module.__name__):
            continue
        if isinstance(value, Mapping | tuple | frozenset):
            # A table of the module, which is no type of parameters.
            continue
        if isinstance(value, type) or inspect.isroutine(value):
            link = f"[`{name}`][{home}.{name}]" if home in documented_modules else f"`{name}`"
            rows.append([link, _about(value)])
        else:  # A type of parameters, which has no docstring of its own.
            rows.append([f"`{name}`", describe(value)])
    return table(["name", "description"], rows)


def _public(module: ModuleType) -> list[str]:
    own = (
        name
        for name, value in vars(module).items()
        if str(getattr(value, "__module__", "")).startswith(module.__name__)
    )
    return sorted(getattr(module, "__all__", own), key=str.lower)


def _home(module: ModuleType, name: str) -> str:
    """Where a function or class is documented; empty for what is neither, private, or has a home on another page."""
    value = getattr(module, name)
    home = str(getattr(value, "__module__", ""))
    documented = inspect.isroutine(value) or inspect.isclass(value)
    return (
        f"{home}.{name}"
        if documented and not name.startswith("_") and home.startswith(module.__name__)
        else ""
    )


def names_page() -> str:
    """The names of the package itself, each with where it comes from."""
    rows = []
    for name in sorted(stereo_framework._HOMES, key=str.lower):
        value = getattr(stereo_framework, name)
        if value.__module__.startswith("stereo_framework."):
            rows.append([f"[`{name}`][{value.__module__}.{name}]", _about(value)])
        else:  # a type of parameters, which has no page of its own
            rows.append([f"`{name}`", describe(value)])
    said = "What `import stereo_framework` gives; names load on first use."
    parts = ["# stereo_framework\n", f"{said}\n", table(["name", "what it is"], rows)]
    for title, rooms in ROOMS.items():
        about = [
            [f"[`{room}`]({room}.md)", _about(importlib.import_module(f"stereo_framework.{room}"))]
            for room in rooms
        ]
        parts += [f"## {title}\n", table(["module", "what it is"], about)]
    return "\n".join(parts)


def _about(documented: Any) -> str:
    return (documented.__doc__ or "").strip().partition("\n")[0]


def examples_page(folder: Path) -> str:
    """The programs and stages of examples, to copy from."""
    said = (
        "Programs at three depths, a complete stage of each slot, and a stage that contains "
        "another stage. `stereo-framework stages --new NAME --slot SLOT` writes a stage of a slot."
    )
    stages_of_slots = [f"stages/{slot}" for slot in SLOTS]
    names = ["simple", "advanced", "expert", *stages_of_slots, "inner/stability"]
    files = [folder / f"{name}.py" for name in names]
    return "\n".join(
        [
            f"# Examples\n\n{said}\n",
            *(f"## {file.stem}\n\n```python\n{file.read_text()}```\n" for file in files),
        ]
    )
