"""A small world for every stage: an instance of all that stages may name, and its parts, cut, changed and mirrored."""

import dataclasses
import inspect
import re

import numpy as np

from stereo_framework import (
    CostVolume,
    Estimate,
    Labeling,
    Pipeline,
    Scene,
    SearchRange,
    Smoothness,
)
from stereo_framework.confidence.learned import MEASURES
from stereo_framework.core.other_frames import OtherFrame
from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import Frame
from stereo_framework.core.view import DisparityMap, View, Volumes
from stereo_framework.core.volume import SearchMask, Status
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all

ROWS, COLUMNS = 11, 17


def world_of(kind):
    rng = np.random.default_rng(5)
    texture = rng.integers(0, 256, (ROWS, COLUMNS + 8, 3))
    match = texture[:, 4 : 4 + COLUMNS]
    reference = texture[:, 2 : 2 + COLUMNS].copy()
    reference[3:8, 6:12] = texture[3:8, 6:12]
    noisy = [
        np.clip(image + rng.integers(-3, 4, image.shape), 0, 255) for image in (reference, match)
    ]
    if kind == "grey uint8":
        reference, match = (image[..., 0].astype(np.uint8) for image in noisy)
    else:
        reference, match = ((image / 1.1).astype(np.float32) for image in noisy)
    frames = Frame("left", reference.copy, 0), Frame("right", match.copy, 1)
    scene, search = Scene("made", frames, search=SearchRange(0, 5)), SearchRange(0, 5)
    volume = absolute_difference(reference, match, search)
    matcher = Pipeline([absolute_difference, winner_take_all])
    disparity = matcher(scene).disparity
    disparity[rng.random(disparity.shape) < 0.2] = np.nan
    weights = rng.integers(1, 30, (2, ROWS, COLUMNS)).astype(np.float32)
    weights[0, :, -1] = weights[1, -1] = 0
    smoothness = Smoothness(weights[0], weights[1], np.array([0, 1, 1, 1, 1, 1], np.float32))
    pair = Pair(reference, match, search)
    confidence = dict.fromkeys((*MEASURES, "made"), -volume.costs.min(axis=2))
    world = {
        "image": reference,
        "reference": reference,
        "match": match,
        "search": search,
        "volume": volume,
        "partial": None,
        "raw": dataclasses.replace(volume, costs=volume.costs.copy()),
        "smoothness": smoothness,
        "disparity": disparity,
        "status": np.where(np.isnan(disparity), Status.OCCLUDED, Status.MATCHED).astype(np.uint8),
        "other": _view(matcher(scene.pair(1, 0), keep_volume=True)),
        "corrected": (reference, match),
        "mask": None,
        "scene": scene,
        "auxiliary": {"other method": _map(matcher(scene), confidence)},
        "confidence": confidence,
        "pair": pair,
        "cost": matcher.cost_of_pairs(pair),
        "frames": (OtherFrame(reference.copy, 0.5), OtherFrame(match.copy, -0.25)),
        "solve": Pipeline([absolute_difference, winner_take_all]),
    }
    for _, array in arrays(world):
        array.flags.writeable = False
    return world


def _map(estimate, confidence):
    """Return what stages get of the estimate of an auxiliary method."""
    return DisparityMap(estimate.disparity, estimate.status, estimate.search, confidence)


def _view(match):
    """What stages see of a match."""
    return View(
        disparity_map=DisparityMap(match.disparity, match.status, match.search),
        volumes=Volumes(current=match.volume, raw=match.volume),
    )


def arrays(value, name=""):
    """(name, array) of everything in a stage's data or result."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from arrays(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from arrays(item, f"{name}[{key}]")
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from arrays(item, f"{name}[{i}]")


PARTS = View | DisparityMap | Volumes | SearchMask | CostVolume | Labeling | Estimate | Smoothness


def rebuilt(value, change, special):
    """The same data or result with every array changed; for instances of the `special` types there is a rule of their own."""
    for kind, rule in special.items():
        if isinstance(value, kind):
            return rule(value)
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, OtherFrame):
        return value.with_image(change)
    if isinstance(value, dict):
        return {key: rebuilt(item, change, special) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(rebuilt(item, change, special) for item in value)
    if isinstance(value, PARTS):
        return type(value)(
            **{
                f.name: rebuilt(getattr(value, f.name), change, special)
                for f in dataclasses.fields(value)
            }
        )
    return value


def with_edges(change):
    """Smoothness terms with both weights changed, which are arrays of rows and columns as the table of penalties is not."""
    return {
        Smoothness: lambda term: dataclasses.replace(
            term, right=change(term.right), down=change(term.down)
        )
    }


def rows_of(value, start, stop):
    """The same data or result on fewer rows. Traces hold times and whole-image energies."""

    def cut(array):
        return array[start:stop]

    return rebuilt(
        value, cut, with_edges(cut) | {View | SearchMask: lambda part: part.rows(start, stop)}
    )


def every_array(value, change):
    """The same data with every array of rows and columns changed."""
    return rebuilt(value, change, with_edges(change))


def mirrored(value):
    """The same data or result seen in a mirror, where the match frame lies on the other side."""

    def turned(array):
        return array[:, ::-1].copy() if array.ndim > 1 else array

    def edges(term):
        right = np.concatenate([term.right[:, -2::-1], term.right[:, -1:]], axis=1)
        return Smoothness(np.ascontiguousarray(right), turned(term.down), term.rho)

    def search(one):
        return SearchRange(one.minimum, one.maximum, one.step, -one.direction)

    return rebuilt(value, turned, {Smoothness: edges, SearchRange: search})


def documented(function):
    """Names under "Parameters" of a numpydoc docstring, each with (type, description)."""
    section = re.search(
        r"^Parameters\n-{10}\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)",
        inspect.getdoc(function),
        re.MULTILINE | re.DOTALL,
    )
    assert section, f"{function.__name__} documents no parameters"
    entries = re.findall(
        r"^(\S[^\n]*?) : ([^\n]+)\n((?:[ ]{4}[^\n]*\n?|\n)*)", section[1], re.MULTILINE
    )
    return {
        name: (kind, text.strip()) for names, kind, text in entries for name in names.split(", ")
    }


def assert_same(result, expected):
    result, expected = dict(arrays(result)), dict(arrays(expected))
    assert result.keys() == expected.keys()
    for name, array in result.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name, strict=True)


def assert_map(disparity, shape):
    assert (disparity.shape, disparity.dtype) == (shape, np.float32)
    assert not np.isinf(disparity).any()


def assert_status(status, shape):
    assert (status.shape, status.dtype) == (shape, np.uint8)
    assert np.isin(status, list(Status)).all()
