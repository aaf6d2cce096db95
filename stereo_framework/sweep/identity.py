"""What makes a run the same run: its scene's content, its search range, its parameters and the code that computes.

Results are stored under this identity together with method and protocol, see `plan.Task.keys`.
"""

import contextlib
import functools
import hashlib
import json
import platform
import sys
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.plugins import as_loaded, installed_plugins, sources
from stereo_framework.core.scene import Frame, Scene
from stereo_framework.core.stage import typed_stages
from stereo_framework.kernels.threads import available_cores

_PACKAGES = ("stereo-framework", "numpy", "numba", "scipy", "opencv-python-headless", "opencv-python", "PyMaxflow")
_NOT_COMPUTING = {"cli", "configs", "own_pair", "examples", "papers", "page", "figures", "tables", "sweep", "script"}


def code_digest(plugins: tuple[str, ...] = (), *, typed: bool = True) -> str:
    """Digest of the source of everything that computes: plug-ins, installed ones too, with all that they import of their own, and, unless told otherwise,
    stages that are typed in the program that runs: its file, or in a notebook their own texts.
    """
    texts, program = typed_stages() if typed else (), getattr(sys.modules["__main__"], "__file__", None)
    return _code_digest(plugins + installed_plugins() + ((program,) if texts and program else ()), texts)


@functools.cache
def _code_digest(plugins: tuple[str, ...], typed: tuple[str, ...]) -> str:
    package = Path(__file__).parents[1]
    # Weights that a stage has learned are kept as YAML.
    computing = sorted(p for p in package.rglob("*") if p.suffix in (".py", ".yaml"))
    files = [p for p in computing if p.relative_to(package).parts[0] not in _NOT_COMPUTING]
    own = [part for plugin in plugins for part in _plugin(plugin)]
    return _digest("code", *(p.read_bytes() for p in files), *own, *(text.encode() for text in typed)).hex()


def _plugin(plugin: str) -> list[bytes]:
    """What a plug-in's file holds, and the names and contents of the modules that belong to it."""
    file, *helpers = sources(Path(plugin))
    return [as_loaded(file), *(part for helper in helpers for part in (helper.name.encode(), as_loaded(helper)))]


_SHOWN = {(Frame, "name")}
"""Fields of scenes that messages show and no number depends on; a frame's may be the absolute path of its file."""

_DIGESTS: weakref.WeakKeyDictionary[Scene, str] = weakref.WeakKeyDictionary()


def scene_digest(scene: Scene) -> str:
    """Digest of all that a scene feeds into matching and evaluation: every field, arrays by their content. Kept as long as it lives.

    Raises
    ------
    DataError
        Its two images or its truth cannot be loaded. What few runs need, other frames, masks and truths, may be missing: that it cannot
        be loaded is then part of the digest, and a run that needs it fails.
    """
    found = _DIGESTS.get(scene)
    if found is None:
        pair = (scene.reference_index, scene.reference), (scene.match_index, scene.match)
        # Which pixels hold no data is not to be seen in images that were filled there.
        loaded: dict[int, Any] = {id(scene.frames[index].load): (image, scene.valid(index)) for index, image in pair}
        if scene.truth is not None:
            loaded[id(scene.truths[scene.reference_index, scene.match_index])] = scene.truth
        found = _DIGESTS[scene] = content_digest(scene, loaded).hex()
    return found


def content_digest(value: Any, loaded: Mapping[int, Any]) -> bytes:
    """Digest of a value with all that it holds; `loaded` has what some loaders, by identity, have given already."""
    # Before all else: a loader may be a dataclass as well.
    if callable(value):
        if id(value) in loaded:
            return content_digest(loaded[id(value)], loaded)
        try:
            result = value()
        except Exception:  # whatever a loader of the user's raises: no run may ever ask for what it loads
            return _digest("cannot be loaded")
        return content_digest(result, loaded)
    if is_dataclass(value):
        names = [f.name for f in fields(value) if (type(value), f.name) not in _SHOWN]
        return _digest("fields", *(content_digest(item, loaded) for name in names for item in (name, getattr(value, name))))
    if isinstance(value, Mapping):
        pairs = sorted(value.items(), key=lambda pair: repr(pair[0]))
        return _digest("mapping", *(content_digest(item, loaded) for pair in pairs for item in pair))
    if isinstance(value, list | tuple):
        return _digest("sequence", *(content_digest(item, loaded) for item in value))
    if isinstance(value, np.ndarray):
        return _digest(f"array {value.dtype.str} {value.shape}", np.ascontiguousarray(value).data)
    return _digest(repr(value))


def files_digest(files: Iterable[Path]) -> str:
    """Digest of the content of files; of one that is missing that it is so."""
    return _digest("files", *(path.read_bytes() if path.is_file() else b"missing" for path in files)).hex()


def run_id(scene: str, search: str, parameters: Mapping[str, Any], code: str) -> str:
    """Identity of a run, 16 hexadecimal digits.

    Parameters
    ----------
    scene : str
        `scene_digest`.
    search : str
        The search range in full.
    parameters : mapping
        All resolved values by dotted name.
    code : str
        `code_digest`.
    """
    return _digest(json.dumps([scene, search, dict(parameters), code], sort_keys=True, default=repr)).hex()[:16]


def result_key(*parts: str) -> str:
    """Return the key under which a result is stored.

    Parameters
    ----------
    *parts : str
        Texts that identify the result together, such as run, method and protocol. Two
        different sequences have two keys, whatever characters the texts contain.
    """
    return json.dumps(parts)


@functools.cache
def environment() -> dict[str, str]:
    """Versions and machine that this process computes with."""
    machine = f"{platform.system()} {platform.machine()}, {available_cores()} cores"
    return {"python": sys.version.split()[0], "machine": machine, "host": platform.node(), **versions()}


def versions() -> dict[str, str]:
    """Versions of the packages that compute, as far as they are installed."""
    found = {}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _digest(kind: str, *parts: bytes | memoryview) -> bytes:
    """Digest of a kind of value and its parts, whatever their lengths."""
    digest = hashlib.sha256(kind.encode())
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.digest()
