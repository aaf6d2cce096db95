"""Identities of runs, and the digests of content that they consist of.

A run is identified by the content of its scene, its search range, its parameters, the
files of its stages and the code that computes its disparity map. A result is stored under
a key that contains this identity, see `tasks.Task.keys`.
"""

import hashlib
import json
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.contents import content_digest_of
from stereo_framework.core.scene import Frame, Scene
from stereo_framework.core.source_summaries import summarize_source

_IGNORED_FIELDS = {(Frame, "name")}
"""Fields that only messages show. The name of a frame may be an absolute path."""

_DIGESTS: weakref.WeakKeyDictionary[Scene, str] = weakref.WeakKeyDictionary()
"""Digests of scenes, which are kept as long as the scenes."""


# --- scenes ---------------------------------------------------------------------------


def scene_digest(scene: Scene) -> str:
    """Return the digest of everything that matching and evaluation read from a scene.

    Arrays count with their content. Other frames, masks and ground truths that cannot be
    loaded are part of the digest as such, because few runs need them. A run that needs
    them fails.

    Parameters
    ----------
    scene : Scene
        The scene. Its digest is kept until `forget_digest` is called.

    Returns
    -------
    str
        Hexadecimal digest.

    Raises
    ------
    DataError
        One of the two images, or the ground truth of the pair, cannot be loaded.
    """
    digest = _DIGESTS.get(scene)
    if digest is None:
        digest = _DIGESTS[scene] = content_digest(scene, _loaded_values(scene)).hex()
    return digest


def _loaded_values(scene: Scene) -> dict[int, Any]:
    """Load the two images and the ground truth of a scene.

    Returns
    -------
    dict of int to object
        The loaded values, by the `id` of the functions that load them.
    """
    pair = {scene.reference_index: scene.reference, scene.match_index: scene.match}
    # Pixels without data are filled in an image. Therefore the masks count too.
    values: dict[int, Any] = {
        id(scene.frames[index].load): (image, scene.valid(index)) for index, image in pair.items()
    }
    if scene.truth is not None:
        load_truth = scene.truths[scene.reference_index, scene.match_index]
        values[id(load_truth)] = scene.truth
    return values


def forget_digest(scene: Scene) -> None:
    """Forget the digest of a scene, so that its files are read again next time."""
    _DIGESTS.pop(scene, None)


# --- values and files -----------------------------------------------------------------


def content_digest(value: Any, loaded_values: Mapping[int, Any]) -> bytes:
    """Return the digest of a value with everything that it contains.

    Parameters
    ----------
    value : object
        A dataclass, a mapping, a sequence, an array, a function that loads one of these,
        or a value that its ``repr`` describes completely.
    loaded_values : mapping of int to object
        Values that some functions have loaded already, by the `id` of the function.

    Returns
    -------
    bytes
        SHA-256 digest.
    """
    # A function comes first, because a function that loads may also be a dataclass.
    if callable(value):
        return _digest_of_loaded_value(value, loaded_values)
    if is_dataclass(value):
        names = [field.name for field in fields(value)]
        parts: list[Any] = []
        for name in names:
            if (type(value), name) not in _IGNORED_FIELDS:
                parts += (name, getattr(value, name))
        return _digest_of_parts("fields", parts, loaded_values)
    if isinstance(value, Mapping):
        pairs = sorted(value.items(), key=lambda pair: repr(pair[0]))
        parts = [item for pair in pairs for item in pair]
        return _digest_of_parts("mapping", parts, loaded_values)
    if isinstance(value, list | tuple):
        return _digest_of_parts("sequence", value, loaded_values)
    if isinstance(value, np.ndarray):
        return _digest_of_array(value, loaded_values)
    return _digest(repr(value))


def _digest_of_loaded_value(load: Any, loaded_values: Mapping[int, Any]) -> bytes:
    """Return the digest of the value that a function loads."""
    if id(load) in loaded_values:
        return content_digest(loaded_values[id(load)], loaded_values)
    try:
        value = load()
    except Exception:
        # A function of the user may raise anything. Perhaps no run needs its value.
        return _digest("cannot be loaded")
    return content_digest(value, loaded_values)


def _digest_of_parts(kind: str, parts: Iterable[Any], loaded_values: Mapping[int, Any]) -> bytes:
    """Return the digest of a kind of value that consists of other values."""
    return _digest(kind, *(content_digest(part, loaded_values) for part in parts))


def _digest_of_array(array: np.ndarray, loaded_values: Mapping[int, Any]) -> bytes:
    """Return the digest of an array; numbers behind a mask do not count."""
    if isinstance(array, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(array)
        visible = np.where(mask, np.zeros((), array.dtype), array.data)
        return _digest_of_parts("masked array", (visible, mask), loaded_values)
    if array.dtype == object:
        return _digest_of_parts(f"objects {array.shape}", array.flat, loaded_values)
    return _digest(f"array {array.dtype.str} {array.shape}", np.ascontiguousarray(array).data)


def files_digest(files: Iterable[Path]) -> str:
    """Return the digest of the content of files and folders, in their order.

    Comments and docstrings of Python files do not count.

    Parameters
    ----------
    files : iterable of Path
        Files and folders. For a missing file, the digest contains a special mark.

    Returns
    -------
    str
        Hexadecimal digest.
    """
    return _digest("files", *map(_digest_of_file, files)).hex()


def _digest_of_file(file: Path) -> bytes:
    """Return the digest of a file or folder."""
    if file.suffix == ".py" and file.is_file():
        return summarize_source(file.read_bytes()).digest
    return content_digest_of(file)


# --- identities -----------------------------------------------------------------------


def run_id(scene: str, search: str, parameters: Mapping[str, Any], code: str) -> str:
    """Return the identity of a run, 16 hexadecimal digits.

    Parameters
    ----------
    scene : str
        Digest of the scene, see `scene_digest`.
    search : str
        Text that describes the search range completely.
    parameters : mapping of str to object
        All parameters by their addresses.
    code : str
        Digest of the code, see `code_identity.CodeReader.matching_digest`.
    """
    parts = [scene, search, dict(parameters), code]
    return _digest(json.dumps(parts, sort_keys=True, default=repr)).hex()[:16]


def result_key(*parts: str) -> str:
    """Return the key under which a result is stored.

    Parameters
    ----------
    *parts : str
        Texts that identify the result together, such as run, method and protocol. Two
        different sequences have two keys, whatever characters the texts contain.
    """
    return json.dumps(parts)


def _digest(kind: str, *parts: bytes | memoryview) -> bytes:
    """Return the digest of a kind of value and of its parts."""
    digest = hashlib.sha256(kind.encode())
    # The digests of the parts have equal lengths, so the limits of the parts are clear.
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.digest()
