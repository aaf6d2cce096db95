"""The verb ``stages``."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli._options import Json

if TYPE_CHECKING:
    from stereo_framework.stage import Stage


def stages(
    name: Annotated[str | None, typer.Argument(help="A stage to document; without it all are listed.")] = None,
    plugin: Annotated[list[str] | None, typer.Option("--plugin", help="Module or file.py that adds stages; repeatable.")] = None,
    json: Json = False,
) -> int:
    """List the stages, or document one with its parameters.

    Example: stereo-framework stages box
    """
    from stereo_framework import stage
    from stereo_framework.cli import _output
    from stereo_framework.engine import pipeline  # noqa: F401  registers the stages
    from stereo_framework.errors import ParameterError, nearest

    for reference in plugin or []:
        stage.load_plugin(reference)
    known = stage.stages()
    if name is not None:
        known = tuple(s for s in known if name in (s.name, f"{s.slot}.{s.name}"))
        if not known:
            raise ParameterError(f"no stage {name!r}; {nearest(name, {s.name for s in stage.stages()}, kind='stages')}")
    if json:
        _output.print_json([_record(s) for s in known])
    elif name is None:
        _output.print_table(["slot", "stage", "what it does"], [[s.slot, s.name, s.summary] for s in known])
    else:
        print("\n\n".join(_page(s) for s in known))
    return 0


def _record(stage: Stage) -> dict[str, Any]:
    from stereo_framework.stage import describe

    parameters = {
        name: {"default": parameter.default, "legal": describe(parameter.annotation), "unit": stage.unit(name)}
        for name, parameter in stage.parameters.items()
    }
    return {"slot": stage.slot, "name": stage.name, "summary": stage.summary, "source": stage.source, "parameters": parameters}


def _page(stage: Stage) -> str:
    from stereo_framework.stage import describe, spelled

    lines = [f"{stage.slot}: {stage.name}", f"source: {stage.source}", ""]
    for name, parameter in stage.parameters.items():
        default = parameter.default if isinstance(parameter.default, str) else spelled(parameter.default)
        legal = "; ".join(filter(None, [describe(parameter.annotation), stage.unit(name)]))
        lines.append(f"  {name} = {default}   ({legal})")
    return "\n".join([*lines, "", inspect.getdoc(stage.function) or ""])
