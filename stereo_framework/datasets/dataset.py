"""All data sets, and the door for those of one's own: ``@dataset``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from stereo_framework.core.errors import DataError, StereoFrameworkError
from stereo_framework.core.registry import Registry, told
from stereo_framework.core.scene import Scene
from stereo_framework.datasets import eth3d, middlebury_v2, middlebury_v3
from stereo_framework.datasets.kitti import KITTI_2012, KITTI_2015
from stereo_framework.datasets.listed import KITTI_SAMPLE, MIDDLEBURY_2001, MIDDLEBURY_2003, MOTORCYCLE
from stereo_framework.datasets.structured_light import MIDDLEBURY_2005, MIDDLEBURY_2006

F = TypeVar("F", bound=Callable[[Path, str], Scene])


class DataSet(Protocol):
    """What a data set offers."""

    @property
    def FOLDER(self) -> str:
        """The folder below a data root, with which the names of the scenes begin."""
        ...

    def scene_names(self, root: Path, /) -> tuple[str, ...]:
        """Names, below FOLDER, of the scenes that a data root holds."""
        ...

    def load(self, root: Path, name: str, /) -> Scene:
        """One of them."""
        ...


_SHIPPED: tuple[DataSet, ...] = (
    MIDDLEBURY_2001,
    MIDDLEBURY_2003,
    MIDDLEBURY_2005,
    MIDDLEBURY_2006,
    middlebury_v2,
    middlebury_v3,
    KITTI_2012,
    KITTI_2015,
    KITTI_SAMPLE,
    eth3d,
    MOTORCYCLE,
)
DATA_SETS: Registry[DataSet] = Registry("data set", {data_set.FOLDER: data_set for data_set in _SHIPPED})
"""All data sets by the folder below a data root."""


@dataclass(frozen=True)
class AddedSet:
    """A data set: its folder below a data root, and functions that list and make its scenes."""

    FOLDER: str
    names: Callable[[Path], Iterable[str]]
    make: Callable[[Path, str], Scene]
    protocol: str

    def scene_names(self, root: Path) -> tuple[str, ...]:
        """Names of the scenes below a data root."""
        with self._told("list of names"):
            return tuple(self.names(root / self.FOLDER))

    def load(self, root: Path, name: str) -> Scene:
        """One of `scene_names`."""
        with self._told(f"function for {name!r}"):
            scene = self.make(root / self.FOLDER, name)
        if not isinstance(scene, Scene):
            raise DataError(f"{self.FOLDER}/{name}: its data set's function returned a {type(scene).__name__}, not a Scene")
        return replace(scene, name=f"{self.FOLDER}/{name}", protocol=self.protocol or scene.protocol)

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except StereoFrameworkError:
            raise
        except Exception as error:
            raise DataError(f"data set {self.FOLDER!r}: its {what} failed: {told(error, self.make)}") from error


def dataset(folder: str, *, names: Callable[[Path], Iterable[str]], protocol: str = "") -> Callable[[F], F]:
    """Register a function that makes the scenes of a data set.

    Parameters
    ----------
    folder : str
        The set's folder below a data root, with which the names of its scenes begin.
    names : callable
        Takes this folder, as a path; returns the names of the scenes in it, in order.
    protocol : str
        What its scenes are measured with; default: as the scenes say, else ``taxonomy2002``.

    Returns
    -------
    callable
        A decorator for a function of the folder and a scene's name that returns a `Scene`; it should read files on first use, as `pair_scene` does.

    Raises
    ------
    ParameterError
        Another module has a data set of this name.

    Examples
    --------
    >>> from stereo_framework import dataset, pair_scene
    >>> @dataset("mine", names=lambda folder: sorted(p.parent.name for p in folder.glob("*/left.png")))
    ... def mine(folder, name):
    ...     return pair_scene(folder / name / "left.png", folder / name / "right.png", (0, 64))
    """

    def register(function: F) -> F:
        DATA_SETS.add(folder, AddedSet(folder, names, function, protocol), function.__module__)
        return function

    return register
