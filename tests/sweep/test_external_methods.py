"""Methods from outside in runs: what identifies them, and that none harms another."""

import os
import time

import numpy as np
import pytest

from stereo_framework import run
from stereo_framework.core.scene import Scene
from stereo_framework.io import write_disparity

posix = pytest.mark.skipif(os.name != "posix", reason="the commands are those of a POSIX shell")
TRUTH = np.full((24, 32), 3, np.float32)


def _scene(name):
    texture = np.random.default_rng(0).integers(0, 256, (24, 40), dtype=np.uint8)
    return Scene.from_images(texture[:, :32], texture[:, 3:35], (0, 8), name=name, truth=TRUTH)


SCENES = [_scene(f"set/{name}") for name in "abcd"]


@pytest.fixture
def maps(tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    for name in "abd":
        write_disparity(folder / f"{name}.pfm", TRUTH + (2 if name == "d" else 0))
    return folder


def test_a_scene_without_a_map_costs_the_others_nothing(tmp_path, maps):
    script = {"methods": {"theirs": {"maps": str(maps)}, "ours": {"include": "window"}}}
    found = {(r.scene, r.method): r for r in run(script, SCENES, out=tmp_path / "out")}
    assert found["set/c", "theirs"].error.startswith("there is no map of set/c")
    errors = {
        scene: found[f"set/{scene}", "theirs"].statistics["bad_pixels_all"] for scene in "abd"
    }
    assert errors == {"a": 0, "b": 0, "d": 100}
    assert not any(r.error for (_, method), r in found.items() if method == "ours")
    # Every map is kept, as those of our own methods are.
    np.testing.assert_array_equal(found["set/d", "theirs"].disparity, TRUTH + 2)


def test_markers_in_maps_of_other_programs_are_reported_with_the_parameter(tmp_path, maps):
    marked = (TRUTH + 0.01 * np.arange(32)).astype(np.float32)
    marked[:, ::4] = 0
    write_disparity(maps / "a.pfm", -2 * marked)
    theirs = tmp_path / "marking.py"
    theirs.write_text(
        f"import numpy as np\ndef go(*_):\n    return np.load({str(tmp_path / 'a.npy')!r})\n"
    )
    np.save(tmp_path / "a.npy", marked)
    reading = {"path": str(maps), "disparity_scale": -2}
    methods = {
        "maps": {"maps": reading},
        "cured": {"maps": reading | {"unknown": 0}},
        "function": {"matcher": {"use": "python", "function": f"{theirs}:go"}},
    }
    results = {r.method: r for r in run({"methods": methods}, SCENES[:1])}
    matched = {method: r.statistics["fraction_matched"] for method, r in results.items()}
    assert matched == {"maps": 1, "cured": 0.75, "function": 1}
    event = "set/a: 192 of 768 pixels of the disparity map hold exactly 0, apart from all other values (3.01 to 3.31); if this value means"
    assert (
        results["maps"].warnings[-1]
        == f"{event} no estimate, set 'unknown: 0' of the matcher, the value as the file stores it"
    )
    assert results["cured"].warnings == ()
    assert (
        results["function"].warnings[-1] == f"{event} no estimate, let the matcher return NaN there"
    )


def test_the_content_of_files_is_part_of_the_identity(tmp_path, maps):
    theirs, helper = tmp_path / "theirs.py", tmp_path / "helper_of_a_test.py"
    found = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport helper_of_a_test\ndel sys.path[0]\nimport numpy as np\n"
    theirs.write_text(
        f"{found}def go(left, *_):\n    return np.full(left.shape, helper_of_a_test.value)\n"
    )
    helper.write_text("value = 3\n")
    script = {
        "methods": {
            "maps": {"maps": str(maps / "{scene}.pfm")},
            "function": {
                "matcher": {
                    "use": "python",
                    "function": f"{theirs}:go",
                    "files": [str(maps / "a.pfm")],
                }
            },
        }
    }

    def ids():
        return {
            (r.method, r.scene): (r.id, r.statistics.get("bad_pixels_all"))
            for r in run(script, SCENES[:2], out=tmp_path / "out")
        }

    first = ids()
    assert ids() == first
    # The map of one scene changes one result, and what names its file.
    write_disparity(maps / "a.pfm", TRUTH + 2)
    second = ids()
    changed = {key for key in first if first[key][0] != second[key][0]}
    assert changed == {("maps", "set/a"), ("function", "set/a"), ("function", "set/b")}
    assert second["maps", "set/a"][1] == 100
    # What it imports is its own, and a file's time may be too coarse to tell two that are written at once.
    for file, text in (
        (helper, "value = 5.0\n"),
        (theirs, "import numpy as np\ndef go(left, *_):\n    return np.full(left.shape, 3)\n"),
    ):
        before = ids()
        file.write_text(text)
        os.utime(file, ns=(0, time.time_ns()))
        after = ids()
        assert {key for key in first if before[key] != after[key]} == {
            ("function", "set/a"),
            ("function", "set/b"),
        }
        assert after["function", "set/a"][1] == (100 if file == helper else 0)


@posix
def test_one_program_that_fails_does_not_end_another(tmp_path):
    failing = {
        "matcher": {
            "use": "command",
            "command_line": "sh -c 'echo no licence >&2; exit 1' {output}",
        }
    }
    good = tmp_path / "good.pfm"
    write_disparity(good, TRUTH)
    works = {"matcher": {"use": "command", "command_line": f"cp {good} {{output}}"}}
    found = run({"methods": {"bad": failing, "good": works}}, SCENES, workers=1)
    assert [r.error for r in found if r.method == "bad"] == ["sh: exit status 1: no licence"] * 4
    [one, *others] = [r for r in found if r.method == "good"]
    assert [r.statistics["bad_pixels_all"] for r in (one, *others)] == [0] * 4
    # What the program needed stands among the statistics, in MiB; cp needs a few.
    assert 0 < one.statistics["peak_memory"] < 64


@pytest.mark.parametrize(("factor", "said"), [(4, "wrong scale"), (-1, "wrong sign")])
def test_a_map_in_the_wrong_scale_or_sign_is_noticed(maps, factor, said):
    write_disparity(maps / "a.pfm", TRUTH * factor)
    [found] = run({"maps": str(maps)}, SCENES[:1])
    assert any(said in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("scale", "sign", "stored"), [(2, 1, "40"), (2, -1, "-40"), (None, -1, "-20"), (0.5, 1, "10")]
)
def test_a_marker_is_reported_as_the_program_stores_it(tmp_path, scale, sign, stored):
    marked = (TRUTH + 0.01 * np.arange(32)).astype(np.float32)
    marked[:, ::4] = 20
    write_disparity(tmp_path / "made.pfm", sign * (scale or 1) * marked)
    matcher = {"use": "command", "command_line": f"cp {tmp_path / 'made.pfm'} {{output}}"}
    matcher |= {"sign": sign} | ({} if scale is None else {"disparity_scale": scale})
    [result] = run({"matcher": matcher}, SCENES[:1])
    assert result.error is None
    event = "set/a: 25 % of the map hold 20, outside the search range 0..8"
    remedy = f"set 'unknown: {stored}' of the matcher, the value as the file stores it"
    assert result.warnings[-1] == f"{event}; if this value means no estimate, {remedy}"
