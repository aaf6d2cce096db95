"""What makes a run the same run: everything that a scene's numbers depend on is in its identity, and travels with it."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Calibration, Frame, Scene, SearchRange
from stereo_framework.evaluation.protocols import resolve
from stereo_framework.script import load
from stereo_framework.sweep.identity import scene_digest
from stereo_framework.sweep.tasks import tasks_of_script

ROWS, COLUMNS = 6, 9


def held(value, dtype):
    """A loader of an array full of a value."""
    return lambda: np.full((ROWS, COLUMNS), value, dtype)


def missing():
    raise DataError("somewhere/file.png: no such file")


def frame(value, position):
    return Frame(f"frame{position}", held(value, np.uint8), position)


def scene(**changes):
    """A scene of three frames that has everything."""
    known = {
        "name": "made",
        "frames": (frame(10, 0), frame(20, 1), frame(30, 2)),
        "search": SearchRange(0, 3),
        "truths": {(0, 1): held(1, np.float32), (1, 0): held(2, np.float32)},
        "masks": {"nonocc": held(True, np.bool_)},
        "calibration": Calibration(100.0, 160.0),
        "grey_levels": 4.0,
        "largest_disparity": 60.0,
    }
    return Scene(**known | changes)


FRAMES = scene().frames
OTHER = {
    "name": ["other"],
    "frames": [
        (frame(11, 0), *FRAMES[1:]),
        (FRAMES[0], frame(21, 1), FRAMES[2]),
        (*FRAMES[:2], frame(31, 2)),
        (*FRAMES[:2], frame(30, 3)),
        (*FRAMES[:2], Frame("frame2", held(30, np.float32), 2)),
        (*FRAMES[:2], Frame("frame2", lambda: np.full((COLUMNS, ROWS), 30, np.uint8), 2)),
        (*FRAMES[:2], Frame("frame2", missing, 2)),
        FRAMES[:2],
    ],
    "reference_index": [2],
    "match_index": [2],
    "search": [None, SearchRange(0, 4), SearchRange(0, 3, 0.5)],
    "truths": [
        {},
        {(0, 1): held(2, np.float32), (1, 0): held(2, np.float32)},
        {(0, 1): held(1, np.float32), (1, 0): held(3, np.float32)},
        {(0, 1): held(1, np.float32), (1, 0): missing},
        {(0, 1): held(1, np.float32)},
    ],
    "masks": [
        {},
        {"nonocc": held(False, np.bool_)},
        {"all": held(True, np.bool_)},
        {"nonocc": missing},
    ],
    "calibration": [
        None,
        Calibration(101.0, 160.0),
        Calibration(100.0, 161.0),
        Calibration(100.0, 160.0, 1.0),
    ],
    "border": [1],
    "protocol": ["middlebury-v2"],
    "reduction": [2],
    "grey_levels": [None, 0.0, 8.0],
    "largest_disparity": [None, 61.0],
    "whole_truth": [True],
    "weight": [0.5],
    "ranges": [
        {(0, 1): lambda: (held(0, np.float32)(), held(3, np.float32)())},
        {(0, 1): lambda: (held(0, np.float32)(), held(2, np.float32)())},
        {(1, 0): lambda: (held(0, np.float32)(), held(3, np.float32)())},
    ],
}


def test_every_field_of_a_scene_counts():
    assert list(OTHER) == [f.name for f in fields(Scene)], (
        "a field was added: say above what another value of it is"
    )
    found = {scene_digest(scene())}
    for name, values in OTHER.items():
        for value in values:
            found.add(scene_digest(scene(**{name: value})))
    assert len(found) == 1 + sum(map(len, OTHER.values()))


def test_every_field_of_a_frame_counts_but_the_name_that_messages_show():
    other = {
        "name": "/another/place/frame2.png",
        "load": held(31, np.uint8),
        "position": 2.5,
        "valid": held(True, np.bool_),
        "time": 1.0,
    }
    assert list(other) == [f.name for f in fields(Frame)], (
        "a field was added: say above what another value of it is"
    )
    for name, value in other.items():
        changed = scene(frames=(*FRAMES[:2], replace(FRAMES[2], **{name: value})))
        assert (scene_digest(changed) == scene_digest(scene())) == (name == "name")


def test_which_pixels_hold_data_counts_even_where_their_intensities_are_those_of_the_fill():
    def image(hole):
        found = np.full((ROWS, COLUMNS), 10, np.float32)
        found[hole] = np.nan
        return found

    other = Frame("frame1", held(20, np.float32), 1)
    frames = [
        (Frame("frame0", lambda hole=hole: image(hole), 0), other, FRAMES[2])
        for hole in ((0, 0), (2, 3))
    ]
    masked = [
        (
            FRAMES[0],
            replace(FRAMES[1], valid=lambda x=x: np.arange(COLUMNS) * np.ones((ROWS, 1)) != x),
            FRAMES[2],
        )
        for x in (0, 1)
    ]
    assert len({scene_digest(scene(frames=some)) for some in (FRAMES, *frames, *masked)}) == 5


def test_what_is_alike_has_one_digest():
    turned = dict(reversed(scene().truths.items()))
    assert scene_digest(scene()) == scene_digest(scene()) == scene_digest(scene(truths=turned))


def test_a_digest_is_computed_once():
    calls = []
    one = scene(masks={"nonocc": lambda: calls.append("mask") or np.ones((ROWS, COLUMNS), bool)})
    assert scene_digest(one) == scene_digest(one)
    assert calls == ["mask"]


def test_without_its_images_or_its_truth_a_scene_has_no_digest():
    first, second = (replace(frame, load=missing) for frame in FRAMES[:2])
    for needed in (
        {"frames": (first, *FRAMES[1:])},
        {"frames": (FRAMES[0], second, FRAMES[2])},
        {"truths": {(0, 1): missing}},
    ):
        with pytest.raises(DataError, match=r"somewhere/file\.png"):
            scene_digest(scene(**needed))


# --- on their way to other processes


def sent(one):
    return pickle.loads(pickle.dumps(one))


def test_scenes_are_sent_with_everything():
    for changes in ({}, *({name: value} for name, values in OTHER.items() for value in values)):
        one = scene(**changes)
        assert scene_digest(sent(one)) == scene_digest(one)


# --- and in the store

METHOD = {"name": "m", "matching_cost": "absolute_difference", "optimization": "winner_take_all"}


def test_protocols_that_measure_otherwise_have_keys_of_their_own():
    script = load(METHOD)
    [task] = tasks_of_script(script, [scene()])
    gaps = [
        replace(resolve("taxonomy2002"), masks="scene", regions=("nonocc",), disparity_gap=gap)
        for gap in (1.0, 2.0, 3.0)
    ]
    assert len(set(replace(task, protocols=tuple(gaps)).keys)) == 3
