"""Registration of stages, steps with parameters, and stages of plug-ins."""

import functools
import importlib
import pickle
import re
import sys

import pytest

import stereo_framework.engine.pipeline  # noqa: F401  registers the stages
from stereo_framework import StereoFrameworkError, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.parameters import Positive, PositiveInt
from stereo_framework.core.plugins import load_plugin
from stereo_framework.core.registration import find, stage, stages
from stereo_framework.core.stage import stage_of
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all

aggregation = functools.partial(stage, "aggregation", source="a test")


# --- registration ---------------------------------------------------------------------


def test_a_registered_function_has_a_stage_and_checks_its_data(registry):
    def double(volume, raw, *, factor: Positive = 2.0):
        """Double.

        More.
        """

    public = aggregation(halo=lambda: 0)(double)
    assert public.__wrapped__ is double
    new_stage = stage_of(public)
    assert new_stage.public is public
    assert new_stage.function is double
    assert stage_of(double) is new_stage
    assert find("aggregation", "double") is new_stage
    assert new_stage in stages()
    assert new_stage in stages("aggregation")
    assert new_stage not in stages("refinement")
    assert (new_stage.name, new_stage.slot, new_stage.source, new_stage.summary) == (
        "double",
        "aggregation",
        "a test",
        "Double.",
    )
    assert new_stage.data == ("volume", "raw")
    assert new_stage.parameters["factor"].annotation == Positive
    assert new_stage.parameters["factor"].default == 2.0


def _no_annotation(volume, *, size=3): ...
def _no_default(volume, *, size: int): ...
def _wrong_first(costs, *, size: int = 3): ...
def _nothing(): ...
def _too_few(reference, match): ...
def _parameter_before_star(volume, size, *, limit: int = 3): ...
def _from_later(volume, disparity): ...
def _status_too_early(volume, status): ...
def _partial_alone(volume, partial, *, steps: int = 3): ...
def _variable(volume, *others): ...
def _keywords(volume, **others): ...


@pytest.mark.parametrize(
    ("slot", "function", "message"),
    [
        (
            "agregation",
            _nothing,
            r"@stage('agregation'): no such slot; allowed slots: aggregation, .*; "
            "did you mean 'aggregation'?",
        ),
        (
            "aggregation",
            _no_annotation,
            "stage aggregation._no_annotation: parameter 'size' needs an annotation and a default",
        ),
        ("aggregation", _no_default, "parameter 'size' needs an annotation and a default"),
        (
            "aggregation",
            _wrong_first,
            "_wrong_first: takes (costs); stages of aggregation start with (volume)",
        ),
        ("aggregation", _nothing, "takes (); stages of aggregation start with (volume)"),
        (
            "matching_cost",
            _too_few,
            "takes (reference, match); stages of matching_cost start with (reference, match, search)",
        ),
        (
            "aggregation",
            _parameter_before_star,
            "stages of .* get no data 'size'; .*; parameters stand after '*'",
        ),
        (
            "aggregation",
            _from_later,
            "stages of .* get no data 'disparity'; "
            "allowed data: cost, frames, mask, match, partial, raw, reference, search;",
        ),
        ("aggregation", _status_too_early, "stages of aggregation get no data 'status'"),
        (
            "aggregation",
            _partial_alone,
            "can be continued names the data 'partial' and declares @stage(..., resume=PARAMETER)",
        ),
        ("aggregation", _variable, "*others is neither a data argument nor keyword-only"),
        ("aggregation", _keywords, "**others is neither a data argument nor keyword-only"),
    ],
)
def test_signatures_that_do_not_fit_the_slot_are_refused(registry, slot, function, message):
    pattern = re.escape(message).replace(r"\.\*", ".*")
    with pytest.raises(StereoFrameworkError, match=pattern):
        stage(slot, source="a test")(function)
    assert all(s.function is not function for s in stages())


def test_a_second_stage_of_a_name_is_refused_unless_its_code_is_the_same(registry):
    with pytest.raises(
        StereoFrameworkError,
        match=r"stage of aggregation 'box': already registered by stereo_framework.aggregation.box "
        r"\(.*box.py, built in\), so .*test_stage.py cannot register it; choose another name",
    ):

        @aggregation()
        def box(volume): ...

    def define():
        @aggregation()
        def again(volume): ...

        return again

    define()
    second = define()
    assert find("aggregation", "again").public is second


@pytest.mark.parametrize(
    ("slot", "name", "message"),
    [
        (
            "agregation",
            "box",
            r"agregation: no such slot; allowed slots: .*; did you mean 'aggregation'\?",
        ),
        ("aggregation", "bocks", r"aggregation: .*'bocks'.*did you mean 'box'\?"),
        ("aggregation", "Box", r"did you mean 'box'\?"),
        (
            "aggregation",
            "parabola",
            r"no stage 'parabola'; allowed stages: .*; 'parabola' is a stage of refinement",
        ),
    ],
)
def test_unknown_stages_are_refused(slot, name, message):
    with pytest.raises(ParameterError, match=message):
        find(slot, name)


@pytest.mark.parametrize(
    ("option", "function"),
    [
        ("halo", lambda sise: sise),
        ("files", lambda path: [path]),
        ("executes", lambda path: path),
        ("check_parameters", lambda sise: ""),
    ],
)
def test_functions_of_options_that_take_unknown_arguments_are_refused(option, function):
    def misspelled(volume, *, size: PositiveInt = 3):
        return volume

    message = rf"aggregation.misspelled: the function {option}= takes '(sise|path)', which is no"
    with pytest.raises(StereoFrameworkError, match=message):
        stage("aggregation", source="Author 2000", **{option: function})(misspelled)


@pytest.mark.parametrize(("value", "name"), [(len, "len"), (3, "3"), (None, "None"), ({}, "{}")])
def test_objects_that_are_no_stage_are_refused(value, name):
    for call in (stage_of, step):
        with pytest.raises(
            ParameterError,
            match=rf"{name}: not a stage; give step\(NAME, parameter=value\), "
            r"or register a function with @stage\(slot, source=...\)",
        ):
            call(value)


# --- steps ----------------------------------------------------------------------------


def test_steps_with_equal_stages_and_parameters_are_equal():
    assert step(box, size=9) == step(box)
    assert hash(step(box, size=9)) == hash(step(box))
    assert step(absolute_difference, truncation=20) == step(absolute_difference, truncation=20.0)
    assert step(box, size=7) != step(box)
    assert step(box, size=1, iterations=3) != step(box, size=3, iterations=1)
    assert step(winner_take_all) != step(box)
    assert step(box) != "box(size=9, iterations=1)"
    assert len({step(box), step(box, size=9), step(box, size=7)}) == 2


def test_a_step_can_be_pickled():
    bound = step(absolute_difference, truncation=20, birchfield_tomasi=True)
    copy = pickle.loads(pickle.dumps(bound))
    assert copy == bound
    assert copy.parameters == bound.parameters


# --- plug-ins -------------------------------------------------------------------------

PLUGIN = """
from stereo_framework.stages import stage

@stage("aggregation", source="a test")
def from_a_plugin(volume, *, strength: float = 1.0):
    return volume
"""


def test_a_plugin_file_is_loaded_once_for_all_spellings_of_its_path(
    registry, tmp_path, monkeypatch
):
    path = tmp_path / "sub" / "my stage.py"
    path.parent.mkdir()
    path.write_text(PLUGIN)
    assert load_plugin("sub/my stage.py", tmp_path) == str(path)
    function = find("aggregation", "from_a_plugin").function
    assert step(function).parameters == {"strength": 1.0}
    monkeypatch.chdir(path.parent)
    for spelling in (str(path), "my stage.py", "../sub/my stage.py"):
        assert load_plugin(spelling) == str(path)
        assert find("aggregation", "from_a_plugin").function is function


def test_a_plugin_may_be_a_module(registry, tmp_path, monkeypatch):
    (tmp_path / "plugin_of_a_test.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert load_plugin("plugin_of_a_test") == str(tmp_path / "plugin_of_a_test.py")
        assert find("aggregation", "from_a_plugin").function.__module__ == "plugin_of_a_test"
    finally:
        del sys.modules["plugin_of_a_test"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def broken(:",
            r"plugins: broken.py cannot be imported: SyntaxError: .*broken.py, line 1",
        ),
        (
            "def f():\n    1 / 0\nf()",
            r"plugins: broken.py cannot be imported: broken.py:2: ZeroDivisionError: division by zero",
        ),
        (
            "import no_such_module_anywhere",
            r"broken.py cannot be imported: broken.py:1: ModuleNotFoundError: No module named",
        ),
        (
            PLUGIN.replace("aggregation", "agregation"),
            r"broken.py:\d: @stage\('agregation'\): no such slot",
        ),
        (
            PLUGIN.replace("from_a_plugin", "box"),
            r"broken.py:\d: stage of aggregation 'box': already registered by",
        ),
    ],
)
def test_errors_of_broken_plugins_have_one_line_and_a_mended_file_is_loaded(
    registry, tmp_path, text, message
):
    (tmp_path / "broken.py").write_text(text)
    with pytest.raises(StereoFrameworkError, match=message) as error:
        load_plugin("broken.py", tmp_path)
    assert "\n" not in str(error.value)
    (tmp_path / "broken.py").write_text(PLUGIN + "# mended, and of another length\n")
    load_plugin("broken.py", tmp_path)
    assert find("aggregation", "from_a_plugin")


def test_two_plugins_cannot_have_stages_of_one_name(registry, tmp_path):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(PLUGIN)
    load_plugin("one.py", tmp_path)
    with pytest.raises(
        StereoFrameworkError,
        match=r"'from_a_plugin': already registered by \S+/one.py, and \S+/two.py registers "
        r"'from_a_plugin' too; rename one of the two",
    ):
        load_plugin("two.py", tmp_path)


def test_missing_plugins_are_refused(tmp_path, monkeypatch):
    with pytest.raises(
        ParameterError, match=rf"plugins: no file {re.escape(str(tmp_path / 'none.py'))}"
    ):
        load_plugin("none.py", tmp_path)
    with pytest.raises(
        ParameterError, match=r"plugins: no_such_module cannot be imported: ModuleNotFoundError"
    ):
        load_plugin("no_such_module")
    (tmp_path / "folder_of_a_test").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        ParameterError,
        match=r"plugins: folder_of_a_test has no source file, because it is a folder",
    ):
        load_plugin("folder_of_a_test")


def test_a_file_may_be_imported_and_loaded_as_a_plugin(tmp_path, monkeypatch):
    (tmp_path / "imported_and_loaded.py").write_text(
        "from stereo_framework.stages import stage\n"
        "@stage('refinement', source='Author 2000')\n"
        "def both_ways(disparity):\n"
        "    return disparity\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("imported_and_loaded")
    load_plugin("imported_and_loaded.py", tmp_path)
    assert step("both_ways") == step(module.both_ways)
    sys.modules.pop("imported_and_loaded")
