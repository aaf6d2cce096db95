"""The verb ``stages``."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli import _output
from stereo_framework.cli._options import Json

if TYPE_CHECKING:
    from stereo_framework.core.stage import Stage


_HEADER = ["slot", "its stages get", "and may name", "they return"]


def stages(
    name: Annotated[str | None, typer.Argument()] = None,
    slot: str | None = None,
    plugin: list[str] | None = None,
    json: Json = False,
) -> int:
    """List the stages and what those of each slot get and return, or document one with its parameters.

    Example: stereo-framework stages box

    Example: stereo-framework stages --slot aggregation

    Parameters
    ----------
    name
        A stage to document, or a slot whose stages are listed; without it all are listed.
    slot
        Only stages of this slot.
    plugin
        Module or file.py that adds stages; repeatable.
    """
    from stereo_framework.core import stage
    from stereo_framework.core.errors import ParameterError, nearest
    from stereo_framework.engine import pipeline  # noqa: F401  registers the stages

    for reference in plugin or []:
        stage.load_plugin(reference)
    candidates = stage.stages(slot)
    slots = [one for one in stage.SLOTS if name in (None, one) and slot in (None, one)]
    known = [s for s in candidates if name in (None, s.name, f"{s.slot}.{s.name}", s.slot)]
    if not known and not slots:
        names = {*(s.name for s in candidates), *(stage.SLOTS if slot is None else ())}
        raise ParameterError(f"no stage {name!r}; {nearest(str(name), names, kind='stages and slots')}")
    if json:
        _output.print_json([_record(s) for s in known])
    elif slots:
        if known:
            _output.print_table(["slot", "stage", "what it does"], [[s.slot, s.name, s.summary] for s in known], keys=1)
        _output.print_table(_HEADER, [slot_row(one) for one in slots])
    else:
        print("\n\n".join(_page(s) for s in known))
    return 0


def slot_row(name: str) -> list[str]:
    """What there is to say of a slot: its name and kind, what its stages get, may name and return."""
    from stereo_framework.core.stage import SLOTS

    slot = SLOTS[name]
    kinds = ["list"] * slot.many + ["one, or a list that is added"] * slot.added + ["optional"] * slot.optional
    first = "; or ".join(", ".join(names) for names in slot.first)
    return [f"{name} ({', '.join(kinds)})" if kinds else name, first, ", ".join(sorted(slot.data)) or "-", slot.returns]


def _record(stage: Stage) -> dict[str, Any]:
    from stereo_framework.core.parameters import describe
    from stereo_framework.core.stage import SLOTS

    parameters = {
        name: {"default": parameter.default, "legal": describe(parameter.annotation), "unit": stage.unit(name)}
        for name, parameter in stage.parameters.items()
    }
    return {
        "slot": stage.slot,
        "name": stage.name,
        "summary": stage.summary,
        "source": stage.source,
        "gets": list(stage.data),
        "returns": SLOTS[stage.slot].returns,
        "parameters": parameters,
    }


def _page(stage: Stage) -> str:
    from stereo_framework.core.parameters import describe, spelled

    lines = [f"{stage.slot}: {stage.name}", f"source: {stage.source}", f"gets: {', '.join(stage.data)}", ""]
    for name, parameter in stage.parameters.items():
        default = parameter.default if isinstance(parameter.default, str) else spelled(parameter.default)
        legal = "; ".join(filter(None, [describe(parameter.annotation), stage.unit(name)]))
        lines.append(f"  {name} = {default}   ({legal})")
    return "\n".join([*lines, "", inspect.getdoc(stage.function) or ""])
