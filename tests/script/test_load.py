"""Scripts as Python sees them: runs, parameters, seeds, plug-ins, and scripts written out again."""

import numpy as np
import pytest
import yaml

from stereo_framework import step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import ScriptError
from stereo_framework.core.parameters import NonNegativeInt, Positive
from stereo_framework.core.registration import stage
from stereo_framework.core.volume import Labeling
from stereo_framework.evaluation import protocols
from stereo_framework.script import load
from stereo_framework.script.load import inspect_script

WINDOW = {
    "matching_cost": "absolute_difference",
    "aggregation": [{"use": "box", "size": 9}],
    "optimization": "winner_take_all",
}

BOX = {name: parameter.default for name, parameter in step(box).stage.parameters.items()} | {
    "size": 9
}
"""All parameters of the box of WINDOW, also those that the stage may get later."""


@pytest.fixture
def random_stages(registry):
    """An optimizer and a refinement that draw random numbers."""

    @stage("optimization", source="a test")
    def guess(volume, *, heat: Positive = 1.0, seed: NonNegativeInt = 0) -> Labeling:
        """Guess."""

    @stage("refinement", source="a test")
    def jitter(disparity, *, seed: NonNegativeInt = 0, on: bool = True):
        """Jitter."""
        return disparity


def _again(mapping):
    """A mapping after a trip through a YAML file."""
    return yaml.safe_load(yaml.safe_dump(mapping, sort_keys=False))


def _typed(values):
    return {name: (type(value), value) for name, value in values.items()}


def test_all_parameters_stand_under_dotted_names():
    [run] = load(
        {**WINDOW, "search": {"step": 0.5}, "refinement": {"use": "parabola", "max_offset": 1}}
    ).settings
    assert _typed(run.parameters) == _typed(
        {
            "search.step": 0.5,
            "matching_cost.use": "absolute_difference",
            "matching_cost.truncation": None,
            "matching_cost.birchfield_tomasi": False,
            "matching_cost.interpolation": "cubic",
            "aggregation.use": "box",
            **{f"aggregation.box.{name}": value for name, value in BOX.items()},
            "optimization.use": "winner_take_all",
            "refinement.use": "parabola",
            "refinement.parabola.max_offset": 1.0,
        }
    )


@pytest.mark.parametrize(
    "aggregation", ["box", ["box"], ("box",), {"use": "box"}, [{"use": "box", "size": 9}]]
)
def test_short_forms(aggregation):
    assert load({**WINDOW, "aggregation": aggregation}).pipeline.in_slot("aggregation") == (
        step(box),
    )


def test_numbers_of_numpy_are_numbers():
    [run] = load(
        {**WINDOW, "aggregation": [{"use": "box", "size": np.int64(5)}], "seed": np.int32(3)}
    ).settings
    assert (run.parameters["aggregation.box.size"], run.seed) == (5, 3)
    assert _again(run.mapping)["seed"] == 3


@pytest.mark.parametrize(
    ("word", "value"), [("no", False), ("off", False), ("yes", True), ("On", True)]
)
def test_an_unquoted_no_is_false_only_where_true_or_false_is_expected(tmp_path, word, value):
    script = "methods: {no: {include: window, matching_cost: {use: absolute_difference, birchfield_tomasi: %s}}}\nscenes: [no, on]\n"
    (tmp_path / "mine.yaml").write_text(script % word)
    loaded = load(tmp_path / "mine.yaml")
    assert loaded.settings[0].parameters["matching_cost.birchfield_tomasi"] is value
    assert (loaded.settings[0].method, loaded.scenes) == ("no", ("no", "on"))
    for quoted in (f"'{word}'", "'true'", "1"):
        (tmp_path / "mine.yaml").write_text(script % quoted)
        with pytest.raises(
            ScriptError, match=r"birchfield_tomasi: ('\w+'|1) is not true or false or symmetric$"
        ):
            load(tmp_path / "mine.yaml")


def test_numbers_may_be_names(tmp_path):
    (tmp_path / "mine.yaml").write_text("include: window\nname: 2002\nscenes: [1e-3, 07]\n")
    assert load(tmp_path / "mine.yaml").name == "2002"
    assert load(tmp_path / "mine.yaml").scenes == ("1e-3", "07")


def test_names_of_methods(tmp_path):
    path = tmp_path / "stem.yaml"
    path.write_text("include: window\n")
    assert load(path).settings[0].method == "stem"
    assert load(path).path == path
    path.write_text("include: window\nname: own\n")
    assert load(path).settings[0].method == "own"
    path.write_text("include: window\nname: own\nmethods: {a: {}, b: }\n")
    assert (load(path).name, [run.method for run in load(path).settings]) == ("own", ["a", "b"])
    assert (load(WINDOW).name, load(WINDOW).path) == ("script", None)


def test_protocols():
    derived = {"base": "taxonomy2002", "threshold": 0.5}
    script = load({**WINDOW, "evaluation": {"protocol": ["taxonomy2002", derived]}})
    assert script.protocols == (protocols.resolve("taxonomy2002"), protocols.resolve(derived))
    assert load({**WINDOW, "evaluation": {"protocol": derived}}).protocols == (
        protocols.resolve(derived),
    )


def test_the_seed_fills_stages_that_have_none(random_stages):
    script = {
        **WINDOW,
        "optimization": "guess",
        "refinement": [{"use": "jitter", "seed": 7}],
        "seed": 3,
    }
    [run] = load(script).settings
    wanted = {"optimization.seed": 3, "refinement.jitter.seed": 7, "seed": 3}
    assert {name: run.parameters[name] for name in wanted} == wanted
    assert load(script | {"seed": None}).settings[0].parameters["optimization.seed"] == 0
    # A seed that no stage takes is no parameter: it changes nothing.
    assert "seed" not in load({**WINDOW, "seed": 3}).settings[0].parameters
    fixed = {"use": "guess", "seed": 1}
    assert "seed" not in load({**script, "optimization": fixed}).settings[0].parameters


def test_a_given_seed_is_told_from_that_of_the_script(random_stages):
    optimizers = ["guess", {"use": "guess", "seed": 5}, {"use": "guess", "seed": 6}]
    filled, given, other = load(
        {**WINDOW, "seed": 5, "sweep": {"grid": {"optimization": optimizers}}}
    ).settings
    # Who says what the script says makes the same run.
    assert (filled.pipeline, filled.parameters, filled.mapping) == (
        given.pipeline,
        given.parameters,
        given.mapping,
    )
    assert ("seed" in filled.parameters, "seed" in other.parameters) == (True, False)
    assert ("seed" in filled.mapping["optimization"], "seed" in other.mapping["optimization"]) == (
        False,
        True,
    )


# Matchers, schemes and lists of costs are put together at random in test_any_script.py.


def test_the_resolved_script_has_its_defaults_filled_in():
    assert load({**WINDOW, "scenes": "venus"}).resolved == {
        "name": "script",
        "scenes": ["venus"],
        "seed": 0,
        "matching_cost": {
            "use": "absolute_difference",
            "truncation": None,
            "birchfield_tomasi": False,
            "interpolation": "cubic",
        },
        "aggregation": [{"use": "box", **BOX}],
        "optimization": {"use": "winner_take_all"},
    }


PLUGIN = '''
from stereo_framework.stages import PositiveInt, stage

@stage("aggregation", source="a test")
def {name}(volume, *, size: PositiveInt = 3):
    """Nothing."""
    return volume
'''


def test_plugins_are_found_from_the_file_that_names_them(registry, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/mine.py").write_text(PLUGIN.format(name="plugged_in"))
    (tmp_path / "sub/base.yaml").write_text(
        "plugins: mine.py\ninclude: window\naggregation: [{use: plugged_in, size: 4}]\n"
    )
    (tmp_path / "top.yaml").write_text("include: sub/base.yaml\n")
    script = load(tmp_path / "top.yaml")
    assert script.plugins == (str(tmp_path / "sub/mine.py"),)
    assert script.settings[0].parameters["aggregation.plugged_in.size"] == 4
    for mapping in (script.settings[0].mapping, script.resolved):
        assert mapping["plugins"] == [str(tmp_path / "sub/mine.py")]
        assert load(_again(mapping)).settings[0].parameters == script.settings[0].parameters


def test_faulty_plugins(registry, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "mine.yaml").write_text(
        "include: window\nplugins: [nowhere.py, broken.py, no_such_module]\nrefinement: [theirs]\n"
    )
    with pytest.raises(ScriptError) as caught:
        load(tmp_path / "mine.yaml")
    nowhere, broken, module = caught.value.faults
    assert ":2:11: plugins[0]: no file " in nowhere
    assert (
        ":2:23: plugins[1]: broken.py cannot be imported: broken.py:1: ZeroDivisionError" in broken
    )
    assert ":2:34: plugins[2]: no_such_module cannot be imported" in module


def test_what_plugins_that_are_not_loaded_may_bring_is_passed_over(write):
    write(
        mine="plugins: none.py\nmatching_cost: census\noptimization: theirs\nrefinement: [{use: strange, a: 1}, medan]\nsed: 3\n"
    )
    with pytest.raises(ScriptError, match=r"^mine\.yaml:5:1: there is no key 'sed'") as caught:
        inspect_script("mine.yaml")
    assert len(caught.value.faults) == 1
    write(mine="plugins: none.py\nmatching_cost: census\noptimization: theirs\n")
    inspection = inspect_script("mine.yaml")
    assert (inspection.plugins, inspection.unknown_stages) == (
        ("none.py",),
        ("optimization theirs",),
    )
