"""Copies of scenes that no name brings back: the user's own pairs lie beside the results, so that these can be looked at anywhere."""

from __future__ import annotations

import io
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from stereo_framework.core.scene import Scene
from stereo_framework.datasets import load_scene, scene_names
from stereo_framework.io import PathLike, file_stem, write_bytes, write_disparity, write_image
from stereo_framework.sweep.identity import scene_digest

FOLDER = "scenes"
"""In the output folder of a run."""


def keep_scene(out: Path, scene: Scene, data: str | None = None) -> None:
    """Write a scene's pair of images, its truth and its masks to an output folder, unless its name stands for it in a data set or among the built-in ones.

    Parameters
    ----------
    out : Path
        The copy is a folder in ``out/scenes`` with a ``scene.yaml`` that `load_scene` reads. What pictures do not need is left out: other frames, the
        calibration and disparity ranges of single pixels.
    scene : Scene
    data : str, optional
        Data root, as of `load_scene`.

    Raises
    ------
    DataError
        The folder cannot be written.
    """
    if scene.name in scene_names(data) and _outline(load_scene(scene.name, data=data)) == _outline(scene):
        return
    folder = out / FOLDER / f"{file_stem(scene.name)}-{scene_digest(scene)[:8]}"
    if (folder / "scene.yaml").is_file():
        return
    # Written last: a folder with it is whole.
    write_bytes(folder / "scene.yaml", yaml.safe_dump(_written(folder, scene), sort_keys=False).encode())


def kept_scene(out: Path, name: str) -> Scene | None:
    """The copy of a scene in an output folder; None where there is none, or several scenes of that name.

    Raises
    ------
    DataError
        It is damaged.
    """
    pattern = re.compile(re.escape(file_stem(name)) + "-[0-9a-f]{8}")
    copies = [path.parent for path in (out / FOLDER).glob("*/scene.yaml") if pattern.fullmatch(path.parent.name)]
    return replace(load_scene(copies[0] / "scene.yaml"), name=name) if len(copies) == 1 else None


def scene_of(out: Path, name: str, data: PathLike | None = None) -> Scene:
    """The scene of results in an output folder: its copy there, else the one of that name.

    Raises
    ------
    DataError
        There is neither, or it is damaged.
    """
    return kept_scene(out, name) or load_scene(name, data=data)


def _outline(scene: Scene) -> tuple[Any, ...]:
    """What tells a scene from one that was changed after loading, without loading its files."""
    frames = [(frame.name, frame.position) for frame in scene.frames]
    loaded = ("frames", "truths", "masks", "ranges")
    plain = [getattr(scene, f.name) for f in fields(scene) if f.name not in loaded]
    return frames, plain, *(set(getattr(scene, name)) for name in loaded[1:])


def _written(folder: Path, scene: Scene) -> dict[str, Any]:
    """What ``scene.yaml`` says, all files that it names written."""
    pair = (scene.reference_index, scene.match_index)
    frames = []
    for name, index in zip(("reference", "match"), pair, strict=True):
        frame = scene.frames[index]
        image, mask = frame.load(), frame.valid() if frame.valid is not None else None
        file = f"{name}.png" if image.dtype == np.uint8 else f"{name}.npy"
        if image.dtype == np.uint8:
            write_image(folder / file, image)
        else:
            buffer = io.BytesIO()
            np.save(buffer, image)
            write_bytes(folder / file, buffer.getvalue())
        frames.append({"file": file, "position": frame.position})
        if mask is not None:
            write_image(folder / f"{name}_mask.png", mask)
            frames[-1]["mask"] = f"{name}_mask.png"
    entry: dict[str, Any] = {"frames": frames, "border": scene.border}
    if scene.search is not None:
        entry["search"] = {key: getattr(scene.search, key) for key in ("minimum", "maximum", "step")}
    for name, truth in (("truth", scene.truth), ("match_truth", scene.match_truth)):
        if truth is not None:
            write_disparity(folder / f"{name}.pfm", truth)
            entry[name] = f"{name}.pfm"
    for name in scene.masks:
        write_image(folder / f"mask_{file_stem(name)}.png", scene.mask(name))
        entry.setdefault("masks", {})[name] = f"mask_{file_stem(name)}.png"
    return entry
