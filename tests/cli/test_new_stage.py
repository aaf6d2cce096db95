"""The example of each slot: as `stages --new` writes it, it keeps the contract and does what it says."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import test_contract as contract
import yaml
from cli_parts import invoke
from contract_world import world_of
from small_scenes import cut_scenes

from stereo_framework import Pipeline, load_scene, step
from stereo_framework.aggregation import box
from stereo_framework.cli.stages import KINDS, example
from stereo_framework.core.plugins import load_plugin
from stereo_framework.core.registration import find, stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.io import write_image
from stereo_framework.io.scene_maps import map_files
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import graph_cut, winner_take_all
from stereo_framework.refinement import median

EXAMPLES = Path(__file__).parents[2] / "examples" / "stages"
WINDOW = {
    "matching_cost": absolute_difference,
    "aggregation": [step(box, size=9)],
    "optimization": winner_take_all,
}


def call(*arguments):
    slot, name, *others = map(str, arguments)
    return invoke("stages", "--new", name, "--slot", slot, *others)


@pytest.fixture(params=SLOTS)
def written(request, tmp_path, monkeypatch, registry):
    """A slot's example under another name, loaded as a plug-in."""
    monkeypatch.chdir(tmp_path)
    result = call(request.param, "mine")
    assert result.exit_code == 0, result.output
    assert "mine.py: a stage of" in result.stdout
    load_plugin("mine.py", tmp_path)
    return find(request.param, "mine")


def test_examples_keep_the_contract(written):
    worlds = {kind: world_of(kind) for kind in ("grey uint8", "colour float32")}
    assert written.source == "TODO: paper, section"
    contract.test_tells_its_use_and_its_parameters(written)
    for kind in worlds:
        contract.test_keeps_shape_and_type_and_leaves_its_inputs_unchanged(written, kind, worlds)
        contract.test_threads_do_not_change_the_result(written, kind, worlds)
        if written.halo:
            contract.test_local_stages_give_the_same_on_row_slices(written, kind, worlds)
    if {"volume", "energy"} & set(written.data) and not written.integer:
        contract.test_takes_integer_costs_as_the_numbers_that_they_are(written, worlds)


def bad(method, scene):
    return (np.abs(method(scene).disparity - scene.truth) > 1).mean()


# Per slot: the method that the example joins or replaces a part of, and how many more bad pixels, in shares, it may have than without.
JOINED = {
    "preprocessing": ({}, 0.02),
    "matcher": (dict.fromkeys(WINDOW), 0.02),
    "matching_cost": ({}, 0.1),
    "aggregation": ({}, -0.03),
    "smoothness": ({"aggregation": (), "optimization": graph_cut}, -0.03),
    "optimization": ({"aggregation": ()}, -0.1),
    "confidence": ({}, 0.0),
    "refinement": ({}, 0.0),
    "scheme": ({}, 0.02),
}


def test_examples_do_what_they_say(written, monkeypatch):
    if written.slot == "smoothness":  # graph cuts take time, and a corner shows the same
        cut_scenes(monkeypatch, 120, 160)
    scene = load_scene("synthetic/planes")
    changes, most = JOINED[written.slot]
    base = {k: v for k, v in (WINDOW | changes).items() if v is not None}
    mine = Pipeline([*{**base, written.slot: step(written.function)}.values()])
    if written.slot == "aggregation":
        without = Pipeline([absolute_difference, winner_take_all])
    elif written.slot in ("smoothness", "optimization"):
        without = Pipeline([absolute_difference, winner_take_all, median])
    else:
        without = Pipeline([*WINDOW.values()])
    assert bad(mine, scene) <= bad(without, scene) + most
    if written.slot == "confidence":
        match = mine(scene)
        wrong = np.abs(match.disparity - scene.truth) > 1
        assert np.median(match.confidence["mine"][wrong]) < np.median(
            match.confidence["mine"][~wrong]
        )


def test_only_name_and_source_differ(tmp_path, monkeypatch, registry):
    monkeypatch.chdir(tmp_path)
    for slot in SLOTS:
        assert call(slot, "quite_another", "--out", f"{slot}.py").exit_code == 0
        text, original = Path(f"{slot}.py").read_text(), (EXAMPLES / f"{slot}.py").read_text()
        [function] = [
            node.name
            for node in ast.parse(original).body
            if isinstance(node, ast.FunctionDef) and node.decorator_list
        ]
        [source] = re.findall(r'source="([^"]*)"', original)
        assert (
            text.replace("quite_another", function).replace("TODO: paper, section", source)
            == original
        )
        assert "def quite_another(" in text
        assert function not in {
            s.name for s in stages() if s.function.__module__.startswith("stereo_framework.")
        }
        assert example(slot) == original


def test_nothing_is_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "error: aaa" in call("refinement", "mine", "--out", f"{'a' * 300}.py").stderr
    assert not list(tmp_path.iterdir())
    Path("mine.py").write_text("my work")
    assert (
        "error: mine.py: is there already; choose another name or --out FILE"
        in call("refinement", "mine").stderr
    )
    assert Path("mine.py").read_text() == "my work"


def test_check_warns_until_the_source_is_said(tmp_path, monkeypatch, registry):
    monkeypatch.chdir(tmp_path)
    call("aggregation", "mine")
    Path("my.yaml").write_text(
        "plugins: [mine.py]\nmatching_cost: census\naggregation: [mine]\noptimization: winner_take_all\n"
    )
    result = invoke("check", "my.yaml")
    assert result.exit_code == 0
    warning = "warning: aggregation.mine: has no source; say where the method is defined"
    assert result.stderr.splitlines() == [warning]
    assert result.stdout.splitlines() == [
        "my.yaml: no fault; 1 run on scenes named later",
        f"my.yaml: a run executes the plug-in {tmp_path / 'mine.py'}",
    ]
    # Who says nothing at all is told the same, and the stage works.
    text = (
        Path("mine.py")
        .read_text()
        .replace('source="TODO: paper, section", ', "")
        .replace("mine", "yours")
    )
    Path("yours.py").write_text(text)
    Path("my.yaml").write_text(Path("my.yaml").read_text().replace("mine", "yours"))
    assert "source=" not in text
    assert invoke("check", "my.yaml", "--try").stderr == warning.replace("mine", "yours") + "\n"
    assert "source: not said" in invoke("stages", "yours").stdout
    assert invoke("check", "sgm").stderr == ""


@pytest.mark.parametrize("kind", KINDS)
def test_examples_of_all_else_work(kind, tmp_path, monkeypatch, registry):
    monkeypatch.chdir(tmp_path)
    result = call(kind, "own_one")
    assert (result.exit_code, "mine" in Path("own_one.py").read_text()) == (0, False), result.output
    folder = tmp_path / "data/own_one/first"
    folder.mkdir(parents=True)
    scene = load_scene("synthetic/planes")
    for side, image in (("left", scene.reference), ("right", scene.match)):
        write_image(folder / f"{side}.png", image)
    script = tmp_path / "s.yaml"
    script.write_text("include: window\nplugins: [own_one.py]\n")
    metrics = "evaluation={protocol: {base: taxonomy2002, metrics: [own_one]}}"
    more = {
        "metric": ["--scene", "synthetic/planes", "--set", metrics],
        "protocol": ["--scene", "synthetic/planes", "--protocol", "own_one"],
        "data_set": ["--scene", "own_one", "--data", "data"],
    }.get(kind, ["--scene", "synthetic/planes"])
    ran = invoke("run", "s.yaml", "--out", "runs", *more)
    assert ran.exit_code == 0, ran.output
    shown = {"metric": "own_one_all", "protocol": "own_one", "data_set": "own_one/first"}.get(
        kind, "planes"
    )
    assert shown in ran.output
    if kind == "chart":
        page = invoke("report", "runs", "--plugin", "own_one.py")
        assert (page.exit_code, "own_one" in Path("runs/report.html").read_text()) == (0, True), (
            page.output
        )
    if kind == "reader":
        np.savetxt("map.own_one", np.full(scene.reference.shape[:2], 9, np.float32))
        measured = invoke(
            "evaluate", "map.own_one", "--scene", "synthetic/planes", "--plugin", "own_one.py"
        )
        assert (measured.exit_code, "bad_pixels" in measured.output) == (0, True), measured.output
        assert tmp_path / "map.own_one" in map_files(tmp_path)
    if kind == "paper":
        done = invoke("reproduce", "own_one/table1", "--plugin", "own_one.py", "--out", "paper")
        assert (done.exit_code, "0 of 1 do not hold, 1 hold" in done.stdout) == (0, True), (
            done.output
        )
        Path("other.py").write_text(
            Path("own_one.py").read_text().replace("8.25", "8.35").replace("own_one", "other")
        )
        moved = invoke("reproduce", "other", "--plugin", "other.py", "--out", "paper")
        assert (moved.exit_code, "1 of 2 judged lie outside" in moved.stdout) == (1, True), (
            moved.output
        )


@pytest.mark.parametrize("slot", ["matching_cost", "matcher", "aggregation"])
def test_examples_of_whole_steps_refuse_half_steps(slot, tmp_path, monkeypatch, registry):
    monkeypatch.chdir(tmp_path)
    call(slot, "mine")
    script = {
        "plugins": ["mine.py"],
        "scenes": ["synthetic/planes"],
        "search": {"step": 0.5},
        "matching_cost": "absolute_difference",
        "optimization": "winner_take_all",
    }
    if slot == "matcher":
        del script["matching_cost"], script["optimization"]
    script[slot] = "mine"
    Path("halves.yaml").write_text(yaml.safe_dump(script))
    result = invoke("run", "halves.yaml")
    assert result.exit_code == 1
    assert "whole steps" in result.stderr
