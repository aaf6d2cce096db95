"""The user's own pair on the command line: two images and what lies beside them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli._options import disparities
from stereo_framework.core.errors import ParameterError

if TYPE_CHECKING:
    from stereo_framework.core.scene import Scene

Left = Annotated[Path | None, typer.Option("--left", help="Your own pair: the reference image, seen from the left.")]
Right = Annotated[Path | None, typer.Option("--right", help="Your own pair: the match image, seen from the right.")]
DisparityRange = Annotated[
    str | None,
    typer.Option(
        "--disparities",
        metavar="MIN:MAX",
        help="Your own pair: its search range in pixels, or auto: estimated; default: calib.txt's ndisp.",
    ),
]
Truth = Annotated[Path | None, typer.Option("--truth", help="Your own pair: true disparities (PFM, PNG, PGM, npy).")]
TruthScale = Annotated[float | None, typer.Option("--truth-scale", help="Grey levels per pixel in an 8-bit --truth.")]
PairMask = Annotated[
    Path | None, typer.Option("--mask", help="Your own pair: only where this picture is white is anything measured.")
]


def own_pair(
    left: Path | None, right: Path | None, disparity_range: str | None, beside: dict[str, Path | None], truth_scale: float | None
) -> Scene | None:
    """The user's own pair, with the files `beside` it by option; None without one."""
    from stereo_framework.core.scene import Search
    from stereo_framework.datasets import pair_scene

    files: dict[str, Any] = {
        option.removeprefix("--").replace("-", "_"): file for option, file in beside.items() if file is not None
    }
    if left is None and right is None:
        for option in (option for option, file in beside.items() if file is not None):
            raise ParameterError(f"{option} belongs to your own pair; give --left and --right too")
        return None
    if left is None or right is None:
        raise ParameterError(f"your own pair needs --left and --right; {'--left' if left is None else '--right'} missing")
    if disparity_range == "auto":
        return _with_range(pair_scene(left, right, None, truth_scale=truth_scale, **files))
    search = None if disparity_range is None else Search(*disparities(disparity_range))
    return pair_scene(left, right, search, truth_scale=truth_scale, **files)


def _with_range(scene: Scene) -> Scene:
    """The pair with the range that its images show, and what speaks against both."""
    from stereo_framework.own_pair.search_range import doubts, looked_at

    search, sparse, _ = looked_at(replace(scene, search=None))
    print(f"disparities {search}: estimated from {sparse.along_rows.size} matched points and a coarse pass", file=sys.stderr)
    for doubt in doubts(sparse, search, estimated=True):
        print(f"warning: {doubt}", file=sys.stderr)
    return replace(scene, search=search)
