"""The command ``scenes``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli import _shared
from stereo_framework.cli._progress import Progress

if TYPE_CHECKING:
    from stereo_framework.core.scene import Scene


def scenes(
    sets: Annotated[list[str] | None, typer.Argument(metavar="SET")] = None,
    describe: Annotated[str | None, typer.Option(metavar="SCENE")] = None,
    new: Annotated[Path | None, typer.Option(metavar="FOLDER")] = None,
    fetch: Annotated[bool, typer.Option("--fetch")] = False,
) -> None:
    """List, describe, create or download scenes and data sets.

    Sets are fetched from their publishers into the data root: --data, STEREO_DATA, or the user's cache folder.

    Example: stereo-framework scenes --describe synthetic/planes

    Example: stereo-framework scenes --new my_images

    Parameters
    ----------
    sets
        With --fetch: the public data sets, or scenes of them, to download; without it those that there are are listed.
    describe
        Show this scene's size, search range, truth, masks and calibration.
    new
        Write a scene.yaml, with comments, for the images in this folder.
    fetch
        Download the data sets that are named, or list those that there are.
    """
    from stereo_framework.core.errors import ParameterError, short
    from stereo_framework.datasets import data_roots, load_scene, public_sets, scene_names

    if sets and not fetch:
        word = short(sets[0], 80)
        raise ParameterError(f"scenes {word}: say what to do: --describe {word}, or --fetch {word}")
    if new is not None:
        _shared.refuse_without_effect(
            "with --new", {"--describe": describe is not None, "--fetch": fetch}
        )
    elif describe is not None:
        _shared.refuse_without_effect("with --describe", {"--fetch": fetch})
    if new is not None:
        from stereo_framework.datasets.scene_file import new_scene
        from stereo_framework.user_pair.search_range import looked_at

        print(
            f"{new_scene(new, lambda pair: looked_at(pair)[0])}: look through it; then every command takes --scene {new}"
        )
    elif describe is not None:
        _shared.say(
            *(f"{key:12} {value}" for key, value in _described(load_scene(describe)).items()),
            indent=13,
        )
    elif sets:
        _fetch(sets)
    elif fetch:
        rows = []
        for one in public_sets():
            size = "?" if one.megabytes is None else f"{one.megabytes:g}"
            rows.append(
                [one.name, one.about, "after registration" if one.register else size, one.cite]
            )
        _shared.print_table(["data set", "what", "MB", "cite"], rows)
        print("Fetch one with: stereo-framework scenes --fetch SET. Their owners ask to be cited.")
    else:
        found = scene_names()
        print("\n".join(found))
        print(f"({len(found)} scenes; data roots: {', '.join(map(str, data_roots())) or 'none'})")


def _described(scene: Scene) -> dict[str, Any]:
    import numpy as np

    rows, columns = scene.reference.shape[:2]
    truth = "none"
    if scene.truth is not None:
        known = scene.truth[np.isfinite(scene.truth)]
        truth = f"{known.min():g}..{known.max():g} px, known at {100 * known.size / scene.truth.size:.1f} % of the pixels"
    frames = [frame.name for frame in scene.frames]
    return {
        "name": scene.name,
        "size": f"{columns}x{rows} {'colour' if scene.reference.ndim == 3 else 'grey'}",
        "frames": ", ".join(frames),
        "reference": f"{scene.reference_index} ({frames[scene.reference_index]})",
        "match": f"{scene.match_index} ({frames[scene.match_index]})",
        "search": f"{scene.search} px" if scene.search else "none",
        "truth": truth,
        "masks": ", ".join(sorted(scene.masks)) or "none",
        "calibration": str(scene.calibration or "none"),
        "border": f"{scene.border} px",
        "protocol": scene.protocol,
        "reduction": f"1/{scene.reduction} of the size that its benchmark counts pixels in",
        "weight": f"{scene.weight:g} in its benchmark's averages",
    }


def _fetch(names: list[str]) -> None:
    from stereo_framework.datasets import data_roots, fetch
    from stereo_framework.datasets.download import find

    for name, public_set in {
        name: find(name)[0] for name in names
    }.items():  # all names are checked first
        with Progress(1) as progress:
            progress.watch(f"fetching {name}")
            found = fetch(name)
        new = [one for one in found if not one.already_there]
        size, old = sum(one.bytes for one in new) / 1e6, len(found) - len(new)
        print(
            f"{name}: {len(new)} files fetched ({size:.1f} MB), {old} already there, in {data_roots()[0]}"
        )
        for one in new:
            if not one.known:
                print(f"  {one.name}: its checksum is not known beforehand: sha256 {one.sha256}")
        print(f"  please cite {public_set.cite}; see {public_set.page}")
