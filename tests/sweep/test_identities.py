"""Two runs that differ in an input have two identities, and separate results."""

import os
import sys
import time
import typing
from dataclasses import fields, replace

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
from stereo_framework.core.registration import stage, stages
from stereo_framework.core.registry import Registry
from stereo_framework.core.search import SearchRange
from stereo_framework.datasets.scene_schema import SceneEntry
from stereo_framework.evaluation._protocol import Protocol
from stereo_framework.evaluation.hci import Parameters as HciParameters
from stereo_framework.evaluation.protocols import PRESETS
from stereo_framework.io import write_disparity
from stereo_framework.script.keys import KEYS
from stereo_framework.sweep import Store
from stereo_framework.sweep.code_identity import CodeReader
from stereo_framework.sweep.identity import content_digest, files_digest, scene_digest
from stereo_framework.sweep.tasks import evaluation_digests, release_scene


def run_case(case_run, folder):
    """Run a case, store the results in a folder, and return the only result."""
    [result] = stereo_framework.run(
        case_run.script, scenes=case_run.scene, out=folder, maps=True, **case_run.options
    )
    assert result.error is None
    return result


def identity_of(result):
    """Return the parts that identify a result."""
    return result.id, result.method, result.protocol_text


def numbers_of(result):
    """Return the statistics and the disparity map of a result."""
    # The peak memory of a program differs from call to call.
    statistics = {
        name: repr(value) for name, value in result.statistics.items() if name != "peak_memory"
    }
    return statistics, result.disparity.tobytes()


EVALUATOR_CASES = {"program: a metric in a notebook"}
"""Cases in which only the evaluator changes, so the disparity map stays the same."""


@pytest.fixture
def stored_bytecode(monkeypatch):
    """Let Python store bytecode, which must not outlive its source."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)


@pytest.mark.skipif(
    sys.platform == "win32", reason="the programs of the cases are for a POSIX shell"
)
@pytest.mark.usefixtures("registry", "stored_bytecode")
@pytest.mark.parametrize("name", sorted(set(CASES) - EVALUATOR_CASES))
def test_a_changed_input_makes_another_run(tmp_path, name):
    make_runs, numbers_differ = CASES[name]
    (tmp_path / "inputs").mkdir()
    results = []
    for case_run in make_runs(tmp_path / "inputs"):
        results.append(run_case(case_run, tmp_path / "out"))
        repeated = run_case(case_run, tmp_path / "out")
        # The repeated run reads the stored result. Otherwise the times would differ.
        assert identity_of(repeated) == identity_of(results[-1])
        assert repeated.seconds == results[-1].seconds

    first, second = results
    assert identity_of(first) != identity_of(second)
    assert (numbers_of(first) != numbers_of(second)) == numbers_differ
    with Store(tmp_path / "out") as store:
        stored = [result for run in (first.id, second.id) for result in store.of_run(run)]
        stored_numbers = {identity_of(result): numbers_of(result) for result in stored}
    assert stored_numbers == {
        identity_of(first): numbers_of(first),
        identity_of(second): numbers_of(second),
    }


@pytest.mark.usefixtures("registry", "stored_bytecode")
@pytest.mark.parametrize("name", sorted(EVALUATOR_CASES))
def test_after_a_change_of_the_evaluator_the_stored_map_is_measured_again(tmp_path, name):
    make_runs, _ = CASES[name]
    (tmp_path / "inputs").mkdir()
    first, second = [run_case(run, tmp_path / "out") for run in make_runs(tmp_path / "inputs")]
    assert first.id == second.id
    assert first.map == second.map
    assert first.matching_seconds == second.matching_seconds
    assert numbers_of(first)[0] != numbers_of(second)[0]


# --- every kind of input has a case ---------------------------------------------------


def inputs_of_kind(kind):
    """Return the inputs of a kind that have a case."""
    return {name.partition(": ")[2] for name in CASES if name.startswith(f"{kind}: ")}


def test_every_stage_with_files_has_a_case():
    stages_with_files = {
        f"{stage.slot}.{stage.name}" for stage in stages() if stage.is_built_in and stage.files
    }
    assert stages_with_files <= {name.partition(",")[0] for name in inputs_of_kind("files")}


def test_every_key_of_a_script_has_a_case_or_decides_no_number():
    # Plug-ins have their cases in tests/sweep/test_code_identity.py. The key `report`
    # decides no number.
    other_keys = {"plugins", "report"}
    assert set(KEYS) - other_keys == inputs_of_kind("key")


def test_every_key_of_a_scene_file_has_a_case():
    names = {name.partition(",")[0] for name in inputs_of_kind("scene")}
    keys = set()
    for key, info in SceneEntry.model_fields.items():
        models = [
            part
            for part in parts_of_annotation(info.annotation)
            if isinstance(part, type) and issubclass(part, pydantic.BaseModel)
        ]
        inner_keys = [f"{key}.{name}" for model in models for name in model.model_fields]
        keys.update(inner_keys or [key])
    # The encodings of all maps are read in the same way.
    encodings = {
        f"{key}.{name}"
        for key in ("match_truth", "search.low", "search.high")
        for name in ("disparity_scale", "unknown", "disparity_offset")
    }
    # A map has the name of its key.
    keys = {key.removesuffix(".file") if key != "frames.file" else key for key in keys}
    assert keys - encodings == names


def parts_of_annotation(annotation):
    """Yield a type, and the types of which it consists."""
    yield annotation
    for part in typing.get_args(annotation):
        yield from parts_of_annotation(part)


IDENTIFIED_KINDS = {"metric", "reader of disparitys", "reader of images"}
"""Kinds of registered objects whose code counts in the identity of a run."""

KINDS_WITHOUT_IDENTITY = {"chart", "paper", "protocol", "data set"}
"""Kinds of registered objects whose code does not count as such.

Charts and papers only show results. The fields of a protocol count in the key of a
result. Readers of the scenes of a data set count with the scene.
"""


def test_every_kind_of_registered_object_counts_or_decides_no_number():
    import stereo_framework.figures.chart
    import stereo_framework.papers  # noqa: F401  Both modules make a registry.

    kinds = {registry.kind for registry in Registry.registries}
    other_kinds = {kind for kind in kinds if kind.partition(" ")[0] != "stage"} - {"thing"}
    assert other_kinds <= IDENTIFIED_KINDS | KINDS_WITHOUT_IDENTITY


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


def digest_of_protocol(protocol):
    """Return the digest of a protocol, which is a part of the keys of results."""
    return evaluation_digests([protocol], CodeReader())


@pytest.mark.parametrize("name", [field.name for field in fields(Protocol)])
def test_every_field_of_a_protocol_counts(name):
    base = replace(PRESETS["taxonomy2002"], regions=("all", "nonocc"))
    changed = replace(base, **{name: OTHER_FIELDS[name]})
    assert digest_of_protocol(base) != digest_of_protocol(changed)


@pytest.mark.parametrize("name", [field.name for field in fields(HciParameters)])
def test_every_parameter_of_the_hci_metrics_counts(name):
    base = PRESETS["taxonomy2002"]
    changed = replace(base, hci=replace(base.hci, **{name: OTHER_HCI_FIELDS[name]}))
    assert digest_of_protocol(base) != digest_of_protocol(changed)


# --- contents -------------------------------------------------------------------------


def array(mask=None, fill=0):
    """Return an array of different numbers, perhaps with a mask and a fill below it."""
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
        (array(), array(np.arange(12).reshape(3, 4) == 0)),
        (array(np.arange(12).reshape(3, 4) == 1), array(np.arange(12).reshape(3, 4) == 2)),
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
def test_different_values_have_different_digests(first, second):
    assert content_digest(first, {}) != content_digest(second, {})


def test_numbers_behind_a_mask_do_not_count():
    mask = np.arange(12).reshape(3, 4) == 5
    assert content_digest(array(mask, 7), {}) == content_digest(array(mask, 8), {})


@pytest.mark.parametrize("part", ["third frame", "second truth", "mask", "ranges"])
def test_masks_of_arrays_that_a_scene_loads_count(part):
    rows, columns = 3, 4
    frames = [Frame(str(i), lambda i=i: np.full((rows, columns), i, np.uint8), i) for i in range(3)]

    def scene(masked_pixel):
        mask = np.arange(12).reshape(rows, columns) == masked_pixel
        values = array(mask)
        changes = {
            "third frame": {"frames": (*frames[:2], Frame("2", lambda: values, 2))},
            "second truth": {"truths": {(1, 0): lambda: values}},
            "mask": {
                "masks": {"all": lambda: np.ma.MaskedArray(np.ones((rows, columns), bool), mask)}
            },
            "ranges": {"ranges": {(0, 1): lambda: (values, array() + 20)}},
        }
        fields_of_scene = {"frames": tuple(frames), "search": SearchRange(0, 2)} | changes[part]
        return Scene("made", **fields_of_scene)

    assert scene_digest(scene(1)) != scene_digest(scene(2))
    assert scene_digest(scene(1)) == scene_digest(scene(1))


def test_the_files_of_a_released_scene_are_read_again():
    values = {"left": 1, "right": 5}
    frames = [
        Frame(side, lambda side=side: np.full((3, 4), values[side], np.uint8), position)
        for position, side in enumerate(values)
    ]
    scene = Scene("made", tuple(frames), search=SearchRange(0, 2))
    digest = scene_digest(scene)
    values["left"] = 2
    release_scene(scene)
    assert scene_digest(scene) != digest


def test_the_digest_of_a_large_file_is_computed_again_after_any_change(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "_CLOCK_STEP", 0)
    file = tmp_path / "weights.bin"
    file.write_bytes(bytes(contents._LARGE))
    status = file.stat()
    time.sleep(0.05)
    digest = file_digest(file)
    assert (status.st_dev, status.st_ino) in contents._REMEMBERED
    assert file_digest(file) == digest
    file.write_bytes(b"1" + bytes(contents._LARGE - 1))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file_digest(file) != digest


def test_the_digest_of_a_file_that_has_just_changed_is_not_cached(tmp_path):
    file = tmp_path / "weights.bin"
    file.write_bytes(bytes(contents._LARGE))
    status = file.stat()
    file_digest(file)
    assert (status.st_dev, status.st_ino) not in contents._REMEMBERED


def test_a_missing_path_a_folder_and_files_have_different_digests(tmp_path):
    (tmp_path / "file").write_bytes(b"missing")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    paths = [tmp_path / name for name in ("file", "empty", "folder", "none")]
    assert len({files_digest([path]) for path in paths}) == len(paths)


def test_comments_of_a_python_file_do_not_count(tmp_path):
    digests = []
    for text in ("limit = 1\n", "limit = 1  # pixels\n", "limit = 2\n"):
        (tmp_path / "stage.py").write_text(text)
        digests.append(files_digest([tmp_path / "stage.py"]))
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("removed", [False, True])
def test_a_file_that_changes_during_a_run_stores_no_result(tmp_path, removed):
    file = tmp_path / "tiny.pfm"
    write_disparity(file, np.full((24, 32), 2, np.float32))

    @stage("refinement", source="a test")
    def change_file(disparity):
        """Change the file of the matcher while the run continues."""
        if removed:
            file.unlink()
        else:
            write_disparity(file, np.full((24, 32), 3, np.float32))
        return disparity

    script = {"matcher": {"use": "maps", "path": str(file)}, "refinement": ["change_file"]}
    [result] = stereo_framework.run(script, scenes=dots(), out=tmp_path / "out")
    assert "matcher: a file of this stage changed during the run" in result.error
    assert not result.statistics
