"""scene.yaml and the pair of two files: what they say, and what is said about their faults."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from stereo_framework import Pipeline
from stereo_framework.core.errors import DataError
from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import Calibration, SearchRange
from stereo_framework.datasets import load_scene, pair_scene
from stereo_framework.datasets.scene_file import new_scene
from stereo_framework.io import write_disparity, write_image

LEFT = np.arange(12, dtype=np.uint8).reshape(3, 4)
TRUTH = np.array([[1, 2, 3, 4], [1, 1, 1, 1], [2, 2, 2, np.nan]], np.float32)


@pytest.fixture(autouse=True)
def _narrow(monkeypatch):
    """The images of these tests are four columns wide, too narrow for any honest range."""
    monkeypatch.setattr(SearchRange, "check_width", lambda self, columns: "")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "desk").mkdir()
    monkeypatch.chdir(tmp_path)
    write_image("desk/left.png", LEFT)
    write_image("desk/right.png", LEFT + 100)
    write_image("desk/third.png", LEFT + 50)
    write_disparity("desk/truth.pfm", TRUTH)
    write_disparity("desk/truth.png", TRUTH, disparity_scale=4)
    write_image("desk/mask.png", LEFT > 5)
    return Path("desk")


def load(folder, text):
    (folder / "scene.yaml").write_text(text)
    return load_scene(folder)


def test_frames_alone(folder):
    scene = load(folder, "frames: [left.png, right.png]")
    assert (scene.name, scene.reference_index, scene.match_index, scene.direction) == (
        "desk",
        0,
        1,
        1,
    )
    assert (scene.search, scene.truth, scene.match_truth, scene.calibration, scene.border) == (
        None,
        None,
        None,
        None,
        0,
    )
    np.testing.assert_array_equal(scene.reference, LEFT)
    np.testing.assert_array_equal(scene.match, LEFT + 100)


def test_everything(folder):
    scene = load(
        folder,
        """
        frames:
          - {file: third.png, position: -1.5}
          - {file: right.png, position: 1}
          - {file: left.png, position: 2}
        reference: 1
        match: 0
        search: {minimum: -2, maximum: 3.5, step: 0.5}
        truth: {file: truth.png, disparity_scale: 4, unknown: 4, disparity_offset: 10}
        match_truth: truth.pfm
        masks: {nonocc: mask.png}
        calibration: {focal_length: 500, baseline: 0.12, doffs: 3}
        border: 1
        """,
    )
    assert [f.position for f in scene.frames] == [-1.5, 1, 2]
    assert scene.search == SearchRange(-2, 3.5, 0.5, direction=-1)
    np.testing.assert_array_equal(scene.reference, LEFT + 100)
    np.testing.assert_array_equal(scene.match, LEFT + 50)
    # grey 4 is unknown, and 0, how the NaN was written, is a disparity
    np.testing.assert_array_equal(
        scene.truth, [[np.nan, 12, 13, 14], [np.nan] * 4, [12, 12, 12, 10]]
    )
    np.testing.assert_array_equal(scene.match_truth, TRUTH)
    np.testing.assert_array_equal(scene.mask("nonocc"), LEFT > 5)
    assert scene.calibration == Calibration(500, 0.12, 3)
    assert scene.border == 1


def test_frames_have_a_baseline_and_a_time(folder):
    scene = load(
        folder,
        """
        frames:
          - {file: third.png, baseline: 1.5, time: 2}
          - {file: right.png, position: 30, time: 1}
          - {file: left.png, position: 10, time: 1}
          - {file: left.png, baseline: -0.25}
        reference: 2
        match: 1
        """,
    )
    assert [frame.position for frame in scene.frames] == [40, 30, 10, 5]
    frames = scene.other_frames
    assert [frame.baseline for frame in frames] == [1.5, -0.25]
    assert [frame.time for frame in frames] == [1, -1]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("reference: 7", "reference 7 is not one of its frames 0..2"),
        ("match: -1", "match -1 is not one of its frames 0..2"),
        ("match: 2", r"frames\[2\].baseline: 0.5; frame 2 is the match frame, whose baseline is 1"),
        ("{reference: 2, match: 1}", r"frames\[2\].baseline: 0.5; frame 2 is the reference frame"),
    ],
)
def test_baselines_that_contradict_the_pair_are_refused(folder, keys, expected):
    keys = keys.strip("{}").replace(", ", "\n")
    third = "{file: third.png, baseline: 0.5}"
    with pytest.raises(DataError, match=expected):
        load(folder, f"frames: [left.png, right.png, {third}]\n{keys}")


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (
            "[left.png, right.png, {file: third.png, baseline: 2}, third.png]",
            r"frames\[3\]: the place of the camera is missing, but frames\[2\] states its place",
        ),
        (
            "[{file: left.png, position: 10}, {file: right.png, position: 20}, third.png]",
            r"frames\[2\]: the place of the camera is missing, but frames\[0\] states its place",
        ),
        (
            "[{file: left.png, position: 10}, right.png]",
            r"frames\[1\]: the position of this frame of the pair is missing, but frames\[0\] has",
        ),
        (
            "[{file: left.png, position: 10}, {file: right.png, baseline: 1}]",
            r"frames\[1\]: the position of this frame of the pair is missing",
        ),
        (
            "[left.png, right.png, {file: third.png, baseline: 3000}]",
            r"scene.yaml:1:31: frames\[2\]: the baseline is 3000; expected -1000 to 1001, because",
        ),
    ],
)
def test_unclear_places_of_cameras_are_refused(folder, frames, expected):
    with pytest.raises(DataError, match=expected):
        load(folder, f"frames: {frames}")


def test_baselines_need_no_places_of_the_pair(folder):
    frames = "[left.png, right.png, {file: third.png, baseline: -2}]"
    [frame] = load(folder, f"frames: {frames}").other_frames
    assert frame.baseline == -2


def test_other_frames_of_another_size_are_reported_with_their_file(folder):
    write_image(folder / "small.png", LEFT[:2])
    scene = load(
        folder, "frames: [left.png, right.png, small.png]\nsearch: {minimum: 0, maximum: 2}"
    )
    expected = r"scene desk: desk/small.png: the image at the baseline 2 is uint8 \(2, 4\)"
    with pytest.raises(DataError, match=expected):
        Pipeline(["multi_baseline", "winner_take_all"])(scene)


def test_frames_without_settings_have_equal_distances(folder):
    scene = load(folder, "frames: [left.png, third.png, right.png, third.png]\nmatch: 2")
    assert [frame.baseline for frame in scene.other_frames] == [0.5, 1.5]
    np.testing.assert_array_equal(scene.other_frames[0].image, scene.image(1))


@pytest.mark.parametrize(("unknown", "expected"), [("", np.nan), (", unknown: null", 0)])
def test_unknown_may_be_null(folder, unknown, expected):
    scene = load(folder, f"{FRAMES}truth: {{file: truth.png, disparity_scale: 4{unknown}}}")
    np.testing.assert_array_equal(scene.truth[2, 3], expected)


def test_a_truth_of_floats_may_have_a_marker_and_a_scale(folder):
    write_disparity("desk/marked.pfm", np.where(np.isnan(TRUTH), -9999.5, -2 * TRUTH))
    scene = load(
        folder, FRAMES + "truth: {file: marked.pfm, disparity_scale: -2, unknown: -9999.5}"
    )
    np.testing.assert_array_equal(scene.truth, TRUTH)
    pair = pair_scene(
        "desk/left.png",
        "desk/right.png",
        truth="desk/marked.pfm",
        truth_scale=-2,
        truth_unknown=-9999.5,
    )
    np.testing.assert_array_equal(pair.truth, TRUTH)
    for marker in ("", ", unknown: null"):
        scene = load(folder, f"{FRAMES}truth: {{file: marked.pfm, disparity_scale: -2{marker}}}")
        assert scene.truth[2, 3] == np.float32(9999.5 / 2)


def test_maps_of_a_scene_have_all_keys_of_an_encoding(folder):
    write_disparity("desk/high.pfm", np.where(np.isnan(TRUTH), -1, -2 * TRUTH))
    high = "{file: high.pfm, disparity_scale: -2, unknown: -1}"
    scene = load(
        folder, f"{FRAMES}search: {{minimum: 0, maximum: 4, high: {high}}}\nmatch_truth: {high}"
    )
    np.testing.assert_array_equal(scene.match_truth, TRUTH)
    np.testing.assert_array_equal(scene.range(0, 1)[1], TRUTH)


@pytest.mark.parametrize("path", ["desk", "./desk", "desk/scene.yaml", "../{parent}/desk"])
def test_names_follow_the_path(folder, path):
    (folder / "scene.yaml").write_text("frames: [left.png, right.png]")
    parent = Path.cwd().name
    assert load_scene(path.format(parent=parent)).name in ("desk", f"{parent}/desk")
    # a name is joined to result folders, so it must not be absolute
    assert load_scene(folder.resolve()).name == "/".join(folder.resolve().parts[1:])


def test_inside_the_folder(folder, monkeypatch):
    (folder / "scene.yaml").write_text("frames: [left.png, right.png]")
    monkeypatch.chdir(folder)
    assert load_scene(".").name == load_scene("scene.yaml").name == "desk"


FRAMES = "frames: [left.png, right.png]\n"
FAULTS = Path(__file__).with_name("scene_faults.txt").read_text().splitlines()
"""What a scene.yaml says, after FRAMES where it begins with "...", and what is told of it."""


@pytest.mark.parametrize("line", FAULTS)
def test_faults(folder, line):
    text, *faults = line.split(" | ")
    with pytest.raises(DataError) as error:
        load(
            folder,
            text.replace("...", FRAMES, text.startswith("..."))
            .replace(r"\n", "\n")
            .replace(r"\0", "\0"),
        )
    assert all(fault in str(error.value) for fault in faults), error.value
    assert all(one.startswith(("desk/", "scene desk")) for one in str(error.value).split("\n"))


def test_a_wrong_truth_is_found_when_it_is_used(folder):
    scene = load(folder, FRAMES + "truth: truth.png")
    with pytest.raises(
        DataError, match=r"desk/truth\.png: an 8-bit disparity map needs its disparity scale"
    ):
        _ = scene.truth


def test_pair(folder):
    scene = pair_scene(
        "desk/left.png",
        folder / "right.png",
        SearchRange(0, 2),
        truth="desk/truth.png",
        truth_scale=4,
    )
    assert (scene.name, scene.reference_index, scene.match_index, scene.direction) == (
        "desk/left-right",
        0,
        1,
        1,
    )
    assert scene.search == SearchRange(0, 2)
    np.testing.assert_array_equal(scene.reference, LEFT)
    np.testing.assert_array_equal(scene.match, LEFT + 100)
    np.testing.assert_array_equal(scene.truth, TRUTH)
    every = pair_scene(
        "desk/left.png",
        "desk/right.png",
        None,
        truth="desk/truth.png",
        truth_scale=4,
        truth_unknown=None,
    )
    assert every.truth[2, 3] == 0


def test_masks_of_the_input_and_ranges_of_each_pixel(folder):
    low = np.array([[0, 1, 2, np.nan]] * 3, np.float32)
    write_disparity("desk/low.pfm", low)
    scene = load(
        folder,
        """
        frames: [{file: left.png, mask: mask.png}, right.png]
        search: {minimum: 0, maximum: 4, low: low.pfm}
        truth: truth.pfm
        """,
    )
    np.testing.assert_array_equal(scene.valid(0), LEFT > 5)
    assert scene.valid(1) is None
    # Row 0 holds nothing, row 1 its last two pixels, of which the first two take the nearer one's intensity.
    np.testing.assert_array_equal(scene.reference, [[0] * 4, [6, 6, 6, 7], [8, 9, 10, 11]])
    found_low, found_high = scene.range(0, 1)
    np.testing.assert_array_equal(found_low, low)
    assert np.isnan(found_high).all()
    assert scene.range(1, 0) == (None, None)
    pair = pair_scene(
        "desk/left.png",
        "desk/right.png",
        SearchRange(0, 4),
        left_mask="desk/mask.png",
        low="desk/low.pfm",
        high="desk/low.pfm",
    )
    np.testing.assert_array_equal(pair.valid(0), LEFT > 5)
    np.testing.assert_array_equal(pair.range(0, 1), [low, low])


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ({"left_mask": "desk/nothing.png"}, "desk/nothing.png: no such file"),
        (
            {"right_mask": "desk/small.png"},
            r"the mask of desk/right.png is bool \(1, 2\); expected bool \(3, 4\)",
        ),
        ({"left_mask": "desk/black.png"}, "desk/left.png has no valid pixel"),
        (
            {"low": "desk/small.npy"},
            "the map of smallest disparities is 2x1, but the images are 4x3",
        ),
        (
            {"low": "desk/five.npy", "high": "desk/truth.pfm"},
            "smallest disparity at row 0, column 0 is 5, above the largest, 1",
        ),
    ],
)
def test_faults_of_masks_and_ranges(folder, beside, message):
    write_image("desk/small.png", np.array([[True, False]]))
    write_image("desk/black.png", np.zeros((3, 4), bool))
    np.save("desk/small.npy", np.zeros((1, 2), np.float32))
    np.save("desk/five.npy", np.full((3, 4), 5, np.float32))
    with pytest.raises(DataError, match=message):
        Pair.of(pair_scene("desk/left.png", "desk/right.png", SearchRange(0, 4), **beside))


def new_scene_frames(folder, *names):
    for name in names:
        write_image(folder / name, np.zeros((8, 30), np.uint8))
    written = yaml.safe_load(
        new_scene(folder, lambda pair: SearchRange(0, 8)).read_text(encoding="utf-8")
    )
    return written["frames"]


@pytest.mark.parametrize(
    ("names", "frames"),
    [
        (("photo_a_right.png", "photo_a_left.png"), ["photo_a_left.png", "photo_a_right.png"]),
        (("1_right.png", "1_left.png", "2_left.png"), ["1_left.png", "1_right.png"]),
        (("im10.png", "im2.png"), ["im2.png", "im10.png"]),
        (("im1.png", "im0.png", "im2.png"), ["im0.png", "im1.png"]),
    ],
)
def test_a_new_scene_takes_the_left_and_the_right_image(tmp_path, names, frames):
    assert new_scene_frames(tmp_path, *names) == frames


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ("left_1.png", "left_2.png", "right_1.png", "right_2.png"),
            "holds 2 pairs, such as left_1 and left_2; a scene needs",
        ),
        (
            ("left_1.png", "right_2.png"),
            "the left image is left_1 and the right image is right_2; give both the same number",
        ),
    ],
)
def test_a_new_scene_of_no_pair_or_of_several_pairs_is_refused(tmp_path, names, message):
    with pytest.raises(DataError, match=message):
        new_scene_frames(tmp_path, *names)
