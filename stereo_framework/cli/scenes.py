"""The verb ``scenes``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.cli import _options as opt
from stereo_framework.cli import _output
from stereo_framework.core.progress import Progress
from stereo_framework.kernels.counting import round_counter

if TYPE_CHECKING:
    from stereo_framework.core.scene import Scene
    from stereo_framework.datasets.download import Fetched


def scenes(
    words: Annotated[list[str] | None, typer.Argument(metavar="SCENE")] = None,
    new: Annotated[Path | None, typer.Option("--new", metavar="FOLDER")] = None,
    fetch: Annotated[bool, typer.Option("--fetch")] = False,
    json: opt.Json = False,
) -> int:
    """List the scenes that are found, describe one, make one of your own images, or fetch public data sets.

    Sets are fetched from their publishers into the data root: --data, STEREO_DATA, or the user's cache folder.

    Example: stereo-framework scenes synthetic/planes

    Example: stereo-framework scenes --new my_images

    Parameters
    ----------
    words
        A scene to describe, without it all that are found are listed; with --fetch the public data sets, or scenes of them, to download.
    new
        Write a scene.yaml, with comments, for the images in this folder.
    fetch
        Download the data sets that are named, or list those that there are.
    """
    from stereo_framework.core.errors import ParameterError
    from stereo_framework.datasets import data_roots, load_scene, scene_names

    named = words or []
    if new is not None:
        from stereo_framework.datasets.new_scene import new_scene
        from stereo_framework.own_pair.search_range import looked_at

        if named:
            raise ParameterError(f"scenes: --new {new} goes without {named[0]!r}")
        print(f"{new_scene(new, lambda pair: looked_at(pair)[0])}: look through it; then every verb takes --scene {new}")
    elif fetch:
        (_fetch if named else _list_public_sets)(named, json)
    elif len(named) > 1:
        raise ParameterError(
            f"scenes: one at a time can be described, not {', '.join(named)}; to download: scenes --fetch SET..."
        )
    elif named:
        record = _record(load_scene(named[0]))
        if json:
            _output.print_json([record])
        else:
            _output.say(*(f"{key:12} {value}" for key, value in record.items()), indent=13)
    else:
        found = scene_names()
        if json:
            _output.print_json(list(found))
        else:
            print("\n".join(found))
            print(f"({len(found)} scenes; data roots: {', '.join(map(str, data_roots())) or 'none'})")
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
        "reduction": f"1/{scene.reduction} of the size that its benchmark counts pixels in",
        "weight": f"{scene.weight:g} in its benchmark's averages",
    }


def _list_public_sets(names: list[str], json: bool) -> None:
    from stereo_framework.datasets import public_sets

    if json:
        keys = ("name", "about", "megabytes", "cite", "page", "register")
        _output.print_json([{key: getattr(s, key) for key in keys} for s in public_sets()])
        return
    sizes = {s.name: "?" if s.megabytes is None else f"{s.megabytes:g}" for s in public_sets()}
    rows = [[s.name, s.about, "after registration" if s.register else sizes[s.name]] for s in public_sets()]
    _output.print_table(["data set", "what", "MB"], rows)
    print("Fetch one with: stereo-framework scenes --fetch SET. Their owners ask to be cited.")


def _fetch(names: list[str], json: bool) -> None:
    from stereo_framework.datasets import data_roots, fetch
    from stereo_framework.datasets.catalogue import find

    wanted = {name: find(name)[0] for name in names}  # every name is checked before anything is fetched
    every: list[Fetched] = []
    for name, public_set in wanted.items():
        with Progress(1) as progress:
            progress.watch(f"fetching {name}")
            found = fetch(name, progress=_megabytes)
        every += found
        if json:
            continue
        new = [f for f in found if not f.already_there]
        size = sum(f.bytes for f in new) / 1e6
        old = len(found) - len(new)
        print(f"{name}: {len(new)} files fetched ({size:.1f} MB), {old} already there, in {data_roots()[0]}")
        for f in new:
            if f.checked in _DOUBTS:
                print(f"  {f.name}: {_DOUBTS[f.checked]}: recorded, sha256 {f.sha256}")
        print(f"  please cite {public_set.cite}; see {public_set.page}")
    if json:
        _output.print_json([vars(f) for f in every])


_DOUBTS = {"unknown": "checksum unknown", "unlike copy": "checksum unlike that of the public copy that is known"}


def _megabytes(file: str, done: int, total: int | None) -> None:
    """Tell who shows progress how far a file is, as a loop tells its rounds."""
    if total is not None:
        round_counter()(done // 10**6, total // 10**6, f"{file}, MB")
