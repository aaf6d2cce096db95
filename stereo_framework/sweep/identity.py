"""Identities of runs, and digests of scenes, files and values.

The identity of a run depends on the content of the scene, the search range, all
parameters, the files of the stages, and the code that computes the disparity map. The
key under which a result is stored contains the identity of its run. The property
`tasks.Task.keys` returns the keys.
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
"""Fields that are not part of a digest, because only messages show their values.

The name of a frame may be an absolute path. A digest with this name would change if the
data sets were moved to another folder.
"""

_DIGESTS: weakref.WeakKeyDictionary[Scene, str] = weakref.WeakKeyDictionary()
"""Digests of scenes. The digest of a scene is kept as long as the scene exists."""


# --- scenes ---------------------------------------------------------------------------


def scene_digest(scene: Scene) -> str:
    """Return the digest of everything that matching and evaluation read from a scene.

    The digest covers the numbers in the arrays of the scene. If a mask, an additional
    frame or an additional ground truth cannot be loaded, the digest contains a mark
    instead, because few runs need this file. If a run needs the file, the run fails.

    Parameters
    ----------
    scene : Scene
        The scene. The module keeps its digest until `forget_digest` is called.

    Returns
    -------
    str
        Hexadecimal digest of the scene.

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
        Dictionary from the `id` of each loading function to the loaded value.
    """
    pair = {scene.reference_index: scene.reference, scene.match_index: scene.match}
    # A loaded image has filled values at pixels without data. Only the mask of valid
    # pixels shows which values are filled, so the digest also covers the mask.
    values: dict[int, Any] = {
        id(scene.frames[index].load): (image, scene.valid(index)) for index, image in pair.items()
    }
    if scene.truth is not None:
        load_truth = scene.truths[scene.reference_index, scene.match_index]
        values[id(load_truth)] = scene.truth
    return values


def forget_digest(scene: Scene) -> None:
    """Delete the stored digest of a scene, so that `scene_digest` computes it again."""
    _DIGESTS.pop(scene, None)


# --- values and files -----------------------------------------------------------------


def content_digest(value: Any, loaded_values: Mapping[int, Any]) -> bytes:
    """Return the digest of a value and of all values that the value contains.

    Parameters
    ----------
    value : object
        A dataclass, a mapping, a sequence, an array, a function without arguments that
        loads such a value, or any value that its ``repr`` describes completely.
    loaded_values : mapping of int to object
        Dictionary from the `id` of a loading function to the value that the function
        has already loaded.

    Returns
    -------
    bytes
        SHA-256 digest.
    """
    # This test comes before the test for dataclasses, because a loading function may be
    # a callable dataclass.
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
        # A function of the user may raise any exception. The exception is not reported,
        # because perhaps no run needs the value.
        return _digest("cannot be loaded")
    return content_digest(value, loaded_values)


def _digest_of_parts(kind: str, parts: Iterable[Any], loaded_values: Mapping[int, Any]) -> bytes:
    """Return the digest of a value that consists of the given parts."""
    return _digest(kind, *(content_digest(part, loaded_values) for part in parts))


def _digest_of_array(array: np.ndarray, loaded_values: Mapping[int, Any]) -> bytes:
    """Return the digest of an array without the values of its masked elements."""
    if isinstance(array, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(array)
        visible = np.where(mask, np.zeros((), array.dtype), array.data)
        return _digest_of_parts("masked array", (visible, mask), loaded_values)
    if array.dtype == object:
        return _digest_of_parts(f"objects {array.shape}", array.flat, loaded_values)
    return _digest(f"array {array.dtype.str} {array.shape}", np.ascontiguousarray(array).data)


def files_digest(files: Iterable[Path]) -> str:
    """Return the digest of the content of files and folders.

    The digest depends on the order of the files. A change of comments or docstrings in
    a Python file does not change the digest.

    Parameters
    ----------
    files : iterable of Path
        Files and folders. For a missing file, the digest contains a special mark.

    Returns
    -------
    str
        Hexadecimal digest of all files and folders together.
    """
    return _digest("files", *map(_digest_of_file, files)).hex()


def _digest_of_file(file: Path) -> bytes:
    """Return the digest of a file or folder."""
    if file.suffix == ".py" and file.is_file():
        return summarize_source(file.read_bytes()).digest
    return content_digest_of(file)


# --- identities -----------------------------------------------------------------------


def run_id(scene: str, search: str, parameters: Mapping[str, Any], code: str) -> str:
    """Return the identity of a run as a text of 16 hexadecimal digits.

    Parameters
    ----------
    scene : str
        Digest of the scene, which `scene_digest` returns.
    search : str
        Text that describes the search range completely.
    parameters : mapping of str to object
        Values of all parameters. The keys are the addresses of the parameters.
    code : str
        Digest of the code, which `code_identity.CodeReader.matching_digest` returns.
    """
    parts = [scene, search, dict(parameters), code]
    return _digest(json.dumps(parts, sort_keys=True, default=repr)).hex()[:16]


def result_key(*parts: str) -> str:
    """Return the key under which a result is stored.

    Parameters
    ----------
    *parts : str
        Texts that together identify the result, such as the identity of the run and the
        name of the method. Two different sequences of texts have two different keys.
    """
    return json.dumps(parts)


def _digest(kind: str, *parts: bytes | memoryview) -> bytes:
    """Return the digest of a value, from the name of its kind and from its parts."""
    digest = hashlib.sha256(kind.encode())
    # Each part is replaced by its digest. All digests have the same length, so that
    # ("ab", "c") and ("a", "bc") have different results.
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.digest()
