import pytest
from cli_parts import invoke

from stereo_framework import stage
from stereo_framework.core.errors import ScriptError
from stereo_framework.core.package_files import script_names
from stereo_framework.script import load
from stereo_framework.script.small_pair_run import run_on_small_pair


def test_failures_are_told_once_with_the_first_setting_that_has_them(registry):
    @stage("refinement", source="a test")
    def picky(disparity, *, level: int = 0):
        if level > 1:
            raise ValueError("too high")
        return disparity[1:] if level else disparity

    script = load(
        {
            "include": "window",
            "refinement": ["picky"],
            "sweep": {"grid": {"refinement.picky.level": [0, 1, 2, 3]}},
        }
    )
    first, second = run_on_small_pair(script)
    assert first.startswith("script, refinement.picky.level=1: ")
    assert first.endswith(
        "refinement stage picky returned disparity: float32 (47, 64); expected float32 (48, 64)"
    )
    assert second.startswith("script, refinement.picky.level=2: ")
    assert second.endswith("ValueError: too high (1 other settings too)")


def test_a_cost_that_ignores_the_direction_is_refused_where_both_views_are_matched(registry):
    @stage("matching_cost", source="a test")
    def one_sided(reference, match, search):
        from dataclasses import replace

        from stereo_framework.matching_cost import absolute_difference

        volume = absolute_difference(reference, match, replace(search, direction=1))
        return replace(volume, search=search)

    one_view = {"matching_cost": "one_sided", "optimization": "winner_take_all"}
    with pytest.raises(ScriptError, match=r"costs that do not obey search\.direction"):
        load({**one_view, "refinement": ["left_right_check"]})
    assert run_on_small_pair(load(one_view)) == []


@pytest.mark.compiled
@pytest.mark.parametrize("name", [name for name in script_names() if name.startswith("methods/")])
def test_shipped_methods_run(name):
    assert run_on_small_pair(load(name)) == []


def test_the_command_check(tmp_path):
    (tmp_path / "plug.py").write_text(
        "from stereo_framework import stage\n@stage('aggregation', source='a test')\ndef lost(volume):\n    return None\n"
    )
    (tmp_path / "s.yaml").write_text("{include: window, plugins: [plug.py], aggregation: [lost]}")
    script = str(tmp_path / "s.yaml")
    plain, tried = (invoke("check", script, *given) for given in ([], ["--try"]))
    assert (plain.exit_code, tried.exit_code) == (0, 2)
    assert (
        "aggregation stage lost returned None; expected CostVolume, of (48, 64) pixels"
        in tried.stderr
    )
    fine = invoke("check", "ssd", "--try")
    assert (
        fine.exit_code,
        "no fault; 1 run on scenes named later, tried on a small pair" in fine.output,
    ) == (0, True), fine.output
    assert invoke("check", script, "--try", "--no-plugins").exit_code == 2
