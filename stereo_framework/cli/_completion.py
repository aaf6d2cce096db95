"""What shells offer after a TAB: scripts, stages, scenes, keys of --set. It must come at once, so nothing that computes is imported.

Stages are read from their files as text: a family is a folder, its files define functions under ``@stage``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import typer

from stereo_framework.core.shipped import short_script_names
from stereo_framework.core.slots import SLOTS

_PACKAGE = Path(__file__).resolve().parents[1]
_OTHERS = ("search.minimum", "search.maximum", "search.step", "seed", "evaluation.protocol")
"""Keys that may be set besides parameters of stages."""


def stages_of(slot: str) -> dict[str, list[str]]:
    """The parameters of each stage of a slot, by the stage's name."""
    found = {}
    for path in sorted((_PACKAGE / slot).glob("[!_]*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and any(map(_registers, node.decorator_list)):
                found[node.name] = [argument.arg for argument in node.args.kwonlyargs]
    return found


def _registers(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "stage"


def _scripts(context: typer.Context, incomplete: str) -> list[str]:
    return _beginning(short_script_names(), incomplete)


def _slots(context: typer.Context, incomplete: str) -> list[str]:
    return _beginning(SLOTS, incomplete)


def _stages(context: typer.Context, incomplete: str) -> list[str]:
    names = (name for slot in SLOTS for name in stages_of(slot))
    return _beginning([*SLOTS, *names], incomplete)


def _scenes(context: typer.Context, incomplete: str) -> list[str]:

    from stereo_framework.datasets.registry import scene_names

    full = scene_names(context.params.get("data"))
    return _beginning(dict.fromkeys((*full, *(name.rpartition("/")[2] for name in full))), incomplete)


def _settings(context: typer.Context, incomplete: str) -> list[str]:
    """Keys, each with its sign: addresses of parameters as scripts have them."""
    return [f"{key}=" for key in _beginning(dict.fromkeys((*_keys(incomplete), *_OTHERS)), incomplete)]


def _keys(incomplete: str) -> Iterator[str]:
    wanted, dot, _ = incomplete.partition(".")
    for slot, kind in SLOTS.items():
        if slot != wanted if dot else not slot.startswith(wanted):
            continue
        for name, parameters in stages_of(slot).items():
            # A stage of a list is addressed by its name, a single one by its slot.
            places = [slot] * (not kind.many) + [f"{slot}.{name}"] * (kind.many or kind.added)
            yield from (f"{place}.{parameter}" for place in places for parameter in parameters)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


COMPLETED: Mapping[tuple[str, str], Callable[[typer.Context, str], list[str]]] = {
    **{(verb, "script"): _scripts for verb in ("run", "check", "tune")},
    ("match", "method"): _scripts,
    **{(verb, "scene"): _scenes for verb in ("run", "tune", "match", "evaluate", "compare")},
    ("scenes", "words"): _scenes,
    **{(verb, "settings"): _settings for verb in ("run", "check", "tune")},
    ("stages", "name"): _stages,
    ("stages", "slot"): _slots,
}
"""What completes a parameter of a verb; options without an entry take what nobody can know."""
