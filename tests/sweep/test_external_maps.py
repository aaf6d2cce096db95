"""Disparity maps of other programs: their identities, their keys and their reading."""

import cv2
import numpy as np
import pytest
from sweep_parts import stored

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.file_damage import report_damage
from stereo_framework.core.scene import Frame, Scene
from stereo_framework.io import write_disparity
from stereo_framework.sweep import run
from stereo_framework.sweep.external_maps import add_maps, measure_map

TRUTH = np.full((24, 32), 3, np.float32)
TEXTURE = np.random.default_rng(0).integers(0, 256, (24, 40), dtype=np.uint8)


def make_scene(name="set/a", shift=3):
    """Return a scene with a disparity of three pixels."""
    right = TEXTURE[:, shift : 32 + shift]
    return Scene.from_images(TEXTURE[:, :32], right, (0, 8), name=name, truth=TRUTH)


@pytest.fixture
def write_map(tmp_path):
    """Return a function that writes a disparity map and returns its path.

    The disparity map is the ground truth plus an offset.
    """

    def write(offset=0.0, name="map"):
        path = tmp_path / f"{name}.pfm"
        write_disparity(path, TRUTH + np.float32(offset))
        return path

    return write


def measure(path, **changes):
    """Measure a disparity map, and return its result."""
    options = {"scene": make_scene(), "protocol": "taxonomy2002", "method": "theirs"}
    return measure_map(path, **options | changes)


# --- the result of a disparity map ----------------------------------------------------


def test_the_identity_contains_the_scene_the_map_and_how_it_is_read(write_map):
    path = write_map()
    identity = measure(path).id
    assert measure(write_map(0.25, "other")).id != identity
    assert measure(path, scene=make_scene(shift=4)).id != identity
    assert measure(path, disparity_scale=2).id != identity
    assert measure(path, unknown=99).id != identity
    # The method and the protocol are parts of the key instead.
    assert measure(path, method="ours").id == identity
    assert measure(path, protocol="middlebury-v2").id == identity
    assert measure(write_map(0, "copy")).id == identity


def test_the_name_of_the_method_is_the_name_of_the_file_by_default(write_map):
    assert measure(write_map(name="network"), method="").method == "network"
    assert measure(write_map(), method="theirs").method == "theirs"


def test_the_parameters_state_how_the_file_was_read(write_map):
    path = write_map()
    assert measure(path).parameters == {"matcher.use": "maps"}
    assert measure(path, disparity_scale=2, unknown=0).parameters == {
        "matcher.use": "maps",
        "matcher.disparity_scale": 2,
        "matcher.unknown": 0,
    }


def test_the_script_of_a_result_gives_the_same_statistics(write_map):
    path = write_map(2)
    result = measure(path, disparity_scale=2, protocol="middlebury-v2")
    assert result.script == {
        "name": "theirs",
        "scenes": ["set/a"],
        "maps": {"path": str(path), "disparity_scale": 2},
        "evaluation": {"protocol": "middlebury-v2"},
    }
    [again] = run(result.script, make_scene())
    assert repr(again.statistics["bad_pixels_all"]) == repr(result.statistics["bad_pixels_all"])
    np.testing.assert_array_equal(again.disparity, result.disparity)


def test_the_script_of_a_result_names_the_folder_of_several_maps(write_map, tmp_path):
    assert measure(write_map(), maps_path=tmp_path).script["maps"] == {"path": str(tmp_path)}


def test_the_script_of_a_result_contains_each_field_of_a_changed_protocol(write_map):
    result = measure(write_map(2), changes={"thresholds": [2]})
    assert result.statistics["bad_pixels_all"] == 0
    protocol = result.script["evaluation"]["protocol"]
    assert protocol["base"] == "taxonomy2002"
    assert list(protocol["thresholds"]) == [2]
    [again] = run(result.script, make_scene())
    assert again.protocol_text == result.protocol_text


def test_a_map_has_the_protocol_of_its_scene_by_default(write_map):
    scene = make_scene()
    result = measure(write_map(), scene=scene, protocol=None)
    assert result.protocol == "taxonomy2002"
    assert result.protocol_text == measure(write_map(), protocol="taxonomy2002").protocol_text


def test_a_name_that_cannot_be_encoded_is_refused(write_map):
    message = r"set PYTHONUTF8=1 in the environment, or name the method \(--name\)$"
    with pytest.raises(ParameterError, match=message):
        measure(write_map(), method="\udcfc")


def test_damage_of_the_images_is_a_warning_of_a_result(write_map):
    def load_damaged_image():
        report_damage("left.png is cut off")
        return TEXTURE[:, :32]

    frames = (Frame("left", load_damaged_image, 0), Frame("right", lambda: TEXTURE[:, 3:35], 1))
    scene = Scene("set/a", frames, truths={(0, 1): lambda: TRUTH})
    assert measure(write_map(), scene=scene).warnings == ("left.png is cut off",)
    assert measure(write_map()).warnings == ()


def test_a_warning_about_a_marker_names_the_option_of_the_command(write_map, tmp_path):
    marked = (TRUTH + 0.01 * np.arange(32)).astype(np.float32)
    marked[:, ::4] = 0
    write_disparity(tmp_path / "marked.pfm", 2 * marked)
    [warning] = measure(tmp_path / "marked.pfm", disparity_scale=2).warnings
    assert warning.endswith("if this value means no estimate, write --unknown 0")
    assert measure(tmp_path / "marked.pfm", disparity_scale=2, unknown=0).warnings == ()


@pytest.mark.parametrize(
    ("protocol", "matched"), [("taxonomy2002", 1.0), ("kitti2015", 0.75), ("middlebury-v3", 0.75)]
)
def test_zero_in_8_bits_is_a_disparity_only_under_the_protocol_of_2002(tmp_path, protocol, matched):
    grey = np.full((24, 32), 12, np.uint8)
    grey[:, ::4] = 0
    cv2.imwrite(str(tmp_path / "map.png"), grey)
    result = measure(tmp_path / "map.png", protocol=protocol, disparity_scale=4)
    share_of_estimates = np.isfinite(result.disparity).mean()
    assert share_of_estimates == matched


# --- maps in a results folder ---------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"method": "others"}, 2),
        ({"scene": make_scene("set/b")}, 2),
        ({"protocol": "middlebury-v2"}, 2),
        ({"protocol": {"base": "taxonomy2002", "threshold": 2}}, 2),
        # A new map of a method replaces the one before.
        ({"path": 1.0}, 1),
    ],
)
def test_each_part_of_the_key_of_an_added_map_counts(tmp_path, write_map, changes, count):
    out = tmp_path / "out"
    add_maps(out, [measure(write_map())])
    options = dict(changes)
    path = write_map(options.pop("path", 0.0), "second")
    [second] = add_maps(out, [measure(path, **options)])
    results = stored(out)
    assert len(results) == count
    assert repr(results[-1].statistics) == repr(second.statistics)
    np.testing.assert_array_equal(results[-1].disparity, second.disparity)


@pytest.mark.parametrize("protocol", ["taxonomy2002", "middlebury-v2"])
def test_two_maps_that_are_added_together_are_two_results(tmp_path, write_map, protocol):
    results = []
    for offset, name in ((0.0, "a"), (2.0, "b")):
        results.append(measure(write_map(offset, name), method=name, protocol=protocol))
    added = add_maps(tmp_path / "out", results)
    assert [result.method for result in added] == ["a", "b"]
    for result in added:
        assert result.map.is_relative_to(tmp_path / "out")
    errors = {r.method: r.statistics["bad_pixels_all"] for r in stored(tmp_path / "out")}
    assert errors == {"a": 0.0, "b": 100.0}


def test_an_added_map_needs_another_name_than_the_methods_of_a_script(tmp_path, write_map):
    out = tmp_path / "out"
    script = {
        "name": "window",
        "matching_cost": "absolute_difference",
        "optimization": "winner_take_all",
    }
    run(script, make_scene(), out=out)
    message = (
        f"^{out}: a script that was run in this folder has a method 'window'; choose another name$"
    )
    with pytest.raises(DataError, match=message):
        add_maps(out, [measure(write_map(), method="a"), measure(write_map(), method="window")])
    assert [result.method for result in stored(out)] == ["window"]
    add_maps(out, [measure(write_map(), method="theirs")])
    assert [result.method for result in stored(out)] == ["window", "theirs"]
