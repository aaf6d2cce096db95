"""Scenes on their way to other processes: by name where the name is enough, else with all their arrays."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from stereo_framework.core.errors import DataError, StereoFrameworkError
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
        The whole scene, where a name does not say it; empty where it is believed to be there already.
    """

    digest: str
    name: str
    data: str | None
    pickled: bytes | None

    @property
    def without_arrays(self) -> SentScene:
        """The same for who has the scene already."""
        return self if self.pickled is None else replace(self, pickled=b"")

    @property
    def is_lacking(self) -> bool:
        """Whether this process would need the arrays too."""
        return self.pickled == b"" and self.digest not in _HERE

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
    return SentScene(digest, scene.name, root, None if named else pickle.dumps(_with_arrays(scene)))


class Sending:
    """Scenes as they are sent, made once for each of the last few.

    Parameters
    ----------
    data : str or None
        As of `send`.
    """

    def __init__(self, data: str | None):
        self._data = data
        self._sent: dict[int, tuple[Scene, SentScene]] = {}

    def __call__(self, scene: Scene) -> SentScene:
        """A scene as it is sent."""
        if id(scene) not in self._sent:
            self._sent[id(scene)] = scene, send(scene, self._data)
            for old in list(self._sent)[:-_KEPT]:
                del self._sent[old]
        return self._sent[id(scene)][1]


@dataclass(frozen=True)
class _Held:
    """A loader of what is there already."""

    value: Any

    def __call__(self) -> Any:
        return self.value


@dataclass(frozen=True)
class _Missing:
    """A loader of what could not be loaded here either: it says so when it is asked."""

    error: str

    def __call__(self) -> Any:
        raise DataError(self.error)


def _with_arrays(value: Any) -> Any:
    """The same scene, or part of one, all of it loaded, that can be pickled."""
    if callable(value):
        return _held(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _with_arrays(getattr(value, f.name)) for f in fields(value)})
    if isinstance(value, Mapping):
        return {key: _with_arrays(item) for key, item in value.items()}
    return tuple(map(_with_arrays, value)) if isinstance(value, tuple) else value


def _held(load: Callable[[], Any]) -> _Held | _Missing:
    try:
        return _Held(load())
    except StereoFrameworkError as error:
        return _Missing(str(error))
    except Exception as error:  # whatever a loader of the user's raises
        return _Missing(f"{type(error).__name__}: {error}")
