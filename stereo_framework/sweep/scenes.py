"""Scenes on their way to other processes: by name where the name is enough, else with all their arrays."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, replace
from typing import Any

from stereo_framework.datasets import load_scene
from stereo_framework.errors import DataError
from stereo_framework.scene import Scene
from stereo_framework.sweep.identity import scene_digest

_HERE: dict[str, Scene] = {}
"""Scenes that this process was sent, by digest."""


@dataclass(frozen=True)
class SentScene:
    """What another process makes a scene from.

    Parameters
    ----------
    digest : str
        `scene_digest`.
    name : str
    data : str or None
        Data root.
    pickled : bytes or None
        The whole scene, where a name does not say it.
    """

    digest: str
    name: str
    data: str | None
    pickled: bytes | None

    def load(self) -> Scene:
        """The scene; loaded once in each process.

        Raises
        ------
        DataError
            It is not there, or not the same as where it was sent from.
        """
        if self.digest not in _HERE:
            scene = load_scene(self.name, data=self.data) if self.pickled is None else pickle.loads(self.pickled)
            if scene_digest(scene) != self.digest:
                raise DataError(f"scene {self.name}: another one than where the sweep was started; are the data the same?")
            _HERE[self.digest] = scene
        return _HERE[self.digest]


def send(scene: Scene, data: str | os.PathLike[str] | None) -> SentScene:
    """A scene as it is sent.

    Parameters
    ----------
    scene : Scene
    data : path, optional
        Data root that scenes come from; default: the environment variable STEREO_DATA.
    """
    digest = scene_digest(scene)
    root = os.fspath(data) if data is not None else os.environ.get("STEREO_DATA")
    root = os.path.abspath(os.path.expanduser(root)) if root else None
    try:
        named = scene_digest(load_scene(scene.name, data=root)) == digest
    except DataError:
        named = False
    return SentScene(digest, scene.name, root, None if named else pickle.dumps(_with_arrays(scene)))


@dataclass(frozen=True)
class _Held:
    """A loader of what is there already."""

    array: Any

    def __call__(self) -> Any:
        return self.array


def _with_arrays(scene: Scene) -> Scene:
    """The same scene, all of it loaded, that can be pickled."""
    return replace(
        scene,
        frames=tuple(replace(frame, load=_Held(scene.image(i))) for i, frame in enumerate(scene.frames)),
        truths={pair: _Held(load()) for pair, load in scene.truths.items()},
        masks={name: _Held(load()) for name, load in scene.masks.items()},
    )
