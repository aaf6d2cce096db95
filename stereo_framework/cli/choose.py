"""The command ``choose``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereo_framework.cli import _shared
from stereo_framework.cli._progress import Progress
from stereo_framework.core.errors import ParameterError

if TYPE_CHECKING:
    from stereo_framework.core.scene import Scene
    from stereo_framework.user_pair.method_choice import MethodChoice

_MOST_MAPS = 4
"""Number of maps that comparison.png shows at most."""


def choose(
    left: Annotated[Path | None, typer.Argument()] = None,
    right: Annotated[Path | None, typer.Argument()] = None,
    disparity_range: Annotated[str | None, typer.Option("--disparities", metavar="MIN:MAX")] = None,
    calibration: Path | None = None,
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
        Search range in pixels, both ends included, or auto to estimate it. Default: the
        range in --calibration or in a calib.txt next to the image, otherwise auto.
    calibration
        Calibration of the rectified pair, in the formats of the command match. Only its
        search range is used, so it must have one (ndisp of Middlebury).
    scene
        A known scene instead of two images; its truth is not looked at.
    methods
        Built-in scripts or files, separated by commas, that are compared with the
        default method; default: the methods of truth_free/candidates.
    time
        Time after which no further method is started. The default method and one other
        method always run, a method that runs is not stopped, and the comparison
        follows. Therefore the command takes longer than this time.
    stretch
        Spread intensities over 0..255, both images alike.
    out
        Folder for best.yaml, best.pfm and comparison.png; default: choice.
    json
        Print one JSON object instead of a table.
    """
    from stereo_framework.user_pair.intensities import find_intensity_problems, stretched
    from stereo_framework.user_pair.method_choice import choose as choose_method

    if scene is not None and (left or disparity_range or calibration):
        raise ParameterError("--scene NAME brings its own images and their range; leave out yours")
    if scene is not None:
        known_scene = _scene_without_truth(scene)
    elif left is None or right is None:
        raise ParameterError("two images are needed: choose LEFT RIGHT; or --scene NAME")
    else:
        known_scene = _scene_of_images(left, right, disparity_range, calibration)
    stretch_note = ""
    if stretch:
        known_scene, stretch_note = stretched(known_scene)
    _shared.tell("warning", *find_intensity_problems(known_scene))

    folder = _shared.absolute_path(out or Path("choice"))
    with Progress(1, "choices") as progress:
        choice = choose_method(known_scene, _shared.names(methods), seconds=time)
        progress.watch("writing files")
        _write(choice, folder)
    _shared.tell("warning", *(f"{name}: {error}" for name, error in choice.failed.items()))
    if json:
        _print_json(choice, known_scene.name, folder, stretch_note)
    else:
        _print(choice, known_scene.name, folder, stretch_note)


def _scene_without_truth(name: str) -> Scene:
    from stereo_framework.datasets import load_scene

    return replace(load_scene(name), truths={})


def _scene_of_images(left: Path, right: Path, ends: str | None, calibration: Path | None) -> Scene:
    """Return the scene of two images with the search range that the options give.

    Raises
    ------
    ParameterError
        A calibration would have no effect, because it has no search range or because
        --disparities replaces its range.
    """
    from stereo_framework.core.scene import SearchRange
    from stereo_framework.datasets import pair_scene
    from stereo_framework.user_pair.calibrations import calibration_of_pair

    reason = "with --disparities, because choose uses only the search range of a calibration"
    both_given = ends is not None and calibration is not None
    _shared.refuse_without_effect(reason, {"--calibration": both_given})
    if ends == "auto":
        # A calib.txt next to the images may contain a range.
        return replace(pair_scene(left, right, upright=True), search=None)
    if ends is not None:
        search = SearchRange.covering(*_shared.disparities(ends))
        return pair_scene(left, right, search, upright=True)
    scene = pair_scene(left, right, upright=True)
    if calibration is None:
        return scene

    _, levels, remarks = calibration_of_pair(calibration, scene)
    if levels is None:
        message = (
            f"--calibration {calibration}: the file has no search range (ndisp), and choose uses "
            "nothing else of a calibration; give --disparities MIN:MAX instead, or leave it out"
        )
        raise ParameterError(message)
    _shared.tell("warning", *remarks)
    return replace(scene, search=SearchRange(0, levels - 1))


def _write(choice: MethodChoice, folder: Path) -> None:
    """Write the script and map of the chosen method, and the picture of all maps."""
    import yaml

    from stereo_framework.figures.disparity_figures import write_comparison
    from stereo_framework.io import output_folder, write_bytes, write_disparity

    default_name = next(iter(choice.maps))
    compared_names = [comparison.name for comparison in choice.comparisons]
    names = list(dict.fromkeys([choice.name, default_name, *compared_names]))
    shown_maps = {name: choice.maps[name] for name in names[:_MOST_MAPS]}
    script = yaml.safe_dump(choice.settings[choice.name].mapping, sort_keys=False)
    with output_folder(folder):
        write_bytes(folder / "best.yaml", script.encode())
        write_disparity(folder / "best.pfm", choice.maps[choice.name])
        write_comparison(folder / "comparison.png", shown_maps, choice.scene)


def _print_json(choice: MethodChoice, scene_name: str, folder: Path, stretch_note: str) -> None:
    from stereo_framework.user_pair.matching import DEFAULT

    record = _shared.map_comparisons_record(scene_name, DEFAULT, choice.comparisons)
    record |= {
        "chosen": choice.name,
        "folder": _shared.as_typed(folder),
        "left_out": choice.left_out,
        "stretched": stretch_note,
        "seconds": dict(choice.seconds),
    }
    _shared.print_json(record)


def _print(choice: MethodChoice, scene_name: str, folder: Path, stretch_note: str) -> None:
    """Print the comparisons of the maps, the chosen method and the folder."""
    from stereo_framework.user_pair.matching import DEFAULT

    if stretch_note:
        print(f"{stretch_note}; 'match --stretch --method' applies a script to them")
    _shared.print_map_comparisons(scene_name, DEFAULT, choice.comparisons, choice.seconds)
    if choice.left_out:
        print(f"no time for {', '.join(choice.left_out)}; --time SECONDS gives more")
    reason = f"better than {DEFAULT}"
    if choice.name == DEFAULT:
        reason = "which is best on scenes with truth; nothing is better here"
    files = "best.yaml, best.pfm, comparison.png"
    print(_shared.as_typed(f"chosen: {choice.name}, {reason}; {files} in {folder}"))
