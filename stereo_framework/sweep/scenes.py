"""Scenes on their way to other processes: by name where the name is enough, else with all their arrays."""

from __future__ import annotations

import os
import pickle
import threading
from dataclasses import dataclass

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Scene
from stereo_framework.datasets import load_scene
from stereo_framework.sweep.identity import scene_digest

_HERE: dict[str, Scene] = {}
"""Scenes that this process was sent last, by digest."""

_HELD = threading.Lock()
"""Held by the thread that looks into them or changes them: a worker of a cluster has several."""

_KEPT = 4
"""So many of them are kept: units come scene by scene."""


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
        """The scene; one of the last few that were asked for is there already.

        Raises
        ------
        DataError
            It is not there, or not the same as where it was sent from.
        """
        # Threads that want the same one wait for the first of them to load it.
        with _HELD:
            scene = _HERE.pop(self.digest, None)
            if scene is None:
                scene = load_scene(self.name, data=self.data) if self.pickled is None else pickle.loads(self.pickled)
                if scene_digest(scene) != self.digest:
                    raise DataError(f"scene {self.name}: another one than where the sweep was started; are the data the same?")
            # The one that was asked for last stands last.
            _HERE[self.digest] = scene
            for digest in list(_HERE)[:-_KEPT]:
                del _HERE[digest]
            return scene


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
    return SentScene(digest, scene.name, root, None if named else pickle.dumps(scene))
