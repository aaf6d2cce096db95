"""The verb ``scenes``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli._options import Data, Json

if TYPE_CHECKING:
    from stereo_framework.scene import Scene


def scenes(
    name: Annotated[str | None, typer.Argument(help="A scene to describe; without it all that are found are listed.")] = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """List the scenes that are found, or describe one.

    Example: stereo-framework scenes synthetic/planes
    """
    from stereo_framework.cli import _output
    from stereo_framework.datasets import data_roots, load_scene, scene_names

    if name is None:
        names = scene_names(data)
        if json:
            _output.print_json(list(names))
        else:
            print("\n".join(names))
            print(f"({len(names)} scenes; data roots: {', '.join(map(str, data_roots(data))) or 'none'})")
        return 0
    record = _record(load_scene(name, data=data))
    if json:
        _output.print_json([record])
    else:
        for key, value in record.items():
            print(f"{key:12} {value}")
    return 0


def _record(scene: Scene) -> dict[str, Any]:
    import numpy as np

    rows, columns = scene.reference.shape[:2]
    truth = "none"
    if scene.truth is not None:
        known = np.isfinite(scene.truth)
        low, high = scene.truth[known].min(), scene.truth[known].max()
        truth = f"{low:g}..{high:g} px, known at {100 * known.mean():.1f} % of the pixels"
    return {
        "name": scene.name,
        "size": f"{columns}x{rows} {'colour' if scene.reference.ndim == 3 else 'grey'}",
        "frames": ", ".join(f.name for f in scene.frames),
        "reference": f"{scene.reference_index} ({scene.frames[scene.reference_index].name})",
        "match": f"{scene.match_index} ({scene.frames[scene.match_index].name})",
        "search": f"{scene.search} px" if scene.search else "none",
        "truth": truth,
        "masks": ", ".join(sorted(scene.masks)) or "none",
        "calibration": str(scene.calibration or "none"),
        "border": f"{scene.border} px",
        "protocol": scene.protocol,
    }
