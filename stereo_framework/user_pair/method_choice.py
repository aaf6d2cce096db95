"""Choosing without truth: which maps of a pair are better or worse than one of them, and which method to use for it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from stereo_framework.core.errors import DataError, ParameterError, StereoFrameworkError
from stereo_framework.core.former_names import report_attributes, report_attributes_of_module
from stereo_framework.core.package_files import package_yaml
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.kernels.progress import announce_step, counted
from stereo_framework.script import Setting, load
from stereo_framework.sweep.pseudo_truth import pseudo_truth_of
from stereo_framework.sweep.value_text import method_text
from stereo_framework.user_pair.matching import DEFAULT, own_search
from stereo_framework.user_pair.search_range import find_pair_problems, looked_at

_CANDIDATES = "truth_free/candidates"
_NUMBERS = "user_pair/method_choice.yaml"

_LEAST = 0.3
"""Share of the pixels about which both views must agree. On all real pairs at hand they agree about more than half."""

_FAR = np.float32(1.0)
"""Pixels above which two maps differ."""


@dataclass(frozen=True)
class MapComparison:
    """How a map compares with the first one of its pair.

    Parameters
    ----------
    name : str
    difference : float
        Estimate of its non-occluded pixels off the truth by more than a pixel, less the first one's, in percentage points; below zero = better.
    half_width : float
        Half the width of the difference's 90 % interval, in percentage points.
    """

    name: str
    difference: float
    half_width: float

    @property
    def verdict(self) -> Literal["better", "worse", "cannot tell"]:
        """On which side of zero the interval lies."""
        if abs(self.difference) <= self.half_width:
            return "cannot tell"
        return "better" if self.difference < 0 else "worse"


def compare_without_ground_truth(
    maps: Mapping[str, Disparity],
    pseudo_truth: Disparity,
    before: Mapping[str, float] | None = None,
) -> tuple[MapComparison, ...]:
    """Compare maps of a pair with the first map, by their distances to a pseudo ground truth.

    Parameters
    ----------
    maps : mapping of str to ndarray, float32, (rows, columns)
        Two maps or more; pixels, not finite = no estimate.
    pseudo_truth : ndarray, float32, (rows, columns)
        The pseudo ground truth: pixels, NaN = not reliable.
    before : mapping of str to float, optional
        By the names of maps that are compared with the default method's: the mean share of the pixels at which both differ that goes against them on
        scenes with truth, -1 to 1.

    Returns
    -------
    tuple of MapComparison
        Of all maps but the first, the lowest difference first.

    Raises
    ------
    ParameterError
        There are fewer than two maps.
    DataError
        A map has another size than the pseudo ground truth, or that knows fewer than 30 % of the pixels.

    Notes
    -----
    The pixels in which the pseudo ground truth has an estimate are compared. A pixel of
    a map is wrong if it differs from the pseudo ground truth by more than one pixel. Let
    x be the percentage of wrong pixels of a map minus that of the first map, and S the
    percentage of pixels in which the two maps differ by more than one pixel. The
    difference of their errors is estimated as k x + c r S, with an interval of q S^p to
    either side, where r is the map's share in `before`. The numbers in
    ``method_choice.yaml`` were fitted to scenes with truth by
    ``scripts/method_choice_study.py``.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.zeros((64, 64), np.float32)
    >>> worse = np.where(np.arange(64) < 32, np.float32(5), truth)
    >>> [(s.name, s.verdict) for s in compare_without_ground_truth({"a": truth, "b": worse, "c": truth + 0.2}, truth)]
    [('c', 'cannot tell'), ('b', 'worse')]
    """
    if len(maps) < 2:
        raise ParameterError(f"{len(maps)} map given; comparing needs two or more")
    for name, disparity in maps.items():
        if disparity.shape != pseudo_truth.shape:
            (rows, columns), (height, width) = disparity.shape, pseudo_truth.shape
            raise DataError(f"{name}: {columns}x{rows} pixels; the pair is {width}x{height}")
    known = np.isfinite(pseudo_truth)
    if known.mean() < _LEAST:
        raise DataError(
            f"cannot tell: both views agree about {100 * known.mean():.0f} % of the pixels only, {100 * _LEAST:g} % are needed; are the range and the images right?"
        )
    first, *others = maps
    found = []
    for name in others:
        rule = package_yaml(_NUMBERS)["known" if before and name in before else "own"]
        apart = _apart(maps[name][known], maps[first][known])
        more = _apart(maps[name][known], pseudo_truth[known]) - _apart(
            maps[first][known], pseudo_truth[known]
        )
        estimate = rule["slope"] * more + rule["prior"] * (before or {}).get(name, 0.0) * apart
        found.append(MapComparison(name, estimate, rule["quantile"] * apart ** rule["power"]))
    return tuple(sorted(found, key=lambda comparison: comparison.difference))


def judge(scene: Scene, maps: Mapping[str, Disparity]) -> tuple[MapComparison, ...]:
    """Compare maps of a scene's pair with the first of them, without its truth: `compare_without_ground_truth` by the pair's own reference map.

    Raises
    ------
    ParameterError, DataError
        As in `compare_without_ground_truth`; sparse matches speak against the pair or its range.
    """
    return compare_without_ground_truth(maps, pseudo_truth_of(_examined(scene)))


def _examined(scene: Scene) -> Scene:
    """The scene with a search range, if nothing speaks against it and its pair."""
    search, sparse, estimated = looked_at(scene)
    if speaks_against := find_pair_problems(sparse, search, estimated=estimated):
        raise DataError(f"cannot tell: {speaks_against[0]}")
    return replace(scene, search=search)


@report_attributes
@dataclass(frozen=True, eq=False)
class MethodChoice:
    """What `choose` found.

    Parameters
    ----------
    scene : Scene
        With the range that was searched.
    comparisons : tuple of MapComparison
        All other maps against the default's.
    maps : mapping of str to ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate; the default's first.
    settings : mapping of str to Setting
    seconds : mapping of str to float
        Seconds that matching took.
    failed : mapping of str to str
        The methods that raised an error, and the errors.
    left_out : tuple of str
        The methods for which there was no time.
    """

    scene: Scene
    comparisons: tuple[MapComparison, ...]
    maps: Mapping[str, Disparity]
    settings: Mapping[str, Setting]
    seconds: Mapping[str, float]
    failed: Mapping[str, str]
    left_out: tuple[str, ...]

    @property
    def name(self) -> str:
        """The better map of the lowest difference; without a better one the default's."""
        first = self.comparisons[0]
        return first.name if first.verdict == "better" else next(iter(self.maps))


def choose(scene: Scene, methods: Sequence[str] = (), *, seconds: float = 60.0) -> MethodChoice:
    """Start from the method that is best on scenes with truth, and leave it only for one that this pair shows to be better.

    Parameters
    ----------
    scene : Scene
        If it has no search range, one is estimated.
    methods : sequence of str
        Names of built-in scripts, or files, that are compared with the default method.
        Default: the built-in scripts in the order of ``truth_free/candidates``.
    seconds : float
        After this time no further method is started, but the default and one more are always tried.

    Raises
    ------
    ParameterError, DataError, ScriptError
        As in `judge`; there is no such method; no map could be made beside the default's; sparse matches speak against the pair or its range, which is
        told before anything is matched.

    Examples
    --------
    >>> from stereo_framework import load_scene
    >>> choose(load_scene("synthetic/large-200x150x24"), ["window"]).name
    'fine'
    """
    begun = time.monotonic()
    scene = _examined(scene)
    assert scene.search is not None, "an examined scene has a range"
    found = [
        run for script in (DEFAULT, *(methods or [_CANDIDATES])) for run in load(script).settings
    ]
    settings = {method_text(run.method, run.axes): run for run in found}
    if len(settings) < 2:
        raise ParameterError(f"{DEFAULT} is what others are compared with; name another method")
    maps: dict[str, Disparity] = {}
    spent: dict[str, float] = {}
    failed: dict[str, str] = {}
    left_out = []
    for (name, run), _ in zip(settings.items(), counted(len(settings), "method"), strict=True):
        if len(maps) >= 2 and time.monotonic() - begun > seconds:
            left_out.append(name)
            continue
        try:
            match = run.pipeline.estimate(scene, own_search(run, scene.search))
        except StereoFrameworkError as error:
            if name == DEFAULT:
                raise
            failed[name] = str(error)
            continue
        maps[name], spent[name] = match.disparity, sum(match.seconds.values())
    if len(maps) < 2:
        raise ParameterError("; ".join(f"{name}: {error}" for name, error in failed.items()))
    announce_step("the pseudo ground truth")
    ratios = package_yaml(_NUMBERS)["ratios"]
    # A file of the user's may be called as a candidate is.
    candidates = {run.method: run.pipeline for run in load(_CANDIDATES).settings}
    before = {
        name: ratios[name] for name, run in settings.items() if run.pipeline == candidates.get(name)
    }
    return MethodChoice(
        scene,
        compare_without_ground_truth(maps, pseudo_truth_of(scene), before),
        maps,
        settings,
        spent,
        failed,
        tuple(left_out),
    )


def _apart(a: Disparity, b: Disparity) -> float:
    """Percent of the pixels at which two maps differ by more than a pixel, or only one has an estimate."""
    return 100 * float(np.mean(~(np.abs(a - b) <= _FAR) & (np.isfinite(a) | np.isfinite(b))))


report_attributes_of_module(__name__)
