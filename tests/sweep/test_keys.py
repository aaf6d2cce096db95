"""Every part of the identity of a run and of the key of a result counts, each varied once."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sweep_parts import WINDOW, dots

import stereo_framework
from stereo_framework import SearchRange
from stereo_framework.core.module_sources import source_files
from stereo_framework.core.plugins import load_plugin
from stereo_framework.evaluation.protocols import resolve
from stereo_framework.script import load
from stereo_framework.sweep import identity
from stereo_framework.sweep.identity import (
    code_digest,
    computing_files,
    content_digest,
    result_key,
    run_id,
)
from stereo_framework.sweep.tasks import tasks_of_script

PARTS = {
    "scene": "a scene",
    "search": "SearchRange(0, 7)",
    "parameters": {"matching_cost.truncation": 1, "seed": 0},
    "code": "some code",
}


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("scene", "another scene"),
        ("search", "SearchRange(0, 8)"),
        ("parameters", {"matching_cost.truncation": 2, "seed": 0}),
        ("parameters", {"matching_cost.truncation": True, "seed": 0}),
        ("parameters", {"matching_cost.truncation": 1.0, "seed": 0}),
        ("parameters", {"matching_cost.truncation": "1", "seed": 0}),
        ("parameters", {"matching_cost.truncation": None, "seed": 0}),
        ("parameters", {"matching_cost.birchfield_tomasi": 1, "seed": 0}),
        ("parameters", {"matching_cost.truncation": 1, "seed": 1}),
        ("parameters", {"matching_cost.truncation": 1}),
        ("code", "other code"),
    ],
)
def test_each_part_of_the_identity_of_a_run_counts(part, other):
    identity_of_run = run_id(**PARTS)
    assert len(identity_of_run) == 16
    assert run_id(**PARTS | {part: other}) != identity_of_run
    assert run_id(**PARTS) == identity_of_run


def test_the_order_of_parameters_does_not_count_in_the_identity_of_a_run():
    turned = dict(reversed(PARTS["parameters"].items()))
    assert run_id(**PARTS | {"parameters": turned}) == run_id(**PARTS)


@pytest.mark.parametrize(
    "change",
    [
        {"id": "another run"},
        {"duplicate_index": 1},
        {"protocols": (resolve("middlebury-v2"),)},
        {"protocols": (replace(resolve("taxonomy2002"), border=3),)},
        {"setting": "method"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_each_part_of_the_key_of_a_result_counts(change):
    [task] = tasks_of_script(load(WINDOW | {"name": "first"}), [dots()])
    if change == {"setting": "method"}:
        change = {"setting": replace(task.setting, method="second")}
    [key] = replace(task, **change).keys
    assert [key] != [*task.keys]
    assert replace(task).keys == task.keys


def test_a_task_has_a_key_for_each_of_its_protocols():
    [task] = tasks_of_script(load(WINDOW), [dots()])
    two = (resolve("taxonomy2002"), resolve("middlebury-v2"))
    keys = replace(task, protocols=two).keys
    assert len(set(keys)) == 2
    assert replace(task, protocols=two[::-1]).keys == keys[::-1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("a", "bc"), ("ab", "c")),
        (("a", ""), ("a",)),
        (("a", '"b'), ('a"', "b")),
        (("a,b",), ("a", "b")),
    ],
)
def test_different_parts_have_different_keys(first, second):
    assert result_key(*first) != result_key(*second)


CHANGES = [
    ["search.minimum=-1"],
    ["search.maximum=8"],
    ["search.step=0.5"],
    ["matching_cost.truncation=7"],
    ["matching_cost.truncation=1"],
    ["matching_cost.birchfield_tomasi=true"],
    ["aggregation.box.size=5"],
    ["aggregation.box.iterations=2"],
    ["aggregation=[]"],
    ["matching_cost=squared_difference"],
    ["optimization=semi_global"],
    ["refinement=[median]"],
    ["refinement=[median, parabola]"],
    ["refinement=[parabola, median]"],
    ["scheme=[coarse]"],
]


def test_each_change_of_a_script_makes_another_run():
    runs = [
        tasks_of_script(load(WINDOW, overrides=change), [dots()])[0].id for change in [[], *CHANGES]
    ]
    assert len(set(runs)) == 1 + len(CHANGES)


def test_the_side_of_the_match_frame_makes_another_run():
    scene = dots()
    runs = {
        tasks_of_script(load(WINDOW), [one])[0].id
        for one in (scene, scene.pair(1, 0, SearchRange(0, 7)))
    }
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([], {}),
        (None, "None"),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        ({"a": None}, {}),
        ([[1], 2], [1, [2]]),
        ([1, 2], [2, 1]),
        (SearchRange(0, 3), SearchRange(0, 4)),
        (SearchRange(0, 3), SearchRange(-1, 3)),
        (SearchRange(0, 3), SearchRange(0, 3, 0.5)),
        (SearchRange(0, 3), SearchRange(0, 3, 1, -1)),
    ],
)
def test_values_of_other_kinds_and_orders_have_other_digests(first, second):
    assert content_digest(first, {}) != content_digest(second, {})


@pytest.mark.parametrize(
    "other",
    [
        np.array([[1, 2]], object),
        np.array([1, 2], object),
        np.array([[1], [3]], object),
        np.array([[2], [1]], object),
        np.array([[1], [2]]),
        [[1], [2]],
    ],
)
def test_arrays_of_objects_count_with_their_shape_and_order(other):
    assert content_digest(other, {}) != content_digest(np.array([[1], [2]], object), {})


def test_lists_and_tuples_have_one_digest():
    assert content_digest({"a": [1]}, {}) == content_digest({"a": (1,)}, {})


# --- the code -----------------------------------------------------------------------------------------------------------


EITHER = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
try:
    import first_helper_of_a_test
except ImportError:
    import second_helper_of_a_test
del sys.path[0]
"""


def test_helpers_of_one_content_and_different_names_differ(registry, tmp_path):
    digests = set()
    for name in ("first_helper_of_a_test", "second_helper_of_a_test"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "plugin.py").write_text(EITHER)
        (folder / f"{name}.py").write_text("limit = 1")
        plugin = load_plugin(str(folder / "plugin.py"))
        # The second plug-in must not find the helper of the first one.
        del sys.modules[name]
        assert source_files(Path(plugin)) == [folder / "plugin.py", folder / f"{name}.py"]
        digests.add(code_digest((plugin,)))
    assert len(digests) == 2


def test_each_of_two_plug_ins_counts(registry, tmp_path):
    files = [tmp_path / "first_of_two.py", tmp_path / "second_of_two.py"]
    for value, file in enumerate(files):
        file.write_text(f"limit = {value}")
    first, second = (load_plugin(str(file)) for file in files)
    alone = {code_digest(()), code_digest((first,)), code_digest((second,))}
    assert len(alone | {code_digest((first, second))}) == 4


COUNTED_FOLDERS = {
    "aggregation",
    "confidence",
    "core",
    "datasets",
    "engine",
    "evaluation",
    "io",
    "kernels",
    "matcher",
    "matching_cost",
    "optimization",
    "preprocessing",
    "refinement",
    "scheme",
    "smoothness",
}
COUNTED_BESIDES = {
    "sweep/pseudo_truth.py",
    "sweep/task_results.py",
    "configs/truth_free/pseudo_truth.yaml",
}
"""Files on which statistics depend, in folders that do not count."""


def test_code_and_learned_weights_of_all_folders_that_compute_count():
    package = Path(stereo_framework.__file__).parent
    files = {path for path in package.rglob("*") if path.suffix in (".py", ".yaml")}
    names = {path.relative_to(package).as_posix() for path in files}
    expected = {name for name in names if name.partition("/")[0] in COUNTED_FOLDERS}
    expected |= {"__init__.py", "__main__.py", "parts.py", "stages.py"} | COUNTED_BESIDES
    assert "confidence/learned.yaml" in expected
    counted = [path.resolve() for path in computing_files()]
    assert len(counted) == len(set(counted))
    assert {_in_package(path, package) for path in counted} == expected


def _in_package(path, package):
    """Return the name of a file within the package, in which the built-in scripts are `configs`."""
    for root, prefix in ((package, ""), (identity.package_folder(), "configs/")):
        if path.is_relative_to(root.resolve()):
            return prefix + path.relative_to(root.resolve()).as_posix()
    return str(path)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("confidence/learned.yaml", True),
        ("evaluation/presets.yaml", True),
        ("core/search.py", True),
        ("engine/runner.py", True),
        ("__init__.py", True),
        ("sweep/pseudo_truth.py", True),
        ("sweep/task_results.py", True),
        ("sweep/store.py", False),
        ("cli/main.py", False),
        ("script/legacy.yaml", False),
        ("tables/means.py", False),
    ],
)
def test_a_changed_file_of_the_package_changes_the_digest_if_it_computes(
    name, counts, copied_package
):
    before = identity._code_digest.__wrapped__(())
    file = copied_package / name
    content = file.read_bytes()
    file.write_bytes(content + b"\n# another line\n")
    try:
        assert (identity._code_digest.__wrapped__(()) != before) == counts
    finally:
        file.write_bytes(content)


@pytest.fixture(scope="module")
def copied_package(tmp_path_factory):
    """Let the digest of the code be that of a copy of the package."""
    package = Path(stereo_framework.__file__).parent
    copy = tmp_path_factory.mktemp("copy") / "stereo_framework"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "__file__", str(copy / "sweep" / "identity.py"))
        yield copy
