"""A file reaches the sources that it imports, and the data files that it names."""

from pathlib import Path

import numpy as np
import pytest

from stereo_framework.core import reached_sources
from stereo_framework.core.reached_sources import (
    sources_of_file,
    sources_of_loaded_code,
    sources_of_modules,
    versions_of_packages,
)

PLUGIN_FILES = {
    "plugin.py": """
import numpy as np
from pathlib import Path
from first_helper_of_a_test import value
HERE = Path(__file__).parent
TABLE = HERE / "table.yaml"
WEIGHTS = HERE / "weights" / "a.npy"
def numbered(size):
    return np.load(f"{HERE}/kernel_{size}.npy")
def shared():
    return (Path(__file__).parents[1] / "shared.csv").read_text()
""",
    "first_helper_of_a_test.py": "from second_helper_of_a_test import value\n",
    "second_helper_of_a_test.py": "value = 1\n",
    "table.yaml": "limit: 1  # pixels\n",
    "weights/a.npy": "1",
    "kernel_3.npy": "1",
    "kernel_5.npy": "1",
    "../shared.csv": "1",
    "unused_module.py": "value = 1\n",
    "unused_table.yaml": "limit: 1\n",
    "weights/unused.npy": "1",
}
"""Contents of the files of a plug-in, by their names."""

UNUSED_FILES = {"unused_module.py", "unused_table.yaml", "weights/unused.npy"}


@pytest.fixture
def digests_of_plugin(tmp_path):
    """Return a function that writes a plug-in and returns its digests."""

    def digests(changed_contents=()):
        folder = tmp_path / str(len(list(tmp_path.iterdir()))) / "plugin"
        for name, content in (PLUGIN_FILES | dict(changed_contents)).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
        return sources_of_file(folder / "plugin.py").digests

    return digests


@pytest.mark.parametrize("name", sorted(set(PLUGIN_FILES) - UNUSED_FILES))
def test_each_file_that_a_plugin_reaches_counts(digests_of_plugin, name):
    changed_content = "limit: 2\n" if name == "table.yaml" else f"{PLUGIN_FILES[name]}2\n"
    assert digests_of_plugin({name: changed_content}) != digests_of_plugin()


@pytest.mark.parametrize("name", sorted(UNUSED_FILES))
def test_a_file_that_a_plugin_does_not_reach_does_not_count(digests_of_plugin, name):
    assert digests_of_plugin({name: f"{PLUGIN_FILES[name]}2\n"}) == digests_of_plugin()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plugin.py", PLUGIN_FILES["plugin.py"] + "# A comment.\n"),
        ("second_helper_of_a_test.py", '"""A docstring."""\nvalue = 1\n'),
        ("table.yaml", "limit: 1  # grey levels\n"),
    ],
)
def test_comments_and_docstrings_do_not_count(digests_of_plugin, name, content):
    assert digests_of_plugin({name: content}) == digests_of_plugin()


def test_a_further_file_of_a_pattern_counts(digests_of_plugin):
    assert digests_of_plugin({"kernel_7.npy": "1"}) != digests_of_plugin()


# --- modules of this package --------------------------------------------------------


def modules_of_source(tmp_path, source):
    """Return the modules of this package that the source of a plug-in reaches."""
    file = tmp_path / "plugin.py"
    file.write_text(source)
    reached_sources.content_when_loaded.cache_clear()
    return {
        name.removeprefix("stereo_framework.") for name in sources_of_file(file.resolve()).modules
    }


@pytest.mark.parametrize(
    "source",
    [
        "import stereo_framework as sf\nsf.matching_cost.census(a, b, c)",
        "from stereo_framework import matching_cost\nmatching_cost.census(a, b, c)",
        "from stereo_framework.matching_cost import census",
        "from stereo_framework.matching_cost.census import census",
        "def f():\n    import stereo_framework.matching_cost.census",
        "import importlib\nimportlib.import_module('stereo_framework.matching_cost.census')",
    ],
)
def test_each_form_of_import_reaches_the_module_and_not_its_siblings(tmp_path, source):
    modules = modules_of_source(tmp_path, source)
    assert {"matching_cost.census", "matching_cost._bit_strings", "kernels.bits"} <= modules
    assert not {"matching_cost.rank", "aggregation.box", "cli.main", "sweep.store"} & modules


def test_a_package_that_is_used_as_a_whole_reaches_all_its_modules(tmp_path):
    source = "from stereo_framework import matching_cost\ngetattr(matching_cost, name)"
    assert {"matching_cost.census", "matching_cost.rank"} <= modules_of_source(tmp_path, source)


def test_a_lazily_exported_name_reaches_the_module_that_defines_it(tmp_path):
    modules = modules_of_source(tmp_path, "from stereo_framework import stage, SearchRange")
    assert {"core.registration", "core.search"} <= modules
    assert not {"sweep.script_run", "figures.chart", "tables.ranking"} & modules


def test_no_stage_reaches_the_commands_or_the_pages():
    package = Path(reached_sources.__file__).parents[1]
    stages = [
        f"stereo_framework.{folder}.{file.stem}"
        for folder in ("matching_cost", "aggregation", "optimization", "refinement", "scheme")
        for file in (package / folder).glob("*.py")
    ]
    modules = sources_of_modules([*stages, "stereo_framework.evaluation.evaluate"]).modules
    folders = {module.split(".")[1] for module in modules}
    assert not folders & {"cli", "page", "papers", "figures", "tables", "sweep", "script"}


def test_a_stage_reaches_the_table_that_it_reads():
    names = {
        name for name, _ in sources_of_modules(["stereo_framework.confidence.learned"]).digests
    }
    assert "learned.yaml" in names


# --- installed packages -------------------------------------------------------------


def test_the_numerical_packages_that_a_module_imports_count():
    weighted_median = sources_of_modules(["stereo_framework.refinement.weighted_median"])
    regions = sources_of_modules(["stereo_framework.evaluation.evaluate"])
    assert "scipy" not in weighted_median.packages
    assert {"numpy", "numba", "scipy"} <= regions.packages


def test_every_package_that_a_plugin_imports_counts(tmp_path):
    file = tmp_path / "plugin.py"
    file.write_text("import scipy.ndimage, rich, json\n")
    assert {"scipy", "rich"} <= sources_of_file(file).packages
    assert "json" not in sources_of_file(file).packages


def test_versions_are_those_of_the_installed_packages():
    assert f"numpy {np.__version__}" in versions_of_packages(["cv2", "numpy"])
    assert any(text.startswith("opencv-") for text in versions_of_packages(["cv2", "numpy"]))


# --- code in memory -----------------------------------------------------------------


def typed_function(source):
    """Return the function `cost` that a notebook with this source defines."""
    names = {"__name__": "__main__"}
    exec(source, names)
    return names["cost"]


TYPED = """
import numpy as np
import stereo_framework as sf
LIMIT = 3
def helper(image):
    return image + LIMIT
def cost(image):
    return sf.matching_cost.census(helper(image))
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("+ LIMIT", "- LIMIT"),
        ("matching_cost.census", "matching_cost.rank"),
    ],
)
def test_a_change_of_a_typed_function_or_its_helpers_counts(old, new):
    before, after = (
        sources_of_loaded_code([typed_function(source)])
        for source in (TYPED, TYPED.replace(old, new))
    )
    assert before.digests != after.digests


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return image", "    # A comment.\n    return image"),
        ("    return sf", '    """Return the cost."""\n    return sf'),
        ("LIMIT = 3", "LIMIT = 3\nUNUSED = 1"),
    ],
)
def test_comments_and_unused_code_of_a_notebook_do_not_count(old, new):
    before, after = (
        sources_of_loaded_code([typed_function(source)])
        for source in (TYPED, TYPED.replace(old, new))
    )
    assert before == after


def test_a_typed_function_reaches_the_modules_of_the_package_that_it_calls():
    modules = sources_of_loaded_code([typed_function(TYPED)]).modules
    assert "stereo_framework.matching_cost.census" in modules
    assert "stereo_framework.matching_cost.rank" not in modules


@pytest.mark.parametrize("kind", [bool, int, float, complex, str, np.float32, np.dtype])
def test_equal_values_count_the_same_as_one_object_and_as_two(kind):
    argument = "float32" if kind is np.dtype else "12345"
    values = [kind(argument), kind(argument)]
    same_object = [values[0], values[0]]
    assert sources_of_loaded_code(values) == sources_of_loaded_code(same_object)


def test_an_attribute_with_the_name_of_a_module_does_not_reach_the_module():
    source = "from scipy import ndimage\ndef cost(image):\n    {use}"
    assigned = sources_of_loaded_code([typed_function(source.format(use="image.ndimage = 1"))])
    called = sources_of_loaded_code([typed_function(source.format(use="ndimage.zoom(image)"))])
    assert "scipy" not in assigned.packages
    assert "scipy" in called.packages
