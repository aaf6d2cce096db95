"""Methods from outside in scripts: where their files lie, what maps stand instead of, what is checked before anything runs."""

import pytest
import yaml

from stereo_framework.core.errors import ScriptError
from stereo_framework.script import load

COMMAND = "matcher: {use: command, command_line: './match {left} {right} {output} {maximum}'}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder below the working one, with a program, a function and maps."""
    monkeypatch.chdir(tmp_path)
    found = tmp_path / "scripts"
    (found / "maps").mkdir(parents=True)
    (found / "match").write_text("#!/bin/sh\necho started > started\n")
    (found / "match").chmod(0o755)
    (found / "theirs.py").write_text("")
    return found


def _faults(source, **options):
    with pytest.raises(ScriptError) as caught:
        load(source, **options)
    return list(caught.value.faults)


def _bounds(script):
    return {run.method: run.pipeline.in_slot("matcher")[0].parameters for run in script.settings}


def test_paths_start_at_the_script_s_folder(folder):
    (folder / "a.yaml").write_text(
        f"methods:\n  program: {{{COMMAND}}}\n  function: {{matcher: {{use: python, function: 'theirs.py:go', files: [match]}}}}\n"
        "  flat: {maps: maps}\n  named: {maps: {path: 'maps/{scene}.png', disparity_scale: 4}}\n"
    )
    (folder.parent / "b.yaml").write_text("include: scripts/a.yaml\n")
    for source in ("scripts/a.yaml", "b.yaml"):
        script = load(source)
        found = _bounds(script)
        assert (
            found["program"]["command_line"]
            == f"{folder}/match {{left}} {{right}} {{output}} {{maximum}}"
        )
        assert found["function"]["function"] == f"{folder}/theirs.py:go"
        assert found["function"]["files"] == [f"{folder}/match"]
        assert found["flat"]["path"] == f"{folder}/maps"
        assert (found["named"]["path"], found["named"]["disparity_scale"]) == (
            f"{folder}/maps/{{scene}}.png",
            4.0,
        )
        # From anywhere the resolved script means the same.
        again = load(yaml.safe_load(yaml.safe_dump(script.resolved, sort_keys=False)))
        assert [run.parameters for run in again.settings] == [
            run.parameters for run in script.settings
        ]
    # Nothing was started.
    assert not list(folder.rglob("started"))


def test_paths_of_axes_and_overrides(folder):
    (folder / "other").mkdir()
    (folder / "a.yaml").write_text(
        f"{COMMAND}\nsweep: {{grid: {{matcher.command_line: ['./match {{output}}', 'cp match {{output}}']}}}}\n"
    )
    runs = [run.axes["matcher.command_line"] for run in load("scripts/a.yaml").settings]
    assert runs == [f"{folder}/match {{output}}", f"cp {folder}/match {{output}}"]
    [run] = load(
        "scripts/a.yaml", overrides=["matcher.command_line=scripts/match {output}"]
    ).settings
    assert run.parameters["matcher.command_line"] == f"{folder}/match {{output}}"


def test_maps_stand_instead_of_all_slots(folder):
    (folder / "a.yaml").write_text(
        "include: ssd\nrefinement: [median]\nconfidence: [left_right_consistency]\nscheme: pyramid\nauxiliary: {other: {include: sgm}}\n"
        "sweep: {grid: {refinement.median.size: [3, 5], aggregation.box.size: [3, 5]}}\n"
        "methods:\n  theirs: {maps: maps}\n  ours: {confidence: []}\n  both: {matcher: {use: maps, path: maps}, confidence: [], scheme: []}\n"
    )
    script = load("scripts/a.yaml")
    counts = {
        name: [run.method for run in script.settings].count(name)
        for name in ("theirs", "ours", "both")
    }
    assert counts == {"theirs": 1, "ours": 4, "both": 2}
    [theirs] = [run for run in script.settings if run.method == "theirs"]
    assert [address for address, _ in theirs.pipeline.stages()] == ["matcher"]
    again = load(script.resolved)
    assert [(run.method, run.parameters) for run in again.settings] == [
        (run.method, run.parameters) for run in script.settings
    ]
    # What is set for all is nothing to it.
    assert len(load("scripts/a.yaml", overrides=["refinement.median.size=7"]).settings) == 1 + 2 + 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "maps: maps\nrefinement: [median]\n",
            "a.yaml:1:1: maps: maps stand instead of refinement (scripts/a.yaml:2:1)",
        ),
        ("maps: none\n", "script: maps: no folder"),
        ("maps: 'none/{scene}.pfm'\n", "maps: no folder"),
        (
            "maps: 3\n",
            "a.yaml:1:7: maps: 3 is not a path; write a folder, PATH/{scene}.pfm, or {path: PATH, disparity_scale: 4}",
        ),
        (
            "maps: {path: maps, disparity_scal: 4}\n",
            "maps has no parameter 'disparity_scal'; allowed parameters: disparity_scale, path, unknown; did you mean 'disparity_scale'?",
        ),
        ("maps: {disparity_scale: 4}\n", "maps: is missing"),
        (
            "methods:\n  a: {matcher: {use: command}}\n",
            "a.yaml:2:16: methods.a.matcher: command.command_line: is missing",
        ),
        (
            "matcher: {use: command, command_line: './none {output}'}\n",
            "/scripts/none: no such program",
        ),
        (
            "matcher: {use: command, command_line: './theirs.py {output}'}\n",
            "/scripts/theirs.py: is not executable",
        ),
        (
            "matcher: {use: command, command_line: './match {output}', timeout: 0}\n",
            "matcher.timeout: 0 is not a number > 0",
        ),
        ("matcher: {use: onnx}\n", "onnx.model: is missing"),
        ("matcher: {use: onnx, model: net.onnx}\n", "/scripts/net.onnx"),
        ("matcher: {use: python, function: none.py:go}\n", "/scripts/none.py"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(folder, text, said):
    (folder / "a.yaml").write_text(text)
    [fault] = _faults("scripts/a.yaml")
    assert said.removeprefix("script: ") in fault
