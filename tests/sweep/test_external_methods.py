"""External methods in runs: identities, failures, and warnings about their maps."""

import os
import time

import numpy as np
import pytest

from stereo_framework import run
from stereo_framework.core.scene import Scene
from stereo_framework.io import write_disparity

posix = pytest.mark.skipif(os.name != "posix", reason="the commands are those of a POSIX shell")
TRUTH = np.full((24, 32), 3, np.float32)


def make_scene(name):
    """Return a scene with a disparity of three pixels."""
    texture = np.random.default_rng(0).integers(0, 256, (24, 40), dtype=np.uint8)
    return Scene.from_images(texture[:, :32], texture[:, 3:35], (0, 8), name=name, truth=TRUTH)


SCENES = [make_scene(f"set/{name}") for name in "abcd"]


@pytest.fixture
def maps(tmp_path):
    """Return a folder with disparity maps of all scenes except set/c."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    for name in "abd":
        offset = 2 if name == "d" else 0
        write_disparity(folder / f"{name}.pfm", TRUTH + offset)
    return folder


def test_a_scene_without_a_map_does_not_affect_other_results(tmp_path, maps):
    script = {"methods": {"theirs": {"maps": str(maps)}, "ours": {"include": "window"}}}
    results = {(r.scene, r.method): r for r in run(script, SCENES, out=tmp_path / "out")}
    assert results["set/c", "theirs"].error.startswith("there is no map of set/c")
    for scene, expected in {"a": 0, "b": 0, "d": 100}.items():
        statistics = results[f"set/{scene}", "theirs"].statistics
        assert statistics["bad_pixels_all"] == expected
    assert not any(r.error for (_, method), r in results.items() if method == "ours")
    # External disparity maps are stored like those of our methods.
    np.testing.assert_array_equal(results["set/d", "theirs"].disparity, TRUTH + 2)


def test_a_warning_about_a_marker_names_the_parameter_that_cures_it(tmp_path, maps):
    marked = (TRUTH + 0.01 * np.arange(32)).astype(np.float32)
    marked[:, ::4] = 0
    write_disparity(maps / "a.pfm", -2 * marked)
    np.save(tmp_path / "a.npy", marked)
    module = tmp_path / "marking.py"
    array_path = str(tmp_path / "a.npy")
    module.write_text(f"import numpy as np\ndef go(*_):\n    return np.load({array_path!r})\n")
    reading = {"path": str(maps), "disparity_scale": -2}
    methods = {
        "maps": {"maps": reading},
        "cured": {"maps": reading | {"unknown": 0}},
        "function": {"matcher": {"use": "python", "function": f"{module}:go"}},
    }
    results = {r.method: r for r in run({"methods": methods}, SCENES[:1])}
    matched = {method: r.statistics["fraction_matched"] for method, r in results.items()}
    assert matched == {"maps": 1, "cured": 0.75, "function": 1}
    condition = (
        "set/a: 192 of 768 pixels of the disparity map hold exactly 0, apart from all other "
        "values (3.01 to 3.31); if this value means no estimate"
    )
    file_remedy = "set 'unknown: 0' of the matcher, the value as the file stores it"
    assert results["maps"].warnings[-1] == f"{condition}, {file_remedy}"
    assert results["cured"].warnings == ()
    assert results["function"].warnings[-1] == f"{condition}, let the matcher return NaN there"


# --- identities -----------------------------------------------------------------------


FUNCTION_WITH_HELPER = """\
import sys
sys.path.insert(0, {folder!r})
import helper_of_a_test
del sys.path[0]
import numpy as np
def go(left, *_):
    return np.full(left.shape, helper_of_a_test.value)
"""

FUNCTION_WITHOUT_HELPER = """\
import numpy as np
def go(left, *_):
    return np.full(left.shape, 3)
"""


@pytest.fixture
def run_maps_and_function(tmp_path, maps):
    """Return a function that runs two methods on two scenes with a results folder.

    The method ``maps`` reads disparity maps. The method ``function`` calls a Python
    function, and lists the file of a disparity map. The results are the identity and
    the percentage of bad pixels for each method and scene.
    """
    module = tmp_path / "theirs.py"
    module.write_text(FUNCTION_WITH_HELPER.format(folder=str(tmp_path)))
    (tmp_path / "helper_of_a_test.py").write_text("value = 3\n")
    matcher = {"use": "python", "function": f"{module}:go", "files": [str(maps / "a.pfm")]}
    methods = {"maps": {"maps": str(maps / "{scene}.pfm")}, "function": {"matcher": matcher}}

    def run_both():
        return {
            (r.method, r.scene): (r.id, r.statistics.get("bad_pixels_all"))
            for r in run({"methods": methods}, SCENES[:2], out=tmp_path / "out")
        }

    return run_both


def changed_runs(before, after):
    """Return the methods and scenes whose identity has changed."""
    return {key for key in before if before[key][0] != after[key][0]}


def test_a_changed_map_changes_the_identities_of_the_runs_that_read_it(maps, run_maps_and_function):
    first = run_maps_and_function()
    assert run_maps_and_function() == first
    # Both runs of the function list the changed file.
    write_disparity(maps / "a.pfm", TRUTH + 2)
    second = run_maps_and_function()
    expected = {("maps", "set/a"), ("function", "set/a"), ("function", "set/b")}
    assert changed_runs(first, second) == expected
    assert second["maps", "set/a"][1] == 100


def test_a_changed_file_or_import_of_a_function_changes_the_identities_of_its_runs(
    tmp_path, run_maps_and_function
):
    changes = {"helper_of_a_test.py": "value = 5.0\n", "theirs.py": FUNCTION_WITHOUT_HELPER}
    bad_pixels = {"helper_of_a_test.py": 100, "theirs.py": 0}
    for name, text in changes.items():
        before = run_maps_and_function()
        (tmp_path / name).write_text(text)
        # The time of the file system may be too coarse to distinguish two writes.
        os.utime(tmp_path / name, ns=(0, time.time_ns()))
        after = run_maps_and_function()
        assert changed_runs(before, after) == {("function", "set/a"), ("function", "set/b")}
        assert after["function", "set/a"][1] == bad_pixels[name]


# --- external programs ----------------------------------------------------------------


@posix
def test_a_program_that_fails_does_not_stop_another_program(tmp_path):
    failing_line = "sh -c 'echo no licence >&2; exit 1' {output}"
    failing = {"matcher": {"use": "command", "command_line": failing_line}}
    good_map = tmp_path / "good.pfm"
    write_disparity(good_map, TRUTH)
    working = {"matcher": {"use": "command", "command_line": f"cp {good_map} {{output}}"}}
    results = run({"methods": {"bad": failing, "good": working}}, SCENES, workers=1)
    errors = [result.error for result in results if result.method == "bad"]
    assert errors == ["sh: exit status 1: no licence"] * 4
    good_results = [result for result in results if result.method == "good"]
    assert [result.statistics["bad_pixels_all"] for result in good_results] == [0] * 4
    # The peak memory of the program is a statistic in MiB. The program cp needs few.
    assert 0 < good_results[0].statistics["peak_memory"] < 64


@pytest.mark.parametrize(("factor", "event"), [(4, "wrong scale"), (-1, "wrong sign")])
def test_a_map_in_the_wrong_scale_or_with_the_wrong_sign_is_reported(maps, factor, event):
    write_disparity(maps / "a.pfm", TRUTH * factor)
    [result] = run({"maps": str(maps)}, SCENES[:1])
    assert any(event in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("scale", "sign", "stored_marker"),
    [(2, 1, "40"), (2, -1, "-40"), (None, -1, "-20"), (0.5, 1, "10")],
)
def test_a_warning_about_a_marker_has_the_value_that_the_program_stores(
    tmp_path, scale, sign, stored_marker
):
    marked = (TRUTH + 0.01 * np.arange(32)).astype(np.float32)
    marked[:, ::4] = 20
    write_disparity(tmp_path / "output.pfm", sign * (scale or 1) * marked)
    command_line = f"cp {tmp_path / 'output.pfm'} {{output}}"
    matcher = {"use": "command", "command_line": command_line, "sign": sign}
    if scale is not None:
        matcher["disparity_scale"] = scale
    [result] = run({"matcher": matcher}, SCENES[:1])
    assert result.error is None
    event = "set/a: 25 % of the map hold 20, outside the search range 0..8"
    remedy = f"set 'unknown: {stored_marker}' of the matcher, the value as the file stores it"
    assert result.warnings[-1] == f"{event}; if this value means no estimate, {remedy}"
