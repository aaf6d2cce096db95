"""Values of options at their limits, options that interact, and exit statuses."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from cli_parts import SCRIPT, call
from made_results import SCENES, kept, result, sweep

from stereo_framework import load_scene
from stereo_framework.cli import _shared
from stereo_framework.cli._shared import Encoding
from stereo_framework.cli.evaluate import map_names
from stereo_framework.core import limits
from stereo_framework.core.errors import ParameterError
from stereo_framework.evaluation import resolve
from stereo_framework.io import write_disparity, write_image
from stereo_framework.sweep import ResultSet

BAD = "bad_pixels_nonocc"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1", 1),
        ("1K", 1024),
        ("500M", 500 * 1024**2),
        ("1.5G", 3 * 2**29),
        ("2T", 2 * 1024**4),
        ("8 GiB", 8 * 2**30),
        ("8gb", 8 * 2**30),
        ("8G", 8 * 2**30),
        ("100B", 100),
    ],
)
def test_an_amount_of_memory_has_units_of_powers_of_1024(text, count):
    assert _shared.size(text) == count


@pytest.mark.parametrize("text", ["0", "0.4", "-1", "G", "", "8P", "1.2.3G", "8 G G", "1e3"])
def test_other_amounts_of_memory_are_refused(text):
    with pytest.raises(ParameterError, match="^--memory .*: expected an amount of memory above 0"):
        _shared.size(text)


@pytest.mark.parametrize(
    ("text", "ends"), [("0:1", (0, 1)), ("-1:0", (-1, 0)), ("1", (0, 1)), ("0.5:0.75", (0.5, 0.75))]
)
def test_the_upper_end_of_a_range_is_above_the_lower_one(text, ends):
    assert _shared.disparities(text) == ends


@pytest.mark.parametrize("text", ["5:5", "0", "-1", "0:0", "6:5", "0.5:0.5"])
def test_a_range_of_equal_or_exchanged_ends_is_refused(text):
    with pytest.raises(ParameterError, match=r"is not above \S+; write MINIMUM:MAXIMUM"):
        _shared.disparities(text)


@pytest.mark.parametrize(
    ("text", "cameras"),
    [
        ("2,3", (2, 3)),
        (" 0 , 1 ", (0, 1)),
        (None, None),
        ("2,2", ""),
        ("2", ""),
        ("2,3,0", ""),
        ("10,3", ""),
    ],
)
def test_cameras_are_two_different_numbers_of_one_digit(text, cameras):
    if cameras == "":
        with pytest.raises(ParameterError, match="is not a pair of different cameras"):
            _shared.camera_numbers(text)
    else:
        assert _shared.camera_numbers(text) == cameras


@pytest.fixture
def maps(tmp_path, monkeypatch):
    """Write maps of each kind of number, and return their paths by kind."""
    monkeypatch.chdir(tmp_path)
    values = np.full((4, 5), 12)
    write_image("grey8.png", values.astype(np.uint8))
    write_image("grey16.png", values.astype(np.uint16))
    write_disparity("pixels.pfm", values.astype(np.float32))
    np.save("signed.npy", values.astype(np.int16))
    kinds = {"grey8": "png", "grey16": "png", "pixels": "pfm", "signed": "npy"}
    return {kind: Path(f"{kind}.{ending}") for kind, ending in kinds.items()}


@pytest.mark.parametrize(
    ("unknown", "kinds", "expected"),
    [
        # A single map has the marker whatever it holds.
        (-1, ["grey8"], [-1]),
        (256, ["grey8"], [256]),
        (255, ["grey8", "pixels"], [255, 255]),
        (256, ["grey8", "pixels"], [None, 256]),
        (0, ["grey8", "grey16"], [0, 0]),
        (256, ["grey8", "grey16"], [None, 256]),
        (65_535, ["grey8", "grey16"], [None, 65_535]),
        (65_536, ["grey8", "grey16"], [None, None]),
        (-1, ["grey8", "signed"], [None, -1]),
        (0.5, ["grey16", "pixels"], [None, 0.5]),
        (None, ["grey8", "pixels"], [None, None]),
    ],
)
def test_the_marker_is_that_of_the_maps_that_can_hold_it(maps, unknown, kinds, expected):
    paths = [maps[kind] for kind in kinds]
    if unknown is not None:
        unknown = float(unknown)
    encoding = Encoding(unknown=unknown)
    assert [encoding.unknown_of_map(path, paths) for path in paths] == expected


@pytest.mark.parametrize(
    ("scale", "kinds", "truth", "expected"),
    [
        (4, ["grey8"], None, [4]),
        (4, ["pixels"], None, [4]),
        (4, ["grey8", "pixels"], None, [4, None]),
        (4, ["pixels", "pixels"], None, [4, 4]),
        (4, ["pixels"], "grey8", [None]),
        (-4, ["pixels"], "grey8", [-4]),
        (4, ["pixels"], "grey16", [4]),
        (4, ["signed", "pixels"], None, [4, None]),
        (None, ["grey8", "pixels"], None, [None, None]),
    ],
)
def test_the_scale_is_that_of_the_maps_that_need_one(maps, scale, kinds, truth, expected):
    paths = [maps[kind] for kind in kinds]
    encoding = Encoding(disparity_scale=scale)
    of_truth = maps.get(truth)
    assert [encoding.scale_of_map(path, paths, of_truth) for path in paths] == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.pfm"], ["a"]),
        (["a/x.pfm", "a/y.pfm"], ["x", "y"]),
        (["a/x.pfm", "b/x.pfm"], ["a-x", "b-x"]),
        (["a/c/x.pfm", "b/c/x.pfm", "b/c/y.pfm"], ["a-c-x", "b-c-x", "b-c-y"]),
        (["x.pfm", "x.png"], ["x.pfm", "x.png"]),
    ],
)
def test_maps_are_named_with_as_many_folders_as_tell_them_apart(names, expected):
    paths = [Path(name) for name in names]
    assert list(map_names(paths).values()) == expected


# --- printed lines --------------------------------------------------------------------


def warned(*warnings, axes=None, scene="s"):
    """Return a result with some warnings."""
    return result(scene, axes or {}, {BAD: 1.0}, warnings=warnings)


@pytest.mark.parametrize(
    ("settings", "setting"),
    [(1, "m (a.x=0)"), (2, "m (a.x=0) and 1 more"), (3, "m (a.x=0) and 2 more")],
)
def test_a_warning_names_one_setting_and_counts_the_others(capsys, settings, setting):
    results = [warned("careful", axes={"a.x": i}) for i in range(settings)]
    _shared._print_problems(ResultSet(results))
    assert capsys.readouterr().err == f"warning: s {setting}: careful\n"


def test_warnings_of_two_scenes_and_of_two_kinds_are_told_apart(capsys):
    results = [warned("s: careful", "slow"), warned("careful", scene="t")]
    results += [result("s", {}, {}, method="n", error="no luck")]
    _shared._print_problems(ResultSet(results))
    assert capsys.readouterr().err.splitlines() == [
        "error: s n: no luck",
        "warning: s m: careful",
        "warning: s m: slow",
        "warning: t m: careful",
    ]


def test_a_remark_that_needs_no_action_is_a_note(capsys):
    results = ResultSet([warned("note: rows were corrected", "careful")])
    _shared._print_problems(results)
    assert capsys.readouterr().err.splitlines() == [
        "warning: s m: careful",
        "note: s m: rows were corrected",
    ]


@pytest.mark.parametrize(
    ("printed", "count", "line"),
    [(1, 2, "the first 1 of 2 rows; --all shows all\n"), (2, 2, ""), (0, 0, "")],
)
def test_a_cut_table_says_so(capsys, printed, count, line):
    _shared.say_cut(printed, count, "rows", "--all")
    assert capsys.readouterr().out == line


def scores(protocol):
    """Return the results of five settings on two scenes under a preset."""

    def statistics(scene, x):
        return {BAD: float(x), "bad_pixels_all": 1.0}

    text = str(resolve(protocol))
    axes = {"a.x": [1, 2, 3, 4, 5]}
    return sweep(axes, statistics, protocol=protocol, protocol_text=text)


@pytest.mark.parametrize(
    ("limit", "rows", "averages"), [(2, 2, 2), (5, 5, 5), (7, 7, 5), (10, 10, 5), (None, 10, 5)]
)
def test_a_cut_table_has_the_averages_of_the_shown_settings(capsys, limit, rows, averages):
    printed = _shared.print_results(scores("taxonomy2002"), most=limit)
    lines = capsys.readouterr().out.splitlines()
    assert len(printed) == rows
    assert sum(line.startswith("average of 2") for line in lines) == averages
    cuts = [line for line in lines if "shows all" in line]
    expected = f"the first {rows} of 10 rows; --limit 0 shows all"
    assert cuts == ([expected] if rows < 10 else [])
    remark = "the averages are those of the shown settings, over all of their results"
    assert (remark in lines) == (rows < 10)


# --- exit statuses --------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change to an empty folder without a data root."""
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("forms", "status"),
    [(["kitti2015"], 0), (["kitti2015", "none"], 1), (["none"], 2), (["none", "none"], 2)],
)
def test_the_status_of_an_export_says_whether_all_or_some_settings_failed(folder, forms, status):
    results = []
    for number, form in enumerate(forms):
        scene = "kitti2015/000000_10" if form == "kitti2015" else "synthetic/planes"
        path = folder / "maps" / f"{number}.pfm"
        path.parent.mkdir(exist_ok=True)
        write_disparity(path, np.full((4, 5), 3, np.float32))
        results.append(result(scene, {}, {BAD: 1.0}, method=f"m{number}", map=path))
    kept(folder, results)
    call("results", folder, "--export", "kitti2015", status=status)


@pytest.mark.parametrize(("size", "status"), [(3, 0), (999, 1)])
def test_the_status_of_a_search_says_whether_a_trial_failed(folder, small_scenes, size, status):
    plugin = """
from stereo_framework.stages import stage

@stage("refinement", source="a test")
def fails_at(disparity, *, size: int = 3):
    if size > 100:
        raise ValueError("no luck")
    return disparity
"""
    Path("mine.py").write_text(plugin)
    script = SCRIPT | {"plugins": ["mine.py"], "refinement": ["fails_at"]}
    script |= {"sweep": {"grid": {"refinement.fails_at.size": [2, size]}}}
    Path("script.yaml").write_text(yaml.safe_dump(script))
    done = call("tune", "script.yaml", "--trials", 2, status=status)
    assert ("no luck" in done.stderr) == bool(status)


@pytest.mark.parametrize(("count", "has_more"), [(4, False), (5, False), (6, True)])
def test_as_many_notes_of_an_import_are_printed_as_allowed(folder, monkeypatch, count, has_more):
    monkeypatch.setattr(limits, "FAULTS", 5)
    Path("old.txt").write_text("cost_map c.pgm\n" * count + "depth_map a.pgm\n")
    lines = call("import", "old.txt").stderr.splitlines()
    more = "note: further lines cannot be carried over either"
    assert len(lines) == min(count, 5) + has_more
    assert (lines[-1] == more) == has_more


@pytest.mark.parametrize(
    ("thresholds", "protocol", "bad"),
    [
        ([], "taxonomy2002", 0),
        ([0.5], "taxonomy2002[thresholds=0.5]", 100),
        ([2], "taxonomy2002[thresholds=2]", 0),
        ([0.5, 2], "taxonomy2002[thresholds=0.5,2]", 100),
        ([2, 0.5], "taxonomy2002[thresholds=2,0.5]", 0),
    ],
)
def test_each_threshold_of_an_evaluation_counts_alone_and_beside_another(
    folder, small_scenes, thresholds, protocol, bad
):
    scene = load_scene("synthetic/planes")
    write_disparity("map.pfm", scene.truth + np.float32(0.75))
    words = []
    for value in thresholds:
        words += ["--threshold", value]
    done = call("evaluate", "map.pfm", "--scene", "synthetic/planes", *words, "--json")
    [record] = json.loads(done.stdout)
    assert record["protocol"] == protocol
    assert record["statistics"]["bad_pixels_all"] == bad


def test_methods_are_ranked_with_the_best_first(folder):
    Path("table.csv").write_text(f"method,s:{BAD},t:{BAD}\nworst,9,9\nbest,1,1\nmiddle,5,5\n")
    lines = call("rank", "table.csv").stdout.splitlines()
    rows = [line.split("\t")[:2] for line in lines[1:4]]
    assert rows == [["1", "best"], ["2", "middle"], ["3", "worst"]]


def test_points_of_a_boundary_are_named_by_what_varies(folder):
    results = []
    for x, y, sparsity, error in ((1, 1, 0.0, 0.5), (2, 1, 0.3, 0.2), (3, 2, 0.6, 0.1)):
        statistics = {"sparsity_rate": sparsity, "error_rate": error}
        parameters = {"a.x": x, "a.fixed": 7, "a.y": y}
        results.append(result("s", {}, statistics, parameters=parameters))
    statistics = {"sparsity_rate": 0.8, "error_rate": 0.0}
    results.append(result("s", {}, statistics, method="only", parameters={"a.x": 1}))
    kept(folder, results)
    rows = [line.split("\t") for line in call("rank", folder, "--boundary").stdout.splitlines()]
    settings = [row[3] for row in rows if len(row) == 4 and row[2] in ("m", "only")]
    assert settings == ["a.x=1, a.y=1", "a.x=2, a.y=1", "a.x=3, a.y=2", "the only setting"]


def test_two_folders_of_results_are_ranked_together(folder):
    for name, value in (("one", 1.0), ("two", 2.0)):
        results = [result(scene, {}, {BAD: value}, method=name) for scene in SCENES]
        kept(folder / name, results)
    lines = call("rank", "one", "two").stdout.splitlines()
    rows = [line.split("\t")[:3] for line in lines[1:3]]
    assert rows == [["1", "one", "1.00"], ["2", "two", "2.00"]]
