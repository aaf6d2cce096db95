"""The verb ``choose``."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli import _output
from stereo_framework.cli._options import Data, disparities
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.progress import Progress

if TYPE_CHECKING:
    from stereo_framework.core.scene import Scene
    from stereo_framework.own_pair.choosing import Chosen

_PLACES = (-1, -0.5, 0.5, 1.5, 2)
"""Positions whose prediction errors are measured: `evaluation.prediction.predicted_frames`."""


def choose(
    left: Path | None = None,
    right: Path | None = None,
    disparity_range: Annotated[str | None, typer.Option("--disparities", metavar="MIN:MAX")] = None,
    scene: str | None = None,
    methods: Annotated[str | None, typer.Option(metavar="NAME,NAME")] = None,
    time: Annotated[float, typer.Option(metavar="SECONDS", min=0)] = 60.0,
    third_frame: Annotated[str | None, typer.Option(metavar="FILE:POSITION")] = None,
    reference: Path | None = None,
    stretch: bool = False,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    data: Data = None,
    json: bool = False,
) -> int:
    """Choose a method for your pair without ground truth: try what is shipped, rank the maps, and write the script of the best.

    Example: stereo-framework choose --left left.png --right right.png --disparities 0:64 --time 30 -o results/choice

    Parameters
    ----------
    left
        The reference image of a rectified pair, seen from the left.
    right
        The match image, seen from the right.
    disparity_range
        Search range in pixels, both ends included; default: estimated.
    scene
        A known scene instead of two images; its truth is not looked at.
    methods
        Shipped scripts or files, separated by commas; default: those of truth_free/candidates.
    time
        Begin nothing more after this time.
    third_frame
        A third image of the same row of cameras, left at 0, right at 1, this one at -1, -0.5, 0.5, 1.5 or 2: its prediction errors are shown besides.
    reference
        Your own reference map; where it is NaN it is not to be relied upon.
    stretch
        Spread intensities over 0..255, all images alike.
    out
        Folder for best.yaml, best.pfm and comparison.png; default: choice.
    json
        Print one JSON object instead of a table.
    """
    from stereo_framework.cli._without_truth import with_reference
    from stereo_framework.own_pair.choosing import choose as choose_method
    from stereo_framework.own_pair.intensities import intensity_doubt, stretch_told, stretched

    [known] = with_reference([_scene(left, right, disparity_range, scene, third_frame, data)], reference)
    known, ends = stretched(known) if stretch else (known, None)
    if doubt := intensity_doubt(known):
        print(f"warning: {doubt}", file=sys.stderr)
    names = [name.strip() for name in methods.split(",")] if methods else ()
    with Progress(1, "choices") as progress:
        chosen = choose_method(known, names, seconds=time, watch=progress.watch)
        progress.watch("writing files")
        folder = out or Path("choice")
        _write(chosen, chosen.judged.scene, folder)
    further = _further(chosen, chosen.judged.scene) if third_frame is not None else {}
    for name, error in chosen.failed.items():
        print(f"warning: {name}: {error}", file=sys.stderr)
    if json:
        from stereo_framework.cli._without_truth import record

        told = {"chosen": None if chosen.judged.doubts else chosen.name, "folder": str(folder), "left_out": list(chosen.left_out)}
        _output.print_json({**record(chosen.judged), **told, "seconds": dict(chosen.seconds), "stretched": ends, **further})
    else:
        if ends is not None:
            print(f"{stretch_told(ends)}; 'match --stretch --method' applies a script to them")
        _print(chosen, folder, further)
    return 1 if chosen.judged.doubts else 0


def _scene(
    left: Path | None, right: Path | None, span: str | None, name: str | None, third_frame: str | None, data: Path | None
) -> Scene:
    from stereo_framework.core.scene import Search
    from stereo_framework.datasets import load_scene, pair_scene

    if name is not None and left is None and right is None:
        if span is not None or third_frame is not None:
            raise ParameterError(f"a known scene brings its own; leave out {'--disparities' if span else '--third-frame'}")
        return replace(load_scene(name, data=data), truths={})
    if left is None or right is None or name is not None:
        raise ParameterError("choose needs two images, --left and --right, or a known scene, --scene")
    scene = pair_scene(left, right, None if span in (None, "auto") else Search(*disparities(str(span))))
    return scene if third_frame is None else _with_third(scene, third_frame)


def _with_third(scene: Scene, text: str) -> Scene:
    """The pair and a third frame, which is looked at before anything is matched."""
    from stereo_framework.core.scene import Frame
    from stereo_framework.io import read_image

    file, _, place = text.rpartition(":")
    try:
        position = float(place)
    except ValueError:
        position = math.nan
    if not file or position not in _PLACES:
        raise ParameterError(
            f"--third-frame {text!r}: expected FILE:POSITION, such as third.png:2; the left image is at 0, the right one at 1, and the third at "
            f"{', '.join(map(str, _PLACES))}"
        )
    image, shape = read_image(file), scene.reference.shape
    if image.shape != shape:
        raise DataError(f"{file}: (rows, columns, colours) are {image.shape}, of the pair {shape}; all images must be alike")
    return replace(scene, frames=(*scene.frames, Frame(file, lambda: image, position)))


def _further(chosen: Chosen, scene: Scene) -> dict[str, dict[str, str]]:
    """Prediction errors of the other frames by statistic and map."""
    from stereo_framework.evaluation.evaluate import statistics_of
    from stereo_framework.evaluation.protocols import WITHOUT_TRUTH

    found: dict[str, dict[str, str]] = {}
    for name, disparity in chosen.maps.items():
        for statistic, value in statistics_of(disparity, scene, WITHOUT_TRUTH).items():
            if statistic.startswith("predict_err") and not statistic.endswith("_match"):
                found.setdefault(statistic, {})[name] = f"{value:.2f}"
    return found


def _write(chosen: Chosen, scene: Scene, folder: Path) -> None:
    import yaml

    from stereo_framework.figures.picture_files import write_comparison
    from stereo_framework.io import output_folder, write_bytes, write_disparity

    if chosen.judged.doubts:
        return
    first = [standing.name for standing in chosen.judged.standings[:4]]
    with output_folder(folder):
        write_bytes(folder / "best.yaml", yaml.safe_dump(chosen.script, sort_keys=False).encode())
        write_disparity(folder / "best.pfm", chosen.maps[chosen.name])
        write_comparison(folder / "comparison.png", {name: chosen.maps[name] for name in first}, scene)


def _print(chosen: Chosen, folder: Path, further: dict[str, dict[str, Any]]) -> None:
    from stereo_framework.cli._without_truth import print_judged
    from stereo_framework.own_pair.matching import DEFAULT
    from stereo_framework.tables.words import with_unit

    judged = chosen.judged
    done = (
        f"{len(chosen.maps)} maps in {sum(chosen.seconds.values()):.1f} s of matching" if chosen.maps else "nothing was matched"
    )
    print(f"{judged.scene.name}: {done}")
    seconds = {name: f"{value:.2f}" for name, value in chosen.seconds.items()}
    print_judged(judged, {"seconds": seconds, **{with_unit(statistic): column for statistic, column in further.items()}})
    if chosen.left_out:
        more = ", ..." if len(chosen.left_out) > 4 else ""
        print(f"no time for {len(chosen.left_out)} more: {', '.join(chosen.left_out[:4])}{more}; --time SECONDS gives more")
    if judged.doubts:
        print(f"nothing is chosen, and nothing written to {folder}")
        return
    if chosen.name in judged.kin:
        best = f"; best of the others: {judged.others[0].name}, {judged.others[0].distance:.1f} %" if judged.others else ""
        print(f"{chosen.name} is made with the reference's costs and optimizer, so that its distance is too low{best}")
    for statistic, column in further.items():
        first = min(column, key=lambda name: float(column[name]))
        print(
            f"third frame: {first} has the lowest {statistic}, {column[first]}; it sees errors that the reference shares, and rewards matching pixel by pixel"
        )
    written = f"{chosen.seconds[chosen.name]:.2f} s; best.yaml, best.pfm, comparison.png in {folder}"
    if judged.best is not None:
        print(f"chosen: {chosen.name}, {written}")
    else:
        why = "the default" if chosen.name == DEFAULT else "the one of the lowest distance"
        print(f"cannot tell which is best; wrote {why}, {chosen.name}, {written}")
