"""The command ``stages``."""

from __future__ import annotations

import inspect
import keyword
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli import _shared
from stereo_framework.core.errors import DataError, ParameterError, close_or_listing, nearest
from stereo_framework.core.former_names import new_name_hint, new_or_nearest
from stereo_framework.core.package_files import package_folder, short_script_names

if TYPE_CHECKING:
    from stereo_framework.core.stage import Stage


NO_SOURCE = "TODO"
"""How the source of a new stage begins until its author says it."""
KINDS = {
    "metric": "a metric that works; in a script: plugins: [{path}] and evaluation: {{protocol: {{base: taxonomy2002, metrics: [{name}]}}}}",
    "chart": "a chart that works; 'report DIR --plugin {path}' draws it",
    "reader": "a reader that works; with --plugin {path} disparity maps may be files that end with .{name}",
    "protocol": "a protocol that works; 'run SCRIPT --protocol {name} --plugin {path}' measures by it",
    "paper": "a paper that works; 'reproduce {name} --plugin {path}' runs it",
    "data_set": "a data set that works; with --plugin {path} --scene {name} stands for the scenes in the folder {name} of a data root",
}
"""What can be added besides stages, with what to do with the example."""
_LISTS = ("metrics", "protocols")
"""Names that stand for lists of other things than stages."""
_HEADER = ["slot", "its stages get", "and may name", "they return"]


def stages(
    name: Annotated[str | None, typer.Argument()] = None,
    slot: str | None = None,
    new: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    out: Path | None = None,
) -> None:
    """List stages and metrics, show parameters, write a template.

    Example: stereo-framework stages box

    Example: stereo-framework stages metrics

    Example: stereo-framework stages protocols

    Example: stereo-framework stages --new my_cost --slot matching_cost

    Parameters
    ----------
    name
        A stage or a protocol to document, or a slot whose stages are listed; metrics:
        all metrics with their units and sources; protocols: all protocols.
    slot
        List only stages of this slot; with --new also metric, chart, reader, protocol,
        paper or data_set.
    new
        Write a complete example of the --slot's stages, or of that kind, as a file of your own, to change into what you want.
    out
        The file to write; default: NAME.py here.
    """
    from stereo_framework.core.registration import stages as registered_stages
    from stereo_framework.core.slots import SLOTS
    from stereo_framework.evaluation.protocols import PRESETS

    if new is not None:
        _shared.refuse_without_effect("with --new", {f"the name {name}": name is not None})
        _new(slot, new, out)
        return
    _shared.refuse_without_effect("without --new", {"--out": out is not None})
    is_of_no_slot = name is not None and (name in _LISTS or name in PRESETS or name.startswith("{"))
    if is_of_no_slot:
        _shared.refuse_without_effect(
            f"with {name}, which is of no slot", {"--slot": slot is not None}
        )
    if name == "metrics":
        _print_metrics()
        return
    if name == "protocols":
        _print_protocols()
        return
    if name is not None and (name in PRESETS or name.startswith("{")):
        _protocol(name)
        return
    candidates = registered_stages(slot)
    slots = [one for one in SLOTS if name in (None, one) and slot in (None, one)]
    known = [s for s in candidates if name in (None, s.name, f"{s.slot}.{s.name}", s.slot)]
    if not known and not slots:
        _refuse_metric(str(name))
        names = {one.name for one in candidates}
        if slot is not None:
            remedy = new_or_nearest("command_values", "stages", str(name), names, kind="names")
        else:
            remedy = _remedy_for_unknown(str(name), {*names, *SLOTS, *PRESETS, *_LISTS})
        raise ParameterError(f"there is no stage {name!r}; {remedy}")
    if slots:
        if known:
            _shared.print_table(
                ["slot", "stage", "what it does"],
                [[s.slot, s.name, s.summary] for s in known],
                keys=1,
            )
        _shared.print_table(_HEADER, [slot_row(one) for one in slots])
    else:
        print("\n\n".join(_page(s) for s in known))


def _remedy_for_unknown(name: str, names: Collection[str]) -> str:
    """Return the end of the message about a name that does not exist."""
    if hint := new_name_hint("command_values", "stages", name):
        return hint
    if name in short_script_names():
        return (
            f"{name} is a built-in method of several stages, which 'run' and 'match --method' take"
        )
    listing = "'stereo-framework stages' lists all stages and 'stages protocols' all protocols"
    return close_or_listing(name, names, listing)


def _refuse_metric(name: str) -> None:
    """Refuse the name of a metric or of a statistic, which is no stage.

    Raises
    ------
    ParameterError
        The name is that of a metric, such as ``bad_pixels``, or of one of its
        statistics, such as ``bad_pixels_nonocc``.
    """
    from stereo_framework.evaluation.metrics import METRICS

    if any(name == metric or name.startswith(f"{metric}_") for metric in METRICS):
        message = (
            f"{name} is no stage, but belongs to a metric; "
            "'stereo-framework stages metrics' lists the metrics"
        )
        raise ParameterError(message)


def _print_metrics() -> None:
    from stereo_framework.evaluation.metrics import METRICS

    rows = [[m.name, m.unit, m.better or "-", m.about, m.source] for m in METRICS.values()]
    _shared.print_table(["metric", "unit", "better", "of each", "source"], rows)
    _shared.say("'stereo-framework stages protocols' lists the protocols")


def _print_protocols() -> None:
    """Print the protocols with their metrics and the errors that count as bad."""
    from stereo_framework.evaluation.protocols import PRESETS

    rows = []
    for preset in PRESETS.values():
        first_choice = str(preset).partition(": ")[2].partition("; ")[0]
        bad_pixels = first_choice if "bad_pixels" in preset.metrics else "-"
        rows.append([preset.name, bad_pixels, ", ".join(preset.metrics)])
    _shared.print_table(["protocol", "bad pixels", "metrics"], rows)
    _shared.say(
        "'stereo-framework stages NAME' lists all choices of a protocol; "
        "'run' and 'evaluate' take it with --protocol"
    )


def _protocol(name: str) -> None:
    """All choices of a protocol."""
    from stereo_framework.evaluation import resolve

    chosen = resolve(_shared.protocol_spec(name) or {})
    fields = chosen.as_dict()
    for field, value in (fields | {f"hci.{k}": v for k, v in fields.pop("hci").items()}).items():
        _shared.say(
            f"{field:24} {', '.join(map(str, value)) if isinstance(value, list) else value}",
            indent=25,
        )
    _shared.say(str(chosen))


def slot_row(name: str) -> list[str]:
    """What there is to say of a slot: its name and kind, what its stages get, may name and return."""
    from stereo_framework.core.slots import SLOTS

    slot = SLOTS[name]
    kinds = (
        ["list"] * slot.many
        + ["one, or a list that is added"] * slot.added
        + ["optional"] * slot.optional
    )
    first = "; or ".join(", ".join(names) for names in slot.must_name)
    return [
        f"{name} ({', '.join(kinds)})" if kinds else name,
        first,
        ", ".join(sorted(slot.may_name)) or "-",
        slot.returns,
    ]


def _page(stage: Stage) -> str:
    from stereo_framework.core.parameters import as_yaml, describe

    lines = [
        f"{stage.slot}: {stage.name}",
        f"source: {stage.source or 'not said'}",
        f"gets: {', '.join(stage.data)}",
        "",
    ]
    for name, parameter in stage.parameters.items():
        default = (
            parameter.default if isinstance(parameter.default, str) else as_yaml(parameter.default)
        )
        allowed = "; ".join(filter(None, [describe(parameter.annotation), stage.unit(name)]))
        lines.append(f"  {name} = {default}   ({allowed})")
    return "\n".join([*lines, "", inspect.getdoc(stage.function) or ""])


# --- examples of stages and of all else that can be added, to be changed into one's own ----------------------------------------


def _new(slot: str | None, name: str, out: Path | None) -> None:
    """Write a complete example of a slot's stages, or of another kind of what can be added, under a name of one's own."""
    from stereo_framework.core.registration import stages as registered_stages
    from stereo_framework.core.slots import SLOTS
    from stereo_framework.io import write_bytes

    if slot is None:
        raise ParameterError(
            f"--new {name}: say of which slot: --slot SLOT; {nearest('', [*SLOTS, *KINDS], kind='slots')}"
        )
    if slot not in SLOTS and slot not in KINDS:
        slots = [*SLOTS, *KINDS]
        remedy = new_or_nearest("command_values", "stages --slot", slot, slots, kind="slots")
        raise ParameterError(f"--slot: no slot {slot!r}; {remedy}")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ParameterError(
            f"--new: {name!r} is no name of a function; take letters, digits and underscores"
        )
    if slot in SLOTS and name in {known.name for known in registered_stages(slot)}:
        raise ParameterError(
            f"--new: there is a stage {name!r} of {slot} already; choose another name"
        )
    path = out or Path(f"{name}.py")
    if os.path.lexists(path):
        raise DataError(f"{path}: is there already; choose another name or --out FILE")
    if slot in KINDS:
        write_bytes(path, re.sub(r"\bmine\b", name, _read("plugins", slot)).encode())
        print(f"{path}: {KINDS[slot].format(path=path, name=name)}")
        return
    write_bytes(path, example(slot, name).encode())
    entry = name if not SLOTS[slot].many else f"[{name}]"
    print(
        f"{path}: a stage of {slot} that works; in a script: plugins: [{path}] and {slot}: {entry}"
    )


def example(slot: str, name: str | None = None) -> str:
    """The text of a slot's example; its stage called `name`, whose source is for its author to say."""
    text = _read("stages", slot)
    found = re.search(r"^@stage\(.*\)\ndef (\w+)", text, re.MULTILINE)
    assert found is not None, "every example registers a stage"
    if name is None:
        return text
    own = re.sub(r'(?m)^(@stage\(.*source=)"[^"]*"', rf'\1"{NO_SOURCE}: paper, section"', text)
    return re.sub(rf"\b{found[1]}\b", name, own)


def _read(folder: str, name: str) -> str:
    """The text of an example, which lies inside the package where it is installed."""
    return (package_folder("examples") / folder / f"{name}.py").read_text(encoding="utf-8")
