"""The verb ``metrics``."""

from __future__ import annotations

from typing import Annotated

import typer

from stereo_framework.cli import _output
from stereo_framework.cli._options import Json, protocol_spec


def metrics(
    protocol: Annotated[str | None, typer.Argument()] = None,
    json: Json = False,
) -> int:
    """List what can be measured, with units and sources, and the evaluation protocols.

    Example: stereo-framework metrics middlebury-v3

    Parameters
    ----------
    protocol
        A protocol whose choices to print; without it all metrics and protocols are listed.
    """
    from stereo_framework.evaluation import resolve
    from stereo_framework.evaluation.metrics import METRICS
    from stereo_framework.evaluation.protocols import PRESETS

    if protocol is not None:
        chosen = resolve(protocol_spec(protocol) or {})
        if json:
            _output.print_json([chosen.as_dict()])
        else:
            fields = chosen.as_dict()
            for name, value in (fields | {f"hci.{k}": v for k, v in fields.pop("hci").items()}).items():
                _output.say(f"{name:24} {', '.join(map(str, value)) if isinstance(value, list) else value}", indent=25)
            _output.say(str(chosen))
        return 0
    rows = [[m.name, m.unit, m.better or "-", m.about, m.source] for m in METRICS.values()]
    if json:
        _output.print_json([dict(zip(("name", "unit", "better", "of", "source"), row, strict=True)) for row in rows])
        return 0
    _output.print_table(["metric", "unit", "better", "of each", "source"], rows)
    for preset in PRESETS.values():
        _output.say(str(preset))
    return 0
