"""What a shell gets when TAB is pressed, as bash asks for it."""

import json
import os
import subprocess
import sys

import pytest

from stereo_framework.cli._completion import stages_of
from stereo_framework.core import stage
from stereo_framework.engine import pipeline  # noqa: F401  registers the stages

PROGRAM = """
import json, os, sys
from stereo_framework.cli.main import main
for words in json.loads(sys.argv[1]):
    os.environ |= {"COMP_WORDS": " ".join(["stereo-framework", *words]), "COMP_CWORD": str(len(words))}
    print(">", *words)
    try: main()
    except SystemExit: pass
heavy = {"numba", "scipy", "cv2", "matplotlib", "rich"} & set(sys.modules)
assert not heavy, heavy
"""
ASKED = {
    "r": {"run", "results", "rank", "report", "reproduce"},
    "run --sc": {"--scene"},
    "run sg": {"sgm", "sgbm"},
    "match a.png b.png --method fas": {"fast"},
    "run ssd --set aggregation.box.": {"aggregation.box.size=", "aggregation.box.iterations="},
    "run ssd --set matching_cost.trun": {"matching_cost.truncation="},
    "check ssd --set matching_cost.census.w": {"matching_cost.census.width="},
    "tune ssd --set search.m": {"search.minimum=", "search.maximum="},
    "stages bo": {"box", "border_fill"},
    "stages --slot sm": {"smoothness"},
    "run ssd --scene synthetic/s": {"synthetic/slanted", "synthetic/stripes", "synthetic/slits"},
    "run ssd --scene slan": {"slanted"},
}


@pytest.fixture(scope="module")
def offered():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([words.split() for words in ASKED])],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"_STEREO_FRAMEWORK_COMPLETE": "complete_bash", "STEREO_DATA": ""},
    )
    assert done.returncode == 0, done.stderr
    blocks = [block.splitlines() for block in done.stdout.split("> ")[1:]]
    return {first: set(found) for first, *found in blocks}


@pytest.mark.parametrize("words", ASKED)
def test_what_is_offered(offered, words):
    assert offered[words] == ASKED[words]


def test_the_stages_that_are_read_are_those_that_there_are():
    for slot in stage.SLOTS:
        built_in = {
            s.name: list(s.parameters) for s in stage.stages(slot) if s.function.__module__.startswith("stereo_framework.")
        }
        assert stages_of(slot) == built_in


def test_the_shells_own_script(monkeypatch):
    shown = subprocess.run(
        [sys.executable, "-m", "stereo_framework", "--show-completion", "bash"], capture_output=True, text=True, check=True
    )
    assert "complete -o default -F _stereo_framework_completion stereo-framework" in shown.stdout
