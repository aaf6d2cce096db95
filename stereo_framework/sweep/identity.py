"""What makes a run the same run: its scene's content, its search range, its parameters and the code that computes.

Results are stored under this identity together with method and protocol, see `tasks.Task.keys`.
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

from stereo_framework.core.contents import content_digest_of
from stereo_framework.core.loaded_code import loaded_content
from stereo_framework.core.module_sources import source_files
from stereo_framework.core.package_files import package_folder
from stereo_framework.core.plugins import (
    PLUGIN_PREFIX,
    content_when_loaded,
    installed_plugins,
    is_plugin_file,
)
from stereo_framework.core.registry import Registry
from stereo_framework.core.scene import Frame, Scene
from stereo_framework.kernels.cores import available_cores

_PACKAGES = (
    "stereo-framework",
    "numpy",
    "numba",
    "scipy",
    "opencv-python-headless",
    "opencv-python",
    "PyMaxflow",
)
_NOT_COMPUTING = {
    "cli",
    "configs",
    "user_pair",
    "examples",
    "papers",
    "page",
    "figures",
    "tables",
    "sweep",
    "script",
}
_COMPUTING_FILES = ("sweep/pseudo_truth.py", "sweep/task_results.py")
"""Files in folders of `_NOT_COMPUTING` on which statistics depend all the same."""

_REFERENCE_SCRIPT = "truth_free/pseudo_truth.yaml"
"""The built-in script whose disparity map stands in for missing ground truth."""

_IDENTIFIED_OTHERWISE = {"chart", "paper", "protocol", "data set"}
"""Kinds of registered things whose code needs no place in the digest of the code.

Charts and papers only show results. The fields of a protocol are part of the key of a
result, and the scenes of a data set have a digest of their content.
"""


def code_digest(plugins: tuple[str, ...] = (), *, typed: bool = True) -> str:
    """Return the digest of the code that computes.

    The package counts, and all plug-ins with the modules of the user that they import.
    In addition, whatever the running program or notebook registers counts, see
    `_program_content`.

    Parameters
    ----------
    plugins : tuple of str
        The files of the plug-ins that a script names. Installed plug-ins always count.
    typed : bool
        False leaves the running program out. Other processes do not have it.
    """
    program = _program_content() if typed else b""
    return _digest("code", _code_digest(plugins + installed_plugins()), program).hex()


@functools.cache
def _code_digest(plugins: tuple[str, ...]) -> bytes:
    """Return the digest of the package's files and of plug-ins, which a process loads once."""
    files = [path.read_bytes() for path in computing_files()]
    own = [part for plugin in plugins for part in _plugin(plugin)]
    return _digest("files", *files, *own)


def computing_files() -> list[Path]:
    """List the files of the package that numbers depend on, sorted."""
    package = Path(__file__).parents[1]
    # Weights that a stage has learned are kept as YAML.
    files = sorted(path for path in package.rglob("*") if path.suffix in (".py", ".yaml"))
    computing = [path for path in files if path.relative_to(package).parts[0] not in _NOT_COMPUTING]
    return [
        *computing,
        *(package / name for name in _COMPUTING_FILES),
        package_folder() / _REFERENCE_SCRIPT,
    ]


def _plugin(plugin: str) -> list[bytes]:
    """What a plug-in's file holds, and the names and contents of the modules that belong to it."""
    file, *helpers = source_files(Path(plugin))
    return [
        content_when_loaded(file),
        *(
            part
            for helper in helpers
            for part in (helper.name.encode(), content_when_loaded(helper))
        ),
    ]


def _program_content() -> bytes:
    """Return the digest of what the running program registers for computing.

    A program or notebook may define stages, metrics and readers, or import modules that
    do, without naming them as plug-ins. They count as they are in memory, since a notebook
    defines functions again and reloads modules. The files of their modules count too.

    Returns
    -------
    bytes
        Empty if the program registers nothing.
    """
    things: list[Any] = []
    modules: set[str] = set()
    for registry in Registry.registries:
        names = [] if registry.kind in _IDENTIFIED_OTHERWISE else sorted(registry)
        for name in names:
            origin = registry.origin(name)
            if _is_of_program(origin):
                things.append((registry.kind, name, registry[name]))
                modules.add(origin)
    if not things:
        return b""
    files = [_source_file(module) for module in sorted(modules)]
    contents = [
        content_digest_of(path) for file in files if file is not None for path in source_files(file)
    ]
    return _digest("program", loaded_content(things), *contents)


def _is_of_program(module: str) -> bool:
    """Return whether the program brought a module: neither this package nor a plug-in did."""
    if module.partition(".")[0] == Registry.PACKAGE or module.startswith(PLUGIN_PREFIX):
        return False
    file = _source_file(module)
    return file is None or not is_plugin_file(file)


def _source_file(module: str) -> Path | None:
    """Return the file of an imported module, or None if it has none, as in a notebook."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file and Path(file).is_file() else None


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
        loaded: dict[int, Any] = {
            id(scene.frames[index].load): (image, scene.valid(index)) for index, image in pair
        }
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
        except (
            Exception
        ):  # whatever a loader of the user's raises: no run may ever ask for what it loads
            return _digest("cannot be loaded")
        return content_digest(result, loaded)
    if is_dataclass(value):
        names = [f.name for f in fields(value) if (type(value), f.name) not in _SHOWN]
        return _digest(
            "fields",
            *(
                content_digest(item, loaded)
                for name in names
                for item in (name, getattr(value, name))
            ),
        )
    if isinstance(value, Mapping):
        pairs = sorted(value.items(), key=lambda pair: repr(pair[0]))
        return _digest(
            "mapping", *(content_digest(item, loaded) for pair in pairs for item in pair)
        )
    if isinstance(value, list | tuple):
        return _digest("sequence", *(content_digest(item, loaded) for item in value))
    if isinstance(value, np.ma.MaskedArray):
        # Numbers that are masked may differ without any effect.
        mask = np.ma.getmaskarray(value)
        visible = np.where(mask, np.zeros((), value.dtype), value.data)
        return _digest(
            "masked array", content_digest(visible, loaded), content_digest(mask, loaded)
        )
    if isinstance(value, np.ndarray) and value.dtype == object:
        return _digest(
            f"objects {value.shape}", *(content_digest(item, loaded) for item in value.flat)
        )
    if isinstance(value, np.ndarray):
        return _digest(f"array {value.dtype.str} {value.shape}", np.ascontiguousarray(value).data)
    return _digest(repr(value))


def files_digest(files: Iterable[Path]) -> str:
    """Return the digest of the content of files and folders, in their order.

    A path that does not exist has a digest that no file has.
    """
    return _digest("files", *map(content_digest_of, files)).hex()


def forget_digest(scene: Scene) -> None:
    """Compute the digest of a scene again when it is next needed, from its files."""
    _DIGESTS.pop(scene, None)


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
    return _digest(
        json.dumps([scene, search, dict(parameters), code], sort_keys=True, default=repr)
    ).hex()[:16]


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
    return {
        "python": sys.version.split()[0],
        "machine": machine,
        "host": platform.node(),
        **versions(),
    }


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
