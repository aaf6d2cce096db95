"""The user's own scenes: a ``scene.yaml`` beside the images, or two image files.

A ``scene.yaml``; only ``frames`` is needed, file names are relative to its folder::

    frames: [left.png, right.png]       # from left to right; or {file: left.png, position: 0.5}
    reference: 0                        # indices of frames
    match: 1
    search: {minimum: 0, maximum: 64}   # pixels, both ends included; and step
    truth: {file: truth.png, scale: 4, unknown: 0}  # or only a file name; match_truth likewise
    masks: {nonocc: nonocc.png}         # white counts
    calibration: {focal_length: 994.978, baseline: 193.001, doffs: 31.086}
    border: 0                           # pixels that are not evaluated
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from stereo_framework.errors import DataError, ParameterError
from stereo_framework.io import PathLike, check_file, read_bytes, read_disparity, read_image, read_mask
from stereo_framework.scene import Calibration, Disparity, Frame, Scene, Search

FILE_NAME = "scene.yaml"


def load(path: PathLike) -> Scene:
    """The scene that a ``scene.yaml`` describes; its files load on first use.

    Parameters
    ----------
    path : path-like
        The file, or the folder that holds it.

    Raises
    ------
    DataError
        The file or one that it names is missing, or it has faults: one line for each.
    """
    from stereo_framework.datasets.scene_schema import TruthEntry, check

    file = Path(path)
    if file.is_dir():
        file /= FILE_NAME
    folder = file.parent
    entry = check(_parse(file), str(file))

    def truth(entry: TruthEntry) -> Callable[[], Disparity]:
        return _truth(folder / entry.file, scale=entry.scale, unknown=entry.unknown, minimum=entry.minimum)

    truths = {}
    if entry.truth:
        truths[entry.reference, entry.match] = truth(entry.truth)
    if entry.match_truth:
        truths[entry.match, entry.reference] = truth(entry.match_truth)
    for mask in entry.masks.values():
        check_file(folder / mask)
    try:
        return Scene(
            _name(folder if file.name == FILE_NAME else file.with_suffix("")),
            tuple(_frame(folder / f.file, i if f.position is None else f.position) for i, f in enumerate(entry.frames)),
            entry.reference,
            entry.match,
            Search(**entry.search.model_dump()) if entry.search else None,
            truths,
            {name: partial(read_mask, folder / mask) for name, mask in entry.masks.items()},
            Calibration(**entry.calibration.model_dump()) if entry.calibration else None,
            entry.border,
        )
    except ParameterError as error:
        raise DataError(f"{file}: {error}") from None


def pair_scene(
    left: PathLike,
    right: PathLike,
    search: Search | None,
    *,
    truth: PathLike | None = None,
    truth_scale: float | None = None,
    truth_unknown: int | None = 0,
) -> Scene:
    """A scene of two image files; the left one is the reference.

    Parameters
    ----------
    left, right : path-like
    search : Search or None
        Disparity range in pixels.
    truth : path-like, optional
        Disparity map of the left image, see `read_disparity`.
    truth_scale, truth_unknown
        Its scale and unknown value, where it is a grey picture.

    Raises
    ------
    DataError
        One of the files is missing.
    """
    truths = {} if truth is None else {(0, 1): _truth(Path(truth), scale=truth_scale, unknown=truth_unknown)}
    left, right = Path(left), Path(right)
    name = f"{_name(left.with_suffix(''))}-{right.stem}"
    return Scene(name, (_frame(left, 0), _frame(right, 1)), search=search, truths=truths)


def _frame(path: Path, position: float) -> Frame:
    check_file(path)
    return Frame(str(path), partial(read_image, path), position)


def _truth(path: Path, **encoding: Any) -> Callable[[], Disparity]:
    check_file(path)
    return partial(read_disparity, path, **encoding)


def _name(path: Path) -> str:
    """A scene name that a result folder can be called: the path as given, without its root and upward steps."""
    parts = [part for part in path.parts if part not in (path.anchor, "..")]
    return "/".join(parts) or path.resolve().name or "scene"


class _Loader(yaml.SafeLoader):
    """Refuses a key that occurs twice; YAML's own loader lets the last one win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping without duplicate keys."""
        seen = set()
        for key in [k for k, _ in node.value if isinstance(k, yaml.ScalarNode)]:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} occurs twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _parse(file: Path) -> Any:
    try:
        return yaml.load(read_bytes(file), Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise DataError(f"{file}{place}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise DataError(f"{file}: is no YAML file: {' '.join(str(error).split())}") from None
