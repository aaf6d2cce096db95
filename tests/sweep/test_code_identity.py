"""A change of code gives new identities to exactly the runs that reach the code."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sweep_parts import dots

import stereo_framework
from stereo_framework import Scene, SearchRange, load_scene
from stereo_framework.core import plugins, reached_sources
from stereo_framework.core.module_sources import source_files
from stereo_framework.core.plugins import load_plugin
from stereo_framework.evaluation.protocols import resolve
from stereo_framework.script import load
from stereo_framework.sweep import code_identity
from stereo_framework.sweep.code_identity import CodeReader
from stereo_framework.sweep.tasks import tasks_of_script

PACKAGE = Path(stereo_framework.__file__).parent

WINDOW = {"matching_cost": "absolute_difference", "aggregation": [{"use": "box", "size": 3}]}
METHODS = {
    "window": WINDOW,
    "census": {"matching_cost": "census", "optimization": "semi_global"},
    "patches": {"matcher": "patch_match"},
    "scales": {
        "matching_cost": "absolute_difference",
        "aggregation": [{"use": "cross_scale", "inner": {"use": "guided_filter"}}],
        "optimization": "winner_take_all",
    },
    "supported": {
        **WINDOW,
        "optimization": "winner_take_all",
        "refinement": ["median"],
        "confidence": ["curvature"],
    },
}
METHODS["window"] = {**WINDOW, "optimization": "winner_take_all"}


@pytest.fixture
def change_source(monkeypatch):
    """Return a function that changes a source file in the memory of this process.

    By default, the change adds a constant at the end of the file.
    """
    contents = {}
    read = plugins.content_when_loaded
    monkeypatch.setattr(
        reached_sources, "content_when_loaded", lambda file: contents.get(file) or read(file)
    )

    def change(name, old="", new="\nADDED_BY_A_TEST = 1\n"):
        file = (PACKAGE / name).resolve()
        text = file.read_text("utf-8")
        assert not old or text.count(old) == 1
        changed_text = text.replace(old, new) if old else text + new
        contents[file] = changed_text.encode()
        clear_caches()

    yield change
    contents.clear()
    clear_caches()


def clear_caches():
    """Forget the sources of the package that this process has read."""
    for function in (
        code_identity._sources_of_package,
        reached_sources._digests_of_module,
        reached_sources._module_of_object,
    ):
        function.cache_clear()


def identities(protocol="taxonomy2002", scene=None):
    """Return the identity and the key of the result of each method."""
    script = load({"methods": METHODS, "evaluation": {"protocol": protocol}})
    tasks = tasks_of_script(script, [scene or dots()])
    return {task.setting.method: (task.id, task.keys) for task in tasks}


ALL_METHODS = set(METHODS)
METHODS_BY_FILE = {
    "aggregation/box.py": {"window", "supported"},
    "matching_cost/_bit_strings.py": {"census"},
    "optimization/_semi_global_paths.py": {"census"},
    "kernels/random_numbers.py": {"patches"},
    "kernels/bits.py": {"census"},
    "aggregation/guided_filter.py": {"scales"},
    "confidence/_costs.py": {"supported"},
    "refinement/median.py": {"supported"},
    "engine/strips.py": ALL_METHODS,
    "core/volume.py": ALL_METHODS,
    "core/former_names.yaml": ALL_METHODS,
}
"""Methods that reach a file through their stages or the engine."""


@pytest.mark.parametrize("file", METHODS_BY_FILE)
def test_exactly_the_methods_that_reach_a_changed_file_are_matched_again(change_source, file):
    before = identities()
    if file.endswith(".yaml"):
        change_source(file, new="added_by_a_test: 1\n")
    else:
        change_source(file)
    after = identities()
    changed_methods = {method for method in METHODS if before[method][0] != after[method][0]}
    assert changed_methods == METHODS_BY_FILE[file]


@pytest.mark.parametrize(
    "file",
    ["evaluation/evaluate.py", "evaluation/disparity_error.py", "evaluation/hci/planes.py"],
)
def test_after_a_change_of_the_evaluator_the_maps_keep_their_identity(change_source, file):
    before = identities()
    change_source(file)
    after = identities()
    for method in METHODS:
        assert before[method][0] == after[method][0]
        assert before[method][1] != after[method][1]


@pytest.mark.parametrize(
    "file",
    [
        "aggregation/binomial.py",
        "aggregation/__init__.py",
        "optimization/trw_s.py",
        "cli/main.py",
        "page/page.py",
        "tables/means.py",
        "sweep/store.py",
        "script/load.py",
        "sweep/pseudo_truth.py",
    ],
)
def test_a_change_that_no_run_reaches_changes_no_identity(change_source, file):
    before = identities()
    change_source(file)
    assert identities() == before


@pytest.mark.parametrize("file", ["aggregation/box.py", "engine/strips.py"])
@pytest.mark.parametrize("text", ["# A comment.\n", '"""A text without effect."""\n', "\n\n"])
def test_comments_and_docstrings_change_no_identity(change_source, file, text):
    before = identities()
    change_source(file, new=text)
    assert identities() == before


def test_the_reader_of_a_scene_counts_for_this_scene_only(change_source):
    scenes = [dots(), load_scene("synthetic/planes")]
    before = [identities(scene=scene) for scene in scenes]
    change_source("datasets/planes.py")
    after = [identities(scene=scene) for scene in scenes]
    assert [first == second for first, second in zip(before, after, strict=True)] == [True, False]


def test_a_reader_without_a_hash_value_is_accepted():
    image = np.zeros((24, 32), np.uint8)
    scene = replace(Scene.from_images(image, image), search=SearchRange(0, 7))
    assert set(identities(scene=scene)) == ALL_METHODS


def test_a_built_in_function_may_read_the_ground_truth():
    image = np.zeros((24, 32), np.uint8)
    truth = np.zeros(image.shape, np.float32)
    scene = replace(Scene.from_images(image, image), search=SearchRange(0, 7))
    # The method of an array belongs to no file.
    scene_with_truth = replace(scene, truths={(0, 1): truth.copy})
    assert set(identities(scene=scene_with_truth)) == ALL_METHODS


@pytest.mark.usefixtures("registry")
def test_a_stage_of_the_program_counts_if_the_main_module_has_an_installed_file(monkeypatch):
    installed_file = Path(pytest.__file__)
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(installed_file), raising=False)
    digests = set()
    for limit in (3, 4):
        names = {"__name__": "__main__", "limit": limit}
        exec("def typed(reference, match, search):\n    return limit", names)
        stereo_framework.stage("matcher", source="a test")(names["typed"])
        pipeline = load({"matcher": "typed"}).only.pipeline
        digests.add(CodeReader().matching_digest(pipeline))
    assert len(digests) == 2


# --- versions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distribution", "module"),
    [
        ("numpy", "numpy"),
        ("numba", "numba"),
        ("scipy", "scipy"),
        ("opencv-python-headless", "cv2"),
        ("rich", "rich"),
    ],
)
def test_the_version_of_a_package_counts_for_the_runs_that_import_it(
    monkeypatch, distribution, module
):
    importing = {
        method
        for method in METHODS
        if module in CodeReader().sources_of_matching(pipeline_of(method)).packages
    }
    before = {method: CodeReader().matching_digest(pipeline_of(method)) for method in METHODS}
    installed_version = reached_sources.version
    monkeypatch.setattr(
        reached_sources,
        "version",
        lambda name: "99.0" if name == distribution else installed_version(name),
    )
    after = {method: CodeReader().matching_digest(pipeline_of(method)) for method in METHODS}
    assert {method for method in METHODS if before[method] != after[method]} == importing
    assert (
        importing
        == {
            "numpy": ALL_METHODS,
            "numba": ALL_METHODS,
            "cv2": ALL_METHODS,
            "scipy": set(),
            "rich": set(),
        }[module]
    )


def pipeline_of(method):
    """Return the pipeline of a method of `METHODS`."""
    return load(METHODS[method]).only.pipeline


# --- plug-ins -------------------------------------------------------------------------

STAGE = """
import numpy as np
from pathlib import Path
from stereo_framework import metric, stage
from {helper} import LIMIT
WEIGHTS = Path(__file__).with_name("{name}.npy")
@stage("refinement", source="a test")
def stage_{name}(disparity):
    return disparity * LIMIT
@metric(unit="px", better="lower", source="a test")
def metric_{name}(disparity, truth, mask):
    return 1.0
"""


@pytest.fixture
def write_plugins(registry, tmp_path):
    """Return a function that writes two plug-ins and returns a script with both."""

    def write():
        methods = {}
        for name in ("first", "second"):
            # Python imports only one module of each name.
            helper = f"helper_{tmp_path.name}_{name}"
            (tmp_path / f"{name}.py").write_text(STAGE.format(name=name, helper=helper))
            (tmp_path / f"{helper}.py").write_text("LIMIT = 1\n")
            (tmp_path / f"{name}.npy").write_text("1")
            methods[name] = METHODS["window"] | {"refinement": [f"stage_{name}"]}
        return {
            "plugins": [str(tmp_path / f"{name}.py") for name in methods],
            "methods": methods,
            "evaluation": {"metrics": ["rms_error", "metric_first"]},
        }

    return write


def plugin_identities(script):
    """Return the identity and the key of the result of each method of a script."""
    return {
        task.setting.method: (task.id, task.keys)
        for task in tasks_of_script(load(script), [dots()])
    }


@pytest.mark.parametrize(
    ("file", "old", "new", "matched_again", "measured_again"),
    [
        ("first.py", "* LIMIT", "/ LIMIT", {"first"}, {"first", "second"}),
        ("first.py", "return 1.0", "return 2.0", {"first"}, {"first", "second"}),
        ("second.py", "return 1.0", "return 2.0", {"second"}, {"second"}),
        ("helper_second.py", "LIMIT = 1", "LIMIT = 2", {"second"}, {"second"}),
        ("second.py", "return 1.0", "return 1.0  # A comment.", set(), set()),
    ],
)
def test_a_change_of_a_plug_in_counts_for_the_runs_that_reach_it(
    change_source, write_plugins, tmp_path, file, old, new, matched_again, measured_again
):
    # A module that defines a stage and a metric is reached as a whole.
    script = write_plugins()
    before = plugin_identities(script)
    change_source(tmp_path / file.replace("helper", f"helper_{tmp_path.name}"), old, new)
    after = plugin_identities(script)
    assert {name for name in before if before[name][0] != after[name][0]} == matched_again
    assert {name for name in before if before[name][1] != after[name][1]} == measured_again


def test_the_data_file_of_a_plug_in_counts_for_the_runs_that_reach_it(write_plugins, tmp_path):
    script = write_plugins()
    before = plugin_identities(script)
    (tmp_path / "second.npy").write_text("2")
    after = plugin_identities(script)
    assert {name for name in before if before[name][0] != after[name][0]} == {"second"}


@pytest.mark.usefixtures("registry")
def test_the_reader_of_a_plug_in_counts_for_the_scene_that_it_reads(change_source, tmp_path):
    from stereo_framework.io.registered_readers import registered_readers

    file = tmp_path / "reader_of_a_test.py"
    file.write_text(
        "import numpy as np\nfrom stereo_framework import reader\nSCALE = 1\n"
        '@reader(".scaled", kind="disparity")\ndef read(path):\n'
        "    return np.full((24, 32), 3 * SCALE, np.float32)\n"
    )
    load_plugin(str(file))
    assert len(registered_readers()) == 1
    (tmp_path / "tiny.scaled").write_text("")
    maps = load({"matcher": {"use": "maps", "path": str(tmp_path / "{scene}.scaled")}})
    before = [tasks_of_script(script, [dots()])[0].id for script in (maps, load(METHODS["window"]))]
    change_source(file, "SCALE = 1", "SCALE = 2")
    after = [tasks_of_script(script, [dots()])[0].id for script in (maps, load(METHODS["window"]))]
    assert [first != second for first, second in zip(before, after, strict=True)] == [True, False]


def test_a_plug_in_that_no_stage_of_a_script_needs_changes_no_identity(registry, tmp_path):
    before = identities()
    (tmp_path / "unused.py").write_text(METRIC_PLUGIN)
    load_plugin(str(tmp_path / "unused.py"))
    assert identities() == before


METRIC_PLUGIN = """
from stereo_framework import metric
@metric(unit="px", better="lower", source="a test")
def unused_metric(disparity, truth, mask):
    return 1.0
"""

SEARCH_PATH = """
import sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
{imports}
del sys.path[0]
"""
"""A plug-in that changes Python's search path while it imports its helpers."""


@pytest.mark.usefixtures("registry")
def test_equal_plug_ins_with_different_helpers_have_different_digests(tmp_path):
    digests = set()
    for value, name in enumerate("ab"):
        folder = tmp_path / name
        folder.mkdir()
        plugin_source = SEARCH_PATH.format(imports="import helper_of_equal_plug_ins")
        (folder / "plugin.py").write_text(plugin_source)
        (folder / "helper_of_equal_plug_ins.py").write_text(f"limit = {value}")
        plugin = load_plugin(str(folder / "plugin.py"))
        # The module of this name is in memory, whichever plug-in has imported it.
        digests.add(reached_sources.sources_of_file(Path(plugin)).digests)
    assert len(digests) == 2


@pytest.mark.usefixtures("registry")
def test_equal_helpers_with_different_names_have_different_digests(tmp_path):
    imports = (
        "try:\n    import first_helper_of_a_plug_in\n"
        "except ImportError:\n    import second_helper_of_a_plug_in"
    )
    digests = set()
    for name in ("first_helper_of_a_plug_in", "second_helper_of_a_plug_in"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "plugin.py").write_text(SEARCH_PATH.format(imports=imports))
        (folder / f"{name}.py").write_text("limit = 1")
        plugin = load_plugin(str(folder / "plugin.py"))
        # The second plug-in must not find the helper of the first one.
        del sys.modules[name]
        assert source_files(Path(plugin)) == [folder / "plugin.py", folder / f"{name}.py"]
        digests.add(reached_sources.sources_of_file(Path(plugin)).digests)
    assert len(digests) == 2


# --- code in memory -------------------------------------------------------------------

NOTEBOOK = """
import numpy as np
import stereo_framework
from stereo_framework import stage
from stereo_framework.script import load
from stereo_framework.sweep.tasks import tasks_of_script
NAMES = frozenset({"a", "b", "c", "d"})
TABLE = {"x": [1, (2, 3)], "y": {"p", "q"}}
class Helper:
    limit: int = 3
    def value(self):
        return 3 if "a" in {"a", "b", "e"} else NAMES
@stage("matcher", source="a test")
def typed(reference, match, search):
    return np.full(reference.shape[:2], Helper().value() + len(TABLE))
script = load({"methods": {"typed": {"matcher": "typed"}, "patches": {"matcher": "patch_match"}}})
scene = stereo_framework.load_scene("synthetic/planes")
print(*[task.id for task in tasks_of_script(script, [scene])])
"""


def test_the_identity_is_the_same_in_every_process():
    identities_of_processes = set()
    for seed in "12":
        done = subprocess.run(
            [sys.executable, "-c", NOTEBOOK],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        identities_of_processes.add(done.stdout)
    assert len(identities_of_processes) == 1


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("limit: int = 3", "limit: int = 4", True),
        ("len(TABLE)", "len(NAMES)", True),
        ("    def value", "    # A comment.\n    def value", False),
        ("    return np.full", '    """Return a map."""\n    return np.full', False),
    ],
)
def test_a_typed_stage_counts_with_the_source_that_was_typed(capsys, old, new, counts):
    outputs = []
    for source in (NOTEBOOK, NOTEBOOK.replace(old, new)):
        exec(source, {"__name__": "__main__"})
        outputs.append(capsys.readouterr().out.split())
    before, after = outputs
    assert (before[0] != after[0]) == counts
    assert before[1] == after[1]


# --- the map that stands in for ground truth ------------------------------------------


def test_the_map_that_stands_in_for_ground_truth_counts_for_metrics_without_truth(
    change_source,
):
    distances = {"base": "taxonomy2002", "metrics": "pseudo_truth_distance"}
    protocols = [resolve("taxonomy2002"), resolve(distances)]
    assert [protocol.without_truth for protocol in protocols] == [False, True]
    before = [CodeReader().evaluation_digest(protocol) for protocol in protocols]
    change_source("sweep/pseudo_truth.py")
    after = [CodeReader().evaluation_digest(protocol) for protocol in protocols]
    assert before[0] == after[0]
    assert before[1] != after[1]
