"""Two runs that differ in any input have two identities, and neither takes the stored numbers of the other."""

import ast
import os
import subprocess
import sys
import time
import typing
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pydantic
import pytest
from identity_cases import CASES
from sweep_parts import dots

import stereo_framework
from stereo_framework import Scene
from stereo_framework.core import contents
from stereo_framework.core.contents import file_digest
from stereo_framework.core.frames import Frame
from stereo_framework.core.module_sources import source_files
from stereo_framework.core.plugins import load_plugin
from stereo_framework.core.registration import stages
from stereo_framework.core.registry import Registry
from stereo_framework.core.search import SearchRange
from stereo_framework.datasets.scene_schema import SceneEntry
from stereo_framework.evaluation._protocol import Protocol
from stereo_framework.evaluation.hci import Parameters as HciParameters
from stereo_framework.evaluation.protocols import PRESETS
from stereo_framework.script import load
from stereo_framework.script.keys import KEYS
from stereo_framework.sweep import Store, identity
from stereo_framework.sweep.identity import code_digest, content_digest, scene_digest
from stereo_framework.sweep.tasks import forget, tasks_of_script


def _run(case_run, out):
    [result] = stereo_framework.run(
        case_run.script, scenes=case_run.scene, out=out, maps=True, **case_run.options
    )
    assert result.error is None
    return result


def _key(result):
    return result.id, result.method, result.protocol_text


def _numbers(result):
    # The peak memory of a program differs from call to call.
    statistics = {
        name: repr(value) for name, value in result.statistics.items() if name != "peak_memory"
    }
    return statistics, result.disparity.tobytes()


@pytest.mark.skipif(
    sys.platform == "win32", reason="the programs of the cases are for a POSIX shell"
)
@pytest.mark.parametrize("name", CASES)
def test_a_changed_input_makes_another_run(registry, tmp_path, monkeypatch, name):
    # Bytecode on the disk must not outlive its source, neither here nor in programs.
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    make_runs, numbers_differ = CASES[name]
    (tmp_path / "inputs").mkdir()
    results = []
    for case_run in make_runs(tmp_path / "inputs"):
        results.append(_run(case_run, tmp_path / "out"))
        again = _run(case_run, tmp_path / "out")
        # The stored result is found again, and nothing is computed.
        assert _key(again) == _key(results[-1])
        assert again.seconds == results[-1].seconds
    first, second = results
    assert _key(first) != _key(second)
    assert (_numbers(first) != _numbers(second)) == numbers_differ
    with Store(tmp_path / "out") as store:
        stored = [result for run in (first.id, second.id) for result in store.of_run(run)]
        stored_numbers = {_key(result): _numbers(result) for result in stored}
    assert stored_numbers == {_key(first): _numbers(first), _key(second): _numbers(second)}


# --- every kind of input has a case -----------------------------------------------------------------------------------


def _cases_of(kind):
    return {name.partition(": ")[2] for name in CASES if name.startswith(f"{kind}: ")}


def test_every_stage_with_files_has_a_case():
    with_files = {
        f"{stage.slot}.{stage.name}" for stage in stages() if stage.is_built_in and stage.files
    }
    assert with_files <= {name.partition(",")[0] for name in _cases_of("files")}


def test_every_key_of_a_script_has_a_case_or_decides_nothing():
    # A plug-in is imported once in a process; tests/sweep/test_own_modules.py has its cases.
    elsewhere = {"plugins", "report"}
    assert set(KEYS) - elsewhere == _cases_of("key")


def test_every_key_of_a_scene_file_has_a_case():
    names = {name.partition(",")[0] for name in _cases_of("scene")}
    keys = set()
    for key, info in SceneEntry.model_fields.items():
        models = [
            part
            for part in _parts(info.annotation)
            if isinstance(part, type) and issubclass(part, pydantic.BaseModel)
        ]
        inner = [f"{key}.{name}" for model in models for name in model.model_fields]
        keys.update(inner or [key])
    # A map counts under the name of its key, and the encodings of all maps are read alike.
    encodings = {
        f"{key}.{name}"
        for key in ("match_truth", "search.low", "search.high")
        for name in ("disparity_scale", "unknown", "disparity_offset")
    }
    keys = {key.removesuffix(".file") if key != "frames.file" else key for key in keys}
    assert keys - encodings == names


def _parts(annotation):
    yield annotation
    for part in typing.get_args(annotation):
        yield from _parts(part)


def test_every_kind_of_registered_thing_is_identified():
    import stereo_framework.figures.chart  # registers a kind
    import stereo_framework.papers  # noqa: F401  registers a kind

    kinds = {
        registry.kind
        for registry in Registry.registries
        if registry.kind.partition(" ")[0] != "stage"
    }
    in_code = {"metric", "reader of disparitys", "reader of images"}
    assert kinds - {"thing"} <= in_code | identity._IDENTIFIED_OTHERWISE, (
        "a kind was added: does its code change a number?"
    )


OTHER_FIELDS = {
    "name": "other",
    "metrics": ("rms_error",),
    "thresholds": (0.5,),
    "relative_threshold": 0.05,
    "missing": "skip",
    "beyond": "clip",
    "rounding": "whole",
    "original_size": True,
    "enlarge": True,
    "border": 10,
    "truth_limit": 3.0,
    "masks": "scene",
    "regions": ("all",),
    "disparity_gap": 1.0,
    "textureless_width": 5,
    "textureless_threshold": 9.0,
    "discontinuity_width": 11,
    "averaging": "weighted",
    "prediction": "inverse",
    "partial_shuffle": 0.5,
    "prediction_lines": False,
    "count_grey_holes": False,
    "end_radius": 3,
    "depth_scale": "calibration",
    "depth_offset": 1.0,
    "depth_missing": "skip",
    "hci": HciParameters(seed=1),
}
"""Another value for each field of the protocol taxonomy2002."""

OTHER_HCI_FIELDS = {
    "border": 3,
    "edge_jump": 3,
    "band_width": 4,
    "band_median": 3,
    "fuzziness_distance": "width",
    "plane_median": 3,
    "plane_smoothing": 5,
    "plane_bend": 0.1,
    "plane_margin": 4.0,
    "plane_tolerance": 0.5,
    "plane_iterations": 20,
    "plane_sample": 500,
    "plane_min_share": 0.1,
    "seed": 1,
    "normal_window": 3,
    "structure_width": 4,
    "structure_height": 4,
    "structure_tolerance": 2,
    "neighbourhood_width": 2.0,
}
"""Another value for each parameter of the HCI metrics."""


def _key_under(protocol):
    [task] = tasks_of_script(
        load({"matching_cost": "census", "optimization": "winner_take_all"}), [dots()]
    )
    return replace(task, protocols=(protocol,)).keys


@pytest.mark.parametrize("name", [field.name for field in fields(Protocol)])
def test_every_field_of_a_protocol_counts(name):
    base = replace(PRESETS["taxonomy2002"], regions=("all", "nonocc"))
    assert _key_under(base) != _key_under(replace(base, **{name: OTHER_FIELDS[name]}))


@pytest.mark.parametrize("name", [field.name for field in fields(HciParameters)])
def test_every_parameter_of_the_hci_metrics_counts(name):
    base = PRESETS["taxonomy2002"]
    changed = replace(base, hci=replace(base.hci, **{name: OTHER_HCI_FIELDS[name]}))
    assert _key_under(base) != _key_under(changed)


# --- the package's files ----------------------------------------------------------------------------------------------


def test_no_counted_module_imports_one_that_does_not_count():
    package = Path(stereo_framework.__file__).parent
    counted = {path for path in identity.computing_files() if path.suffix == ".py"}
    # The program that starts everything and the checks of argument lists compute nothing.
    missing = set()
    for path in counted - {package / "__main__.py", package / "__init__.py"}:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "stereo_framework."
            ):
                inside = node.module.split(".")[1:]
                folder = package.joinpath(*inside)
                file = (
                    folder.with_suffix(".py")
                    if folder.with_suffix(".py").is_file()
                    else folder / "__init__.py"
                )
                if file not in counted and path.parent.name != "sweep":
                    missing.add((path.relative_to(package).as_posix(), node.module))
    assert not missing


def test_the_map_that_stands_in_for_ground_truth_counts():
    names = [path.as_posix() for path in identity.computing_files()]
    assert any(name.endswith("sweep/pseudo_truth.py") for name in names)
    assert any(name.endswith("configs/truth_free/pseudo_truth.yaml") for name in names)


# --- contents ---------------------------------------------------------------------------------------------------------


def _varied(mask=None, fill=0):
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    if mask is None:
        return values
    values[mask] = fill
    return np.ma.MaskedArray(values, mask)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.zeros(4, np.uint8), np.zeros(4, np.int8)),
        (np.zeros(4, np.float32), np.zeros(2, np.float64)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.array([1, 2], "<i2"), np.array([1, 2], ">i2")),
        (_varied(), _varied(np.arange(12).reshape(3, 4) == 0)),
        (_varied(np.arange(12).reshape(3, 4) == 1), _varied(np.arange(12).reshape(3, 4) == 2)),
        (np.array([[1], [2]], object), np.array([[1], [3]], object)),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("1", 1),
        ([1, [2]], [[1], 2]),
        ({"a": 1}, {"a": 2}),
        (None, ()),
    ],
)
def test_values_that_differ_have_digests_that_differ(first, second):
    assert content_digest(first, {}) != content_digest(second, {})


def test_numbers_behind_a_mask_do_not_count():
    mask = np.arange(12).reshape(3, 4) == 5
    assert content_digest(_varied(mask, 7), {}) == content_digest(_varied(mask, 8), {})


@pytest.mark.parametrize("part", ["third frame", "second truth", "mask", "ranges"])
def test_masks_of_arrays_that_a_scene_loads_count(part):
    rows, columns = 3, 4
    frames = [Frame(str(i), lambda i=i: np.full((rows, columns), i, np.uint8), i) for i in range(3)]

    def scene(hole):
        mask = np.arange(12).reshape(rows, columns) == hole
        values = _varied(mask)
        changes = {
            "third frame": {"frames": (*frames[:2], Frame("2", lambda: values, 2))},
            "second truth": {"truths": {(1, 0): lambda: values}},
            "mask": {
                "masks": {"all": lambda: np.ma.MaskedArray(np.ones((rows, columns), bool), mask)}
            },
            "ranges": {"ranges": {(0, 1): lambda: (values, _varied() + 20)}},
        }
        return Scene(
            "made", **{"frames": tuple(frames), "search": SearchRange(0, 2)} | changes[part]
        )

    assert scene_digest(scene(1)) != scene_digest(scene(2))
    assert scene_digest(scene(1)) == scene_digest(scene(1))


def test_a_scene_that_was_let_go_is_identified_by_its_files_again(tmp_path):
    values = {"left": 1}
    frames = [
        Frame(side, lambda side=side: np.full((3, 4), values.get(side, 5), np.uint8), i)
        for i, side in enumerate(("left", "right"))
    ]
    scene = Scene("made", tuple(frames), search=SearchRange(0, 2))
    first = scene_digest(scene)
    values["left"] = 2
    forget(scene)
    assert scene_digest(scene) != first


def test_the_digest_of_a_large_file_is_computed_again_after_any_change(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "_CLOCK_STEP", 0)
    file = tmp_path / "weights.bin"
    file.write_bytes(bytes(contents._LARGE))
    times = file.stat()
    time.sleep(0.05)
    first = file_digest(file)
    assert (times.st_dev, times.st_ino) in contents._REMEMBERED
    assert file_digest(file) == first
    file.write_bytes(b"1" + bytes(contents._LARGE - 1))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert file_digest(file) != first


def test_a_file_that_changed_just_now_is_read_each_time(tmp_path):
    file = tmp_path / "weights.bin"
    file.write_bytes(bytes(contents._LARGE))
    status = file.stat()
    file_digest(file)
    assert (status.st_dev, status.st_ino) not in contents._REMEMBERED


def test_missing_files_folders_and_files_that_say_so_differ(tmp_path):
    (tmp_path / "file").write_bytes(b"missing")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    paths = [tmp_path / name for name in ("file", "empty", "folder", "none")]
    assert len({identity.files_digest([path]) for path in paths}) == len(paths)


def test_the_digest_of_the_code_is_the_same_in_every_process(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import numpy as np
from stereo_framework import stage
from stereo_framework.sweep.identity import code_digest
NAMES = frozenset({"a", "b", "c", "d"})
TABLE = {"x": [1, (2, 3)], "y": {"p", "q"}}
class Helper:
    limit: int = 3
    def value(self):
        return 3 if "a" in {"a", "b", "e"} else NAMES
@stage("matcher", source="a test")
def typed(reference, match, search):
    return np.full(reference.shape[:2], Helper().value() + len(TABLE))
print(code_digest())
""")
    digests = set()
    for seed in "123":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, str(program)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1


def test_the_digest_of_the_code_depends_on_no_plug_in_that_another_script_loaded(
    registry, tmp_path
):
    before = code_digest()
    (tmp_path / "plugin.py").write_text("""
from stereo_framework import stage
@stage("refinement", source="a test")
def of_another_script(disparity):
    return disparity
""")
    load_plugin(str(tmp_path / "plugin.py"))
    assert code_digest() == before


@pytest.mark.parametrize("removed", [False, True])
def test_a_file_that_changes_during_a_run_stores_no_result(registry, tmp_path, removed):
    from stereo_framework.core.registration import stage
    from stereo_framework.io import write_disparity

    file = tmp_path / "tiny.pfm"
    write_disparity(file, np.full((24, 32), 2, np.float32))

    @stage("refinement", source="a test")
    def meddle(disparity):
        """Change the file of the matcher while the run continues."""
        if removed:
            file.unlink()
        else:
            write_disparity(file, np.full((24, 32), 3, np.float32))
        return disparity

    script = {"matcher": {"use": "maps", "path": str(file)}, "refinement": ["meddle"]}
    [result] = stereo_framework.run(script, scenes=dots(), out=tmp_path / "out")
    assert "matcher: a file of this stage changed during the run" in result.error
    assert not result.statistics


def test_two_plug_ins_with_one_text_and_helpers_of_one_name_differ(registry, tmp_path):
    text = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
import helper_of_two_plug_ins
del sys.path[0]
"""
    digests = set()
    for value, folder in enumerate("ab"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "plugin.py").write_text(text)
        (tmp_path / folder / "helper_of_two_plug_ins.py").write_text(f"limit = {value}")
        plugin = load_plugin(str(tmp_path / folder / "plugin.py"))
        digests.add(code_digest((plugin,)))
        loaded = Path(sys.modules["helper_of_two_plug_ins"].__file__).resolve()
        # The module that computes counts, whichever plug-in brought it.
        assert loaded in source_files(Path(plugin))
    assert len(digests) == 2
