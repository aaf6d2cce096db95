"""What README and CONTRIBUTING show does what they say."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from stereo_framework import load_scene, run
from stereo_framework.cli import main
from stereo_framework.script import load

ROOT = Path(__file__).parents[1]


def _blocks(file, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / file).read_text(), re.MULTILINE | re.DOTALL)


def test_the_python_example_runs(capsys):
    [example] = _blocks("README.md", "python")
    exec(example, {})
    lines = capsys.readouterr().out.splitlines()
    assert 0 < float(lines[0]) < 30
    assert [line.split()[0] for line in lines[1:]] == ["synthetic/planes", "synthetic/slanted"]


def test_the_script_example_is_fine(tmp_path):
    [example] = _blocks("README.md", "yaml")
    path = tmp_path / "truncation.yaml"
    path.write_text(example)
    assert len(load(path).runs) == 9


def test_the_fault_that_is_shown_is_the_fault_that_is_told(tmp_path, monkeypatch, capsys):
    [example] = _blocks("README.md", "yaml")
    [shown] = _blocks("README.md", "text")
    (tmp_path / "truncation.yaml").write_text(example.replace("{use: box, size: 9}", "{use: box, sise: 9}"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["stereo-framework", "check", "truncation.yaml"])
    with pytest.raises(SystemExit, match="2"):
        main.main()
    assert shown.strip() in capsys.readouterr().err.splitlines()


def test_the_stage_of_contributing_works(tmp_path):
    example = next(block for block in _blocks("CONTRIBUTING.md", "python") if "left_right_check" in block)
    (tmp_path / "left_right_check.py").write_text(example)
    script = tmp_path / "checked.yaml"
    script.write_text(
        yaml.safe_dump({"include": "window", "plugins": ["left_right_check.py"], "refinement": ["left_right_check"]})
    )
    scene = load_scene("synthetic/planes")
    for one in (scene, scene.pair(scene.match_index, scene.reference_index)):
        [plain], [checked] = run("window", scenes=one), run(script, scenes=one)
        kept = np.isfinite(checked.disparity)
        np.testing.assert_array_equal(checked.disparity[kept], plain.disparity[kept])
        # Most wrong matches contradict the other map; most right ones agree with it.
        wrong = np.abs(plain.disparity - one.truth) > 1
        assert kept[~wrong].mean() > 0.9
        assert kept[wrong].mean() < 0.5
