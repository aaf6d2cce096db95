"""The verb ``stages``."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli import _options as opt
from stereo_framework.cli import _output
from stereo_framework.cli._examples import new_stage

if TYPE_CHECKING:
    from stereo_framework.core.stage import Stage


_HEADER = ["slot", "its stages get", "and may name", "they return"]


def stages(
    name: Annotated[str | None, typer.Argument()] = None,
    slot: str | None = None,
    new: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    out: Path | None = None,
) -> int:
    """List the stages and what those of each slot get and return; document one; list what is measured; write an example of your own.

    Example: stereo-framework stages box

    Example: stereo-framework stages measures

    Example: stereo-framework stages --new my_cost --slot matching_cost

    Parameters
    ----------
    name
        A stage or a protocol to document, or a slot whose stages are listed; measures: what is measured, with units and sources, and the protocols.
    slot
        Only stages of this slot; with --new also measure, chart, reader, protocol, paper or data_set.
    new
        Write a complete example of the --slot's stages, or of that kind, as a file of your own, to change into what you want.
    out
        The file to write; default: NAME.py here.
    """
    from stereo_framework.core import stage
    from stereo_framework.core.errors import ParameterError, nearest
    from stereo_framework.evaluation.protocols import PRESETS

    if new is not None:
        new_stage(slot, new, out)
        return 0
    if name == "measures":
        _measures()
        return 0
    if name is not None and (name in PRESETS or name.startswith("{")):
        _protocol(name)
        return 0
    candidates = stage.stages(slot)
    slots = [one for one in stage.SLOTS if name in (None, one) and slot in (None, one)]
    known = [s for s in candidates if name in (None, s.name, f"{s.slot}.{s.name}", s.slot)]
    if not known and not slots:
        names = {*(s.name for s in candidates), *((*stage.SLOTS, *PRESETS, "measures") if slot is None else ())}
        raise ParameterError(f"no stage {name!r}; {nearest(str(name), names, kind='names')}")
    if slots:
        if known:
            _output.print_table(["slot", "stage", "what it does"], [[s.slot, s.name, s.summary] for s in known], keys=1)
        _output.print_table(_HEADER, [slot_row(one) for one in slots])
    else:
        print("\n\n".join(_page(s) for s in known))
    return 0


def _measures() -> None:
    from stereo_framework.evaluation.metrics import METRICS
    from stereo_framework.evaluation.protocols import PRESETS

    rows = [[m.name, m.unit, m.better or "-", m.about, m.source] for m in METRICS.values()]
    _output.print_table(["measure", "unit", "better", "of each", "source"], rows)
    for preset in PRESETS.values():
        _output.say(str(preset))


def _protocol(name: str) -> None:
    """All choices of a protocol."""
    from stereo_framework.evaluation import resolve

    chosen = resolve(opt.protocol_spec(name) or {})
    fields = chosen.as_dict()
    for field, value in (fields | {f"hci.{k}": v for k, v in fields.pop("hci").items()}).items():
        _output.say(f"{field:24} {', '.join(map(str, value)) if isinstance(value, list) else value}", indent=25)
    _output.say(str(chosen))


def slot_row(name: str) -> list[str]:
    """What there is to say of a slot: its name and kind, what its stages get, may name and return."""
    from stereo_framework.core.stage import SLOTS

    slot = SLOTS[name]
    kinds = ["list"] * slot.many + ["one, or a list that is added"] * slot.added + ["optional"] * slot.optional
    first = "; or ".join(", ".join(names) for names in slot.first)
    return [f"{name} ({', '.join(kinds)})" if kinds else name, first, ", ".join(sorted(slot.data)) or "-", slot.returns]


def _page(stage: Stage) -> str:
    from stereo_framework.core.parameters import describe, spelled

    lines = [f"{stage.slot}: {stage.name}", f"source: {stage.source or 'not said'}", f"gets: {', '.join(stage.data)}", ""]
    for name, parameter in stage.parameters.items():
        default = parameter.default if isinstance(parameter.default, str) else spelled(parameter.default)
        legal = "; ".join(filter(None, [describe(parameter.annotation), stage.unit(name)]))
        lines.append(f"  {name} = {default}   ({legal})")
    return "\n".join([*lines, "", inspect.getdoc(stage.function) or ""])
