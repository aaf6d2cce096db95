"""Which scenes exist, where their data are stored, and what a scene's name means.

The scenes of a data set are called ``FOLDER/name``. `dataset` is the door for data sets, the built-in ones and those of one's own.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import (
    DataError,
    StereoFrameworkError,
    close_names,
    describe_exception,
    nearest,
    short,
)
from stereo_framework.core.parameters import Words
from stereo_framework.core.registry import Registry
from stereo_framework.core.scene import Calibration, Disparity, Frame, Image, Scene
from stereo_framework.datasets import built_in_scenes, scene_file
from stereo_framework.io import PathLike, read_disparity, read_image

F = TypeVar("F", bound=Callable[[Path, str], Scene])

SceneName = Annotated[
    Annotated[str, Words("a name")] | os.PathLike[str],
    Words("the name of a scene, or the path of a scene.yaml or its folder"),
]
"""Annotation of a scene that a user names."""


@dataclass(frozen=True)
class DataSet:
    """A data set: its folder below a data root, and functions that list and make its scenes."""

    folder: str
    names: Callable[[Path], Iterable[str]]
    make: Callable[[Path, str], Scene]
    protocol: str

    @checked()
    def scene_names(self, root: Path) -> tuple[str, ...]:
        """Names of the scenes below a data root."""
        with self._plugin_errors("the list of names"):
            return tuple(self.names(root / self.folder))

    def load(self, root: Path, name: str) -> Scene:
        """One of `scene_names`."""
        with self._plugin_errors(f"the scene {name!r}"):
            scene = self.make(root / self.folder, name)
        if not isinstance(scene, Scene):
            raise DataError(
                f"{self.folder}/{name}: its data set's function returned a {type(scene).__name__}, not a Scene"
            )
        return replace(
            scene, name=f"{self.folder}/{name}", protocol=self.protocol or scene.protocol
        )

    @contextlib.contextmanager
    def _plugin_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except StereoFrameworkError:
            raise
        except (Exception, SystemExit) as error:
            raise DataError(
                describe_exception(error, self.make, f"{what} of data set {self.folder!r}")
            ) from error


DATA_SETS: Registry[DataSet] = Registry("data set", {})
"""All data sets by the folder below a data root."""


@checked()
def dataset(
    folder: str, *, names: Callable[[Path], Iterable[str]], protocol: str = ""
) -> Callable[[F], F]:
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
    return DATA_SETS.decorator(folder, lambda make: DataSet(folder, names, make, protocol))


def frames_of(
    folder: Path, files: Mapping[int, str], calibration: Calibration | None = None
) -> tuple[Frame, ...]:
    """Return frames of images in a folder, by their places along the baseline.

    Each image is read on first use. An image of another size than the calibration states
    is refused, because search range, depths and scores would be those of another size.
    """
    size = None if calibration is None else calibration.size
    return tuple(
        Frame(file, partial(_read_frame, folder / file, size), place)
        for place, file in files.items()
    )


def _read_frame(file: Path, size: tuple[int, int] | None) -> Image:
    image = read_image(file)
    rows, columns = image.shape[:2]
    if size is not None and size != (columns, rows):
        message = (
            f"{file}: has {columns}x{rows} pixels, and the calibration of its scene is for {size[0]}x{size[1]}; "
            "a data set needs the images of its publisher: fetch them again, and match resized images as a pair of your own"
        )
        raise DataError(message)
    return image


def truths_of(
    files: Mapping[tuple[int, int], Path | None], read: Callable[[Path], Disparity] = read_disparity
) -> dict[tuple[int, int], Callable[[], Disparity]]:
    """What reads the truths whose files there are, by frame pair."""
    return {
        pair: partial(read, file)
        for pair, file in files.items()
        if file is not None and file.is_file()
    }


_REPEATS = (
    "middlebury-v2/",
    *(
        f"middlebury{year}/{size}Size/"
        for year in (2005, 2006)
        for size in ("Third", "Half", "Full")
    ),
)
"""Prefixes of the names of scenes that reuse images of other scenes; a short name means the other scene if it exists."""


@checked()
def data_roots(data: PathLike | None = None) -> tuple[Path, ...]:
    """Return the folders that may hold data sets; the first one that has a scene wins.

    Parameters
    ----------
    data : path-like, optional
        The first folder. The environment variable ``STEREO_DATA`` gives the second one,
        and ``stereo_framework`` in the user's cache folder is the last one.

    Returns
    -------
    tuple of Path
        Absolute paths, because scenes read their files later, when a method may have
        changed the current folder. The folders need not exist.
    """
    named = [
        Path(os.path.expanduser(path)) for path in (data, os.environ.get("STEREO_DATA")) if path
    ]
    roots = [*named, _user_cache() / "stereo_framework"]
    return tuple(dict.fromkeys(root.absolute() for root in roots))


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"])
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")


@checked()
def scene_names(data: PathLike | None = None) -> tuple[str, ...]:
    """Full names of all scenes that can be loaded, the synthetic ones first.

    Parameters
    ----------
    data : path-like, optional
        As in `data_roots`.
    """
    return tuple(_listed(data))


_Listed: TypeAlias = Mapping[str, Callable[[], Scene]]
"""What loads a scene, by its full name."""


def _listed(data: PathLike | None) -> _Listed:
    """All scenes: the built-in ones, then those of data sets, each in the first root that has it."""
    found: dict[str, Callable[[], Scene]] = {
        name: partial(built_in_scenes.load, name) for name in built_in_scenes.scene_names()
    }
    for _, data_set in sorted(DATA_SETS.items()):
        for root in data_roots(data):
            for name in data_set.scene_names(root) if (root / data_set.folder).is_dir() else ():
                found.setdefault(f"{data_set.folder}/{name}", partial(data_set.load, root, name))
    return found


@checked()
def load_scene(name: SceneName, *, data: PathLike | None = None) -> Scene:
    """Load a scene by its name, or the user's own scene from a ``scene.yaml``.

    Parameters
    ----------
    name : str or path-like
        A full name (``middlebury2001/tsukuba``, ``synthetic/planes``), a short one where it is unambiguous (``teddy``),
        a folder with a ``scene.yaml``, or a ``.yaml`` file. A name takes precedence over a folder of the same name: write ``./teddy``
        for the folder. Upper and lower case matter.
    data : path-like, optional
        Data root that is searched first, see `data_roots`.

    Returns
    -------
    Scene
        Files are read and images generated on first use.

    Raises
    ------
    DataError
        There is no such scene; the message lists similar names and where data are looked for.

    Examples
    --------
    >>> load_scene("synthetic/planes").reference.shape
    (240, 320, 3)
    """
    return _loaded(name, data, functools.cache(lambda: _listed(data)))


@checked()
def load_pair(
    name: SceneName, *, data: PathLike | None = None
) -> tuple[Image, Image, Disparity | None]:
    """The reference image, the match image and the true disparities of a scene, None without truth; see `load_scene`.

    Examples
    --------
    >>> left, right, truth = load_pair("synthetic/planes")
    >>> left.shape, truth.shape
    ((240, 320, 3), (240, 320))
    """
    scene = load_scene(name, data=data)
    return scene.reference, scene.match, scene.truth


@checked()
def load_scenes(wanted: Iterable[str | Scene], *, data: PathLike | None = None) -> list[Scene]:
    """Load all scenes that names, data sets and patterns stand for, each once; the data folders are searched only once.

    Parameters
    ----------
    wanted : iterable of str or Scene
        Names as `find_scenes` takes them; scenes stay as they are.
    data : path-like, optional
        As in `data_roots`.

    Raises
    ------
    DataError
        No scene has a name, or none fits a pattern.
    """
    look = functools.cache(lambda: _listed(data))
    found = dict.fromkeys(
        one for w in wanted for one in ([w] if isinstance(w, Scene) else _found(w, tuple(look())))
    )
    return [one if isinstance(one, Scene) else _loaded(one, data, look) for one in found]


def _loaded(name: PathLike, data: PathLike | None, look: Callable[[], _Listed]) -> Scene:
    """Load a scene by its name or file; only for names it is necessary to `look` into the data roots."""
    if not str(name):
        raise DataError("the name of the scene is empty")
    if isinstance(name, str) and not name.endswith((".yaml", ".yml")):
        full = _full_name(name, tuple(look()))
        if full in look() or built_in_scenes.is_built_in(full):
            return look().get(full, partial(built_in_scenes.load, full))()
    path = Path(os.path.expanduser(name))
    try:
        if path.suffix in (".yaml", ".yml") or (path / scene_file.FILE_NAME).is_file():
            return scene_file.load(path)
    except OSError:  # a name that no file can have
        pass
    raise DataError(_unknown(str(name), data))


@checked()
def find_scenes(name: str, *, data: PathLike | None = None) -> tuple[str, ...]:
    """The scenes that a name, a data set or a folder of one, or a pattern stands for.

    Parameters
    ----------
    name : str
        What `load_scene` takes, which means that scene; a data set or a folder in it (``middlebury-v3/trainingQ``), which means all of its scenes except
        ``synthetic/large`` and those that show the images of another scene in another size; or a full name with ``*``, ``?`` or ``[]`` between its slashes (``middlebury2006/*``).
    data : path-like, optional
        As in `data_roots`.

    Returns
    -------
    tuple of str
        In the order of the data sets; the name itself where it is none of these, which `load_scene` then refuses.

    Raises
    ------
    DataError
        No scene fits a pattern.
    """
    return _found(name, scene_names(data))


def _found(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    # A folder or a pattern does not mean the large scene.
    usual = tuple(n for n in names if n != built_in_scenes.LARGE)
    if set("*?[") & set(name):
        fits = [n for n in usual if _fits_pattern(n, name)]
        if not fits and not Path(name).exists():
            sets = dict.fromkeys(n.rpartition("/")[0] for n in names)
            raise DataError(
                f"no scene fits {name!r}; {nearest(name.rpartition('/')[0], sets, kind='folders')}"
            )
        return tuple(fits) or (name,)
    if (
        name in names
        or any(n.endswith(f"/{name}") for n in names)
        or (Path(name) / scene_file.FILE_NAME).is_file()
    ):
        return (name,)
    folder = f"{name.rstrip('/')}/"
    repeats = tuple(repeat for repeat in _REPEATS if repeat.startswith(folder) and repeat != folder)
    return tuple(n for n in usual if n.startswith(folder) and not n.startswith(repeats)) or (name,)


def scene_fits(scene_name: str, name: str) -> bool:
    """Return whether a name means a scene, without a look at the data.

    Parameters
    ----------
    scene_name : str
        Full name of the scene, such as ``middlebury2003/teddy``.
    name : str
        Full name, last part of the name, data set or a folder in it, pattern, or path
        of a scene file or of its folder.

    Examples
    --------
    >>> scene_fits("mine", "./mine/scene.yaml")
    True
    >>> scene_fits("middlebury2003/teddy", "teddy")
    True
    >>> scene_fits("middlebury2003/teddy", "middlebury2003/*")
    True
    >>> scene_fits("middlebury2003/teddy", "middlebury2001")
    False
    """
    if name.endswith((".yaml", ".yml")):
        return scene_name == scene_file.name_of_file(Path(os.path.expanduser(name)))
    if name.startswith(("/", ".", "~")):
        return scene_name == scene_file.name_of_path(Path(os.path.expanduser(name)))
    if scene_name == name or scene_name.endswith(f"/{name}"):
        return True
    if scene_name.startswith(f"{name.rstrip('/')}/"):
        return True
    return _fits_pattern(scene_name, name)


def _fits_pattern(scene_name: str, pattern: str) -> bool:
    """Return whether each part of a scene's name fits the same part of a pattern."""
    parts, pattern_parts = scene_name.split("/"), pattern.split("/")
    return len(parts) == len(pattern_parts) and all(map(fnmatchcase, parts, pattern_parts))


def _full_name(name: str, names: tuple[str, ...]) -> str:
    """The full name that a short one stands for; the name itself if there is none."""
    if name in names:
        return name
    meant = [n for n in names if n.endswith(f"/{name}")]
    full = [n for n in meant if not n.startswith(_REPEATS)] or meant
    if len(full) > 1:
        raise DataError(f"scene {name!r} is ambiguous; say which: {', '.join(full)}")
    return full[0] if full else name


def _unknown(name: str, data: PathLike | None) -> str:
    with contextlib.suppress(OSError):  # a name that no file can have
        if Path(name).is_dir():
            return f"scene {name!r}: this folder holds no {scene_file.FILE_NAME}"
    roots = data_roots(data)
    names = scene_names(data)
    near = close_names(name, [*names, *(n.rpartition("/")[2] for n in names)], 3)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    shown = ", ".join(f"{root}{'' if root.is_dir() else ' (no such folder)'}" for root in roots)
    where = f"data are looked for in {shown}; --data and STEREO_DATA name another folder"
    return f"unknown scene {short(name, 200)!r}{hint}; {where}; without data: {', '.join(built_in_scenes.scene_names())}"
