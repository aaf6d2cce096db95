"""The door for data sets, the shipped ones and those of one's own: ``@dataset``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from stereo_framework.core.errors import DataError, StereoFrameworkError, told
from stereo_framework.core.registry import Registry
from stereo_framework.core.scene import Disparity, Frame, Scene
from stereo_framework.io import read_disparity, read_image

F = TypeVar("F", bound=Callable[[Path, str], Scene])


@dataclass(frozen=True)
class DataSet:
    """A data set: its folder below a data root, and functions that list and make its scenes."""

    folder: str
    names: Callable[[Path], Iterable[str]]
    make: Callable[[Path, str], Scene]
    protocol: str

    def scene_names(self, root: Path) -> tuple[str, ...]:
        """Names of the scenes below a data root."""
        with self._told("the list of names"):
            return tuple(self.names(root / self.folder))

    def load(self, root: Path, name: str) -> Scene:
        """One of `scene_names`."""
        with self._told(f"the scene {name!r}"):
            scene = self.make(root / self.folder, name)
        if not isinstance(scene, Scene):
            raise DataError(f"{self.folder}/{name}: its data set's function returned a {type(scene).__name__}, not a Scene")
        return replace(scene, name=f"{self.folder}/{name}", protocol=self.protocol or scene.protocol)

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except StereoFrameworkError:
            raise
        except Exception as error:
            raise DataError(told(error, self.make, f"{what} of data set {self.folder!r}")) from error


DATA_SETS: Registry[DataSet] = Registry("data set", {})
"""All data sets by the folder below a data root."""


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
        DATA_SETS.add(folder, DataSet(folder, names, function, protocol), function.__module__)
        return function

    return register


def frames_of(folder: Path, files: Mapping[int, str]) -> tuple[Frame, ...]:
    """Frames of images in a folder, by their places along the baseline; each is read on first use."""
    return tuple(Frame(file, partial(read_image, folder / file), place) for place, file in files.items())


def truths_of(
    files: Mapping[tuple[int, int], Path | None], read: Callable[[Path], Disparity] = read_disparity
) -> dict[tuple[int, int], Callable[[], Disparity]]:
    """What reads the truths whose files there are, by frame pair."""
    return {pair: partial(read, file) for pair, file in files.items() if file is not None and file.is_file()}
