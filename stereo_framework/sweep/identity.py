"""What makes a run the same run: its scene's content, its parameters and the code that computes."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from stereo_framework._parallel import available_cores
from stereo_framework.scene import Scene

_PACKAGES = ("stereo-framework", "numpy", "numba", "scipy", "opencv-python-headless", "opencv-python", "PyMaxflow")
_NOT_COMPUTING = {"cli", "papers", "report", "submission.py", "sweep", "script"}


@functools.cache
def code_digest(plugins: tuple[str, ...] = ()) -> str:
    """Digest of the source of everything that computes, the plug-ins included."""
    package = Path(__file__).parents[1]
    files = [p for p in sorted(package.rglob("*.py")) if p.relative_to(package).parts[0] not in _NOT_COMPUTING]
    return _digest(p.read_bytes() for p in [*files, *map(Path, plugins)])


def scene_digest(scene: Scene) -> str:
    """Digest of what a scene feeds into matching and evaluation. Loads its images and truth."""
    parts = [scene.name, scene.direction, scene.border, scene.reference_index, scene.match_index]
    parts += [[frame.position for frame in scene.frames], sorted(scene.masks)]
    arrays = [a for a in (scene.reference, scene.match, scene.truth) if a is not None]
    return _digest([repr(parts).encode(), *(a.tobytes() for a in arrays)])


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
    return _digest([json.dumps([scene, search, dict(parameters), code], sort_keys=True, default=repr).encode()])[:16]


@functools.cache
def environment() -> Mapping[str, str]:
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


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
