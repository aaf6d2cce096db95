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


def keep_scene(out: Path, scene: Scene, data: PathLike | None = None) -> None:
    """Write a scene's pair of images, its truth and its masks to an output folder, unless its name stands for it in a data set or among the built-in ones.

    Parameters
    ----------
    out : Path
        The copy is a folder in ``out/scenes`` with a ``scene.yaml`` that `load_scene` reads. What pictures do not need is left out: other frames, the
        calibration and disparity ranges of single pixels.
    scene : Scene
    data : path-like, optional
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


def scene_of(out: Path, name: str, data: PathLike | None = None) -> Scene:
    """The scene of results in an output folder: its copy there, unless there are none or several of that name, else the one of that name.

    Raises
    ------
    DataError
        There is neither, or it is damaged.
    """
    pattern = re.compile(re.escape(file_stem(name)) + "-[0-9a-f]{8}")
    copies = [path for path in (out / FOLDER).glob("*/scene.yaml") if pattern.fullmatch(path.parent.name)]
    return replace(load_scene(copies[0]), name=name) if len(copies) == 1 else load_scene(name, data=data)


def _outline(scene: Scene) -> tuple[Any, ...]:
    """What tells a scene from one that was changed after loading, without loading its files."""
    frames = [(frame.name, frame.position) for frame in scene.frames]
    loaded = ("frames", "truths", "masks", "ranges")
    plain = [getattr(scene, f.name) for f in fields(scene) if f.name not in loaded]
    return frames, plain, *(set(getattr(scene, name)) for name in loaded[1:])


def _written(folder: Path, scene: Scene) -> dict[str, Any]:
    """What ``scene.yaml`` says, all files that it names written."""
    frames = []
    for name, index in (("reference", scene.reference_index), ("match", scene.match_index)):
        frame = scene.frames[index]
        frames.append({"file": _image(folder / name, scene.image(index)), "position": frame.position})
        if (mask := scene.valid(index)) is not None:
            frames[-1]["mask"] = f"{name}_mask.png"
            write_image(folder / f"{name}_mask.png", mask)
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


def _image(stem: Path, image: np.ndarray[Any, Any]) -> str:
    """Write an image; returns the name of its file."""
    if image.dtype == np.uint8:
        write_image(stem.with_suffix(".png"), image)
        return f"{stem.name}.png"
    buffer = io.BytesIO()
    np.save(buffer, image)
    write_bytes(stem.with_suffix(".npy"), buffer.getvalue())
    return f"{stem.name}.npy"
