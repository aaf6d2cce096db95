"""The pages of docs/methods: what they list is what there is and what they show runs; and what their stages give on real scenes."""

import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import site_pages
import yaml
from cli_parts import invoke

from stereo_framework import run
from stereo_framework.core.parameters import as_yaml
from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.script import load
from stereo_framework.tables.results import stored

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[1]
METHODS = ROOT / "docs" / "methods"
GOLDEN = ROOT / "tests" / "golden"
PAGES = sorted(path.stem for path in METHODS.glob("*.md") if path.stem != "README")
STAGES = {"sgm": "semi_global", "cost_filter": "guided_filter"}
"""What pages are about that bear the name of a method."""


def _own(slot=None):
    """Stages of the package, without plug-ins and those of tests."""
    return [s for s in stages(slot) if s.function.__module__.startswith("stereo_framework.")]


def test_the_index_lists_every_stage_in_its_slot():
    made = site_pages.appended("methods/README.md", ROOT / "docs")
    listed = {
        slot: re.findall(r"^- \[`(\w+)`", part, re.MULTILINE)
        for slot, part in re.findall(
            r"^### (\w+)$(.*?)(?=^### |\Z)", made, re.MULTILINE | re.DOTALL
        )
    }
    assert {slot: sorted(listed.get(slot, [])) for slot in SLOTS} == {
        slot: [s.name for s in _own(slot)] for slot in SLOTS
    }
    text = (METHODS / "README.md").read_text()
    assert {stem for stem in PAGES if f"]({stem}.md)" not in text} == set()


@pytest.mark.parametrize(
    "page",
    [
        page if page in ("sgm", "trw_s") else pytest.param(page, marks=pytest.mark.slow)
        for page in PAGES
    ],
)
def test_a_pages_script_and_commands_run(page, small_scenes, tmp_path, monkeypatch):
    script = ROOT / "docs" / "images" / "methods" / f"{page}.yaml"
    monkeypatch.chdir(tmp_path)
    settings = load(script).settings
    assert STAGES.get(page, page) in {
        bound.stage.name for r in settings for _, bound in r.pipeline.stages()
    }
    text = (METHODS / f"{page}.md").read_text()
    assert f"({os.path.relpath(script, METHODS)})" in text
    commands = re.findall(r"^stereo-framework (.*)$", text, re.MULTILINE)
    assert commands
    for command in [f"run {script} --out maps --maps", *commands]:
        result = invoke(*shlex.split(command))
        assert result.exit_code == 0, f"{command}: {result.output}"
    # A map for every setting.
    found = stored("maps")
    assert len(found) == len(settings)
    assert all(r.disparity is not None and np.isfinite(r.disparity).any() for r in found)


# --- figures ----------------------------------------------------------------------------------------------------------

SCENES = ["tsukuba", "venus", "teddy", "cones"]


def _setting(result):
    """What the first cell of a row says: the swept parameters, `false` left out, else the method."""
    axes = {
        name.rpartition(".")[2]: value for name, value in result.axes.items() if value is not False
    }
    words = {
        k: as_yaml(v) if isinstance(v, bool) else v if isinstance(v, str) else f"{v:g}"
        for k, v in axes.items()
    }
    return ", ".join(f"{name}: {value}" for name, value in words.items()) or result.method


def _figures(result, statistics):
    return " / ".join(
        ("-" if result.energy is None else f"{result.energy:.0f}")
        if name == "energy"
        else f"{result.statistics[name]:.3f}"
        for name in statistics.split(" / ")
    )


LONG = {"belief_propagation", "graph_cut_occlusion", "patch_match", "support_weights", "trw_s"}


@pytest.mark.parametrize(
    ("page", "scene"),
    [
        pytest.param(
            page, scene, marks=pytest.mark.slow if scene != "tsukuba" or page in LONG else ()
        )
        for page in PAGES
        for scene in SCENES
    ],
)
def test_a_stage_gives_its_golden_figures(page, scene, data):
    expected = yaml.safe_load((GOLDEN / "method_figures_expected.yaml").read_text())[page]
    printed = {
        setting: values[SCENES.index(scene)] for setting, values in expected["settings"].items()
    }
    script = yaml.safe_load((GOLDEN / "method_figures.yaml").read_text())
    methods = {
        name: method
        for name, method in script["methods"].items()
        if name == page or name in printed
    }
    measured = run({**script, "methods": methods}, scenes=scene, data=data)
    assert printed == {_setting(r): _figures(r, expected["statistics"]) for r in measured}
