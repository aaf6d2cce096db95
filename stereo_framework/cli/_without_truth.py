"""What `choose` and `compare` print of maps that are compared without truth."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stereo_framework.cli import _output
from stereo_framework.core.errors import DataError

if TYPE_CHECKING:
    from stereo_framework.core.scene import Disparity, Scene
    from stereo_framework.own_pair.choosing import Standing


def compared(scene: Scene, maps: Mapping[str, Disparity | None]) -> Sequence[Standing]:
    """Maps against the first one; nothing, and a warning, where the pair does not allow it."""
    from stereo_framework.own_pair.choosing import judge

    try:
        return judge(scene, {name: disparity for name, disparity in maps.items() if disparity is not None})
    except DataError as error:
        print(f"warning: {scene.name}: {error}", file=sys.stderr)
        return ()


def print_standings(scene: str, first: str, found: Sequence[Standing], seconds: Mapping[str, float] | None = None) -> None:
    """The table of maps against the first one."""
    print(f"{scene}, without truth, against {first}: wrong pixels more (+) or less (-), estimated, in percentage points")
    header = ["map", "estimate", "90 %", "answer", *(["seconds"] if seconds else [])]
    rows = [
        [s.name, f"{s.difference:+.1f}", f"+- {s.half_width:.1f}", s.verdict, *([f"{seconds[s.name]:.2f}"] if seconds else [])]
        for s in found
    ]
    _output.print_table(header, rows)


def record(scene: str, first: str, found: Sequence[Standing]) -> dict[str, Any]:
    """The same for ``--json``."""
    return {"scene": scene, "first": first, "standings": [vars(s) | {"verdict": s.verdict} for s in found]}
