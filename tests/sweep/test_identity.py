"""The digest of a scene covers everything from which its numbers are computed."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Calibration, Frame, Scene, SearchRange
from stereo_framework.sweep.identity import scene_digest

ROWS, COLUMNS = 6, 9


def loader(value, dtype):
    """Return a function that loads an array full of a value."""
    return lambda: np.full((ROWS, COLUMNS), value, dtype)


def fail_to_load():
    """Raise the error of a missing file."""
    raise DataError("somewhere/file.png: no such file")


def frame(value, position):
    """Return a frame with a uniform image."""
    return Frame(f"frame{position}", loader(value, np.uint8), position)


def scene(**changes):
    """Return a scene of three frames in which every field has a value."""
    entries = {
        "name": "made",
        "frames": (frame(10, 0), frame(20, 1), frame(30, 2)),
        "search": SearchRange(0, 3),
        "truths": {(0, 1): loader(1, np.float32), (1, 0): loader(2, np.float32)},
        "masks": {"nonocc": loader(True, np.bool_)},
        "calibration": Calibration(100.0, 160.0),
        "grey_levels": 4.0,
        "largest_disparity": 60.0,
    }
    return Scene(**entries | changes)


FRAMES = scene().frames
OTHER_VALUES = {
    "name": ["other"],
    "frames": [
        (frame(11, 0), *FRAMES[1:]),
        (FRAMES[0], frame(21, 1), FRAMES[2]),
        (*FRAMES[:2], frame(31, 2)),
        (*FRAMES[:2], frame(30, 3)),
        (*FRAMES[:2], Frame("frame2", loader(30, np.float32), 2)),
        (*FRAMES[:2], Frame("frame2", lambda: np.full((COLUMNS, ROWS), 30, np.uint8), 2)),
        (*FRAMES[:2], Frame("frame2", fail_to_load, 2)),
        FRAMES[:2],
    ],
    "reference_index": [2],
    "match_index": [2],
    "search": [None, SearchRange(0, 4), SearchRange(0, 3, 0.5)],
    "truths": [
        {},
        {(0, 1): loader(2, np.float32), (1, 0): loader(2, np.float32)},
        {(0, 1): loader(1, np.float32), (1, 0): loader(3, np.float32)},
        {(0, 1): loader(1, np.float32), (1, 0): fail_to_load},
        {(0, 1): loader(1, np.float32)},
    ],
    "masks": [
        {},
        {"nonocc": loader(False, np.bool_)},
        {"all": loader(True, np.bool_)},
        {"nonocc": fail_to_load},
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
        {(0, 1): lambda: (loader(0, np.float32)(), loader(3, np.float32)())},
        {(0, 1): lambda: (loader(0, np.float32)(), loader(2, np.float32)())},
        {(1, 0): lambda: (loader(0, np.float32)(), loader(3, np.float32)())},
    ],
}
"""Values of each field of a scene that differ from those of `scene`."""


def test_every_field_of_a_scene_counts():
    field_names = [field.name for field in fields(Scene)]
    assert list(OTHER_VALUES) == field_names, "write another value of the new field above"
    changed_scenes = [
        scene(**{name: value}) for name, values in OTHER_VALUES.items() for value in values
    ]
    digests = {scene_digest(changed_scene) for changed_scene in [scene(), *changed_scenes]}
    assert len(digests) == 1 + len(changed_scenes)


OTHER_FRAME_VALUES = {
    "name": "/another/place/frame2.png",
    "load": loader(31, np.uint8),
    "position": 2.5,
    "valid": loader(True, np.bool_),
    "time": 1.0,
}
"""Values of each field of a frame that differ from those of the third frame."""


def test_every_field_of_a_frame_counts_except_the_name():
    field_names = [field.name for field in fields(Frame)]
    assert list(OTHER_FRAME_VALUES) == field_names, "write another value of the new field above"
    for name, value in OTHER_FRAME_VALUES.items():
        changed_frame = replace(FRAMES[2], **{name: value})
        changed_scene = scene(frames=(*FRAMES[:2], changed_frame))
        is_equal = scene_digest(changed_scene) == scene_digest(scene())
        assert is_equal == (name == "name")


def test_pixels_without_data_count_although_an_image_is_filled_there():
    def image(missing_pixel):
        pixels = np.full((ROWS, COLUMNS), 10, np.float32)
        pixels[missing_pixel] = np.nan
        return pixels

    def valid(missing_column):
        return np.arange(COLUMNS) * np.ones((ROWS, 1)) != missing_column

    match = Frame("frame1", loader(20, np.float32), 1)
    scenes = [scene()]
    for pixel in ((0, 0), (2, 3)):
        reference = Frame("frame0", lambda pixel=pixel: image(pixel), 0)
        scenes.append(scene(frames=(reference, match, FRAMES[2])))
    for column in (0, 1):
        masked_match = replace(FRAMES[1], valid=lambda column=column: valid(column))
        scenes.append(scene(frames=(FRAMES[0], masked_match, FRAMES[2])))
    assert len({scene_digest(changed_scene) for changed_scene in scenes}) == len(scenes)


def test_equal_scenes_have_one_digest():
    reversed_truths = dict(reversed(scene().truths.items()))
    assert scene_digest(scene()) == scene_digest(scene())
    assert scene_digest(scene()) == scene_digest(scene(truths=reversed_truths))


def test_the_digest_of_a_scene_is_computed_once():
    calls = []

    def load_mask():
        calls.append("mask")
        return np.ones((ROWS, COLUMNS), bool)

    masked_scene = scene(masks={"nonocc": load_mask})
    assert scene_digest(masked_scene) == scene_digest(masked_scene)
    assert calls == ["mask"]


def test_a_scene_without_its_images_or_its_truth_has_no_digest():
    first, second = (replace(frame, load=fail_to_load) for frame in FRAMES[:2])
    changes = [
        {"frames": (first, *FRAMES[1:])},
        {"frames": (FRAMES[0], second, FRAMES[2])},
        {"truths": {(0, 1): fail_to_load}},
    ]
    for change in changes:
        with pytest.raises(DataError, match=r"somewhere/file\.png"):
            scene_digest(scene(**change))


def test_a_scene_that_is_sent_to_another_process_has_the_same_digest():
    scenes = [scene()]
    for name, values in OTHER_VALUES.items():
        scenes += [scene(**{name: value}) for value in values]
    for one_scene in scenes:
        received_scene = pickle.loads(pickle.dumps(one_scene))
        assert scene_digest(received_scene) == scene_digest(one_scene)
