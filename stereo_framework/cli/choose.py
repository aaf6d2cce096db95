"""The command ``choose``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from stereo_framework.cli import _shared
from stereo_framework.cli._progress import Progress
from stereo_framework.core.errors import ParameterError


def choose(
    left: Annotated[Path | None, typer.Argument()] = None,
    right: Annotated[Path | None, typer.Argument()] = None,
    disparity_range: Annotated[str | None, typer.Option("--disparities", metavar="MIN:MAX")] = None,
    scene: str | None = None,
    methods: Annotated[str | None, typer.Option(metavar="NAME,NAME")] = None,
    time: Annotated[float, typer.Option(metavar="SECONDS", min=0)] = 60.0,
    stretch: bool = False,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    json: bool = False,
) -> None:
    """Compare methods on a pair without ground truth.

    On the 30 pairs of its study the command chose the default every time: use it to learn
    which methods are likely to have more errors than the default.

    Example: stereo-framework choose left.png right.png --methods sgm -o choice

    Parameters
    ----------
    left
        The reference image of a rectified pair, seen from the left.
    right
        The match image, seen from the right.
    disparity_range
        Search range in pixels, both ends included; default: that of a calib.txt beside the image, else estimated.
    scene
        A known scene instead of two images; its truth is not looked at.
    methods
        Built-in scripts or files, separated by commas, that are compared with the default; default: those of truth_free/candidates.
    time
        Begin nothing more after this time.
    stretch
        Spread intensities over 0..255, both images alike.
    out
        Folder for best.yaml, best.pfm and comparison.png; default: choice.
    json
        Print one JSON object instead of a table.
    """
    import yaml

    from stereo_framework.core.scene import SearchRange
    from stereo_framework.datasets import load_scene, pair_scene
    from stereo_framework.figures.disparity_figures import write_comparison
    from stereo_framework.io import output_folder, write_bytes, write_disparity
    from stereo_framework.user_pair.intensities import find_intensity_problems, stretched
    from stereo_framework.user_pair.matching import DEFAULT
    from stereo_framework.user_pair.method_choice import choose as choose_method

    if scene is not None and (left or disparity_range):
        raise ParameterError("--scene NAME brings its own images and their range; leave out yours")
    if scene is not None:
        known = replace(load_scene(scene), truths={})
    elif left is None or right is None:
        raise ParameterError("two images are needed: choose LEFT RIGHT; or --scene NAME")
    else:
        own = (
            None
            if disparity_range in (None, "auto")
            else SearchRange.covering(*_shared.disparities(str(disparity_range)))
        )
        known = pair_scene(left, right, own, upright=True)
    known, told = stretched(known) if stretch else (known, "")
    _shared.tell("warning", *find_intensity_problems(known))
    folder = _shared.absolute_path(out or Path("choice"))
    with Progress(1, "choices") as progress:
        chosen = choose_method(known, _shared.names(methods), seconds=time)
        progress.watch("writing files")
        first = chosen.name
        shown = list(
            dict.fromkeys((first, next(iter(chosen.maps)), *(s.name for s in chosen.comparisons)))
        )[:4]
        with output_folder(folder):
            write_bytes(
                folder / "best.yaml",
                yaml.safe_dump(chosen.settings[first].mapping, sort_keys=False).encode(),
            )
            write_disparity(folder / "best.pfm", chosen.maps[first])
            write_comparison(
                folder / "comparison.png", {name: chosen.maps[name] for name in shown}, chosen.scene
            )
    _shared.tell("warning", *(f"{name}: {error}" for name, error in chosen.failed.items()))
    if json:
        compared = _shared.map_comparisons_record(known.name, DEFAULT, chosen.comparisons)
        found = {
            "chosen": chosen.name,
            "folder": _shared.as_typed(folder),
            "left_out": chosen.left_out,
            "stretched": told,
        }
        _shared.print_json(compared | found | {"seconds": dict(chosen.seconds)})
        return
    if told:
        print(f"{told}; 'match --stretch --method' applies a script to them")
    _shared.print_map_comparisons(known.name, DEFAULT, chosen.comparisons, chosen.seconds)
    if chosen.left_out:
        print(f"no time for {', '.join(chosen.left_out)}; --time SECONDS gives more")
    why = (
        "which is best on scenes with truth; nothing is better here"
        if chosen.name == DEFAULT
        else f"better than {DEFAULT}"
    )
    print(
        _shared.as_typed(
            f"chosen: {chosen.name}, {why}; best.yaml, best.pfm, comparison.png in {folder}"
        )
    )
