"""Mistakes in command lines: each is told in one line, with exit status 2, and nothing else is printed."""

import shlex
from pathlib import Path

import pytest
from cli_parts import error_lines, invoke

from stereo_framework import load_scene
from stereo_framework.io import write_disparity, write_image

MISTAKES = Path(__file__).with_name("mistakes.txt").read_text().splitlines()
"""A command, and what its line says."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    scene = load_scene("synthetic/planes")
    write_image(folder / "l.png", scene.reference)
    write_image(folder / "r.png", scene.match)
    write_disparity(folder / "t.pfm", scene.truth)
    write_disparity(folder / "small.pfm", scene.truth[:50])
    (folder / "folder").mkdir()
    for name, text in {
        "notes.txt": "x",
        "bad.yaml": "a: [\n",
        "table.csv": "method,a\none,1\ntwo,2\n",
        "holes.csv": "method,a,b\none,1,2\ntwo,2,\n",
        "sweep.yaml": "include: window\nsweep: {grid: {aggregation.box.size: [3, 5]}}\n",
    }.items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert (
            invoke(
                "run", "ssd", "--scene", "synthetic/planes", "--out", "res", "--no-maps"
            ).exit_code
            == 0
        )
    return folder


def test_lines_of_progress_do_not_depend_on_the_load(desk, monkeypatch):
    monkeypatch.chdir(desk)
    # On a busy machine, reading the files takes longer than the first line of progress.
    monkeypatch.setattr("stereo_framework.cli._progress.EVERY_SECONDS", 1e-4)
    result = invoke("match", "l.png", "r.png", "--ranges", "small.pfm", "small.pfm")
    assert [line.partition(": ")[0] for line in error_lines(result)] == ["error"]


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line(desk, monkeypatch, line):
    monkeypatch.chdir(desk)
    monkeypatch.delenv("STEREO_DATA", raising=False)
    before = sorted(Path().rglob("*"))
    command, _, said = line.partition(" | ")
    result = invoke(*shlex.split(command))
    [told] = error_lines(result)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told.startswith("error: ")
    assert said in told
    assert sorted(Path().rglob("*")) == before
