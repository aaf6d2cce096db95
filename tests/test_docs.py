"""What README, CONTRIBUTING and docs show does what they say."""

import dataclasses
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
import yaml

import stereo_framework
from stereo_framework import load_scene, run
from stereo_framework.cli import main
from stereo_framework.cli.stages import slot_row
from stereo_framework.evaluation import hci
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.page.report_files import write_report
from stereo_framework.script import load
from stereo_framework.script.report import CHARTS, read_report
from stereo_framework.stage import SLOTS

ROOT = Path(__file__).parents[1]


def _blocks(file, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / file).read_text(), re.MULTILINE | re.DOTALL)


def test_the_python_examples_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for example in _blocks("README.md", "python"):
        exec(example, {})
    matched, *lines = capsys.readouterr().out.splitlines()
    assert matched.startswith("(240, 320) both views agree about ")
    assert (tmp_path / "results" / "found" / "picture.png").exists()
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


def test_the_slots_of_contributing_are_the_slots():
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    start = lines.index("| slot | its stages get | and may name | they return |") + 2
    assert lines[start : start + len(SLOTS) + 1] == [*(f"| {' | '.join(slot_row(slot))} |" for slot in SLOTS), ""]


def test_the_sum_and_the_alternative_of_the_readme_run(tmp_path):
    text = (ROOT / "README.md").read_text()
    [example] = [block for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE) if "alternatives:" in block]
    path = tmp_path / "example.yaml"
    path.write_text(textwrap.dedent(example))
    runs = load(path).runs
    assert len(runs) == 6
    assert runs[0].parameters["matching_cost.use"] == "absolute_difference + normalized_cross_correlation"
    assert runs[0].parameters["alternatives.robust.optimization.use"] == "graph_cut"


def test_the_stage_of_contributing_is_the_example_and_works(tmp_path):
    [example] = _blocks("CONTRIBUTING.md", "python")
    assert example == (ROOT / "examples/stages/refinement.py").read_text()
    (tmp_path / "my_refinement.py").write_text(example)
    script = tmp_path / "checked.yaml"
    refinement = [{"use": "keep_confirmed", "fill": False}]
    script.write_text(yaml.safe_dump({"include": "window", "plugins": ["my_refinement.py"], "refinement": refinement}))
    scene = load_scene("synthetic/planes")
    for one in (scene, scene.pair(scene.match_index, scene.reference_index)):
        [plain], [checked] = run("window", scenes=one), run(script, scenes=one)
        kept = np.isfinite(checked.disparity)
        np.testing.assert_array_equal(checked.disparity[kept], plain.disparity[kept])
        # Most wrong matches contradict the other map; most right ones agree with it.
        wrong = np.abs(plain.disparity - one.truth) > 1
        assert kept[~wrong].mean() > 0.9
        assert kept[wrong].mean() < 0.5


def test_contributing_tells_of_every_slot_and_file():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert [row[0].split()[0] for row in _rows(text, "slot")] == list(SLOTS)
    assert [re.findall(r"\w+", row[1].partition(":")[0].partition(";")[0]) for row in _rows(text, "slot")] == [
        list(slot.first[0]) for slot in SLOTS.values()
    ]
    named = {name for slot in SLOTS.values() for name in slot.data}
    assert not {name for name in named if f"`{name}`" not in text}
    for link in re.findall(r"\]\((examples/[^)]+)\)", text):
        assert (ROOT / link).exists()
    assert len(_rows(text, "you want")) == 9


def _rows(text, first):
    """The rows of the table whose header begins with a word, as lists of cells."""
    table = re.search(rf"^\| {first} \|.*\n\| ---.*\n((?:\|.*\n)+)", text, re.MULTILINE)[1]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


def test_the_tables_of_the_hci_page():
    text = (ROOT / "docs/hci.md").read_text()
    told = [(title, *re.fullmatch(r"(\w+), `(\w+)`", names).groups(), unit) for title, names, unit, _ in _rows(text, "metric")]
    assert told == [(m.title, m.symbol, m.name, m.unit) for m in HCI_METRICS.values()]
    # The one in the module is checked cell by cell.
    assert _rows(text, "fault") == _rows(hci.metrics.__doc__, "fault")
    assert {name.strip("`"): value for name, value, _ in _rows(text, "parameter")} == {
        f.name: str(f.default) for f in dataclasses.fields(hci.Parameters)
    }


def test_the_examples_of_the_hci_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    [example] = _blocks("docs/hci.md", "python")
    exec(example, {})
    assert float(capsys.readouterr().out) > 0
    assert {path.name for path in tmp_path.iterdir()} == {"subsets.png", "fattening.png"}
    [script] = _blocks("docs/hci.md", "yaml")
    Path("choice.yaml").write_text(script)
    [charts] = read_report(load("choice.yaml").report).charts
    written = write_report(run("choice.yaml"), load("choice.yaml").report, tmp_path)
    assert [path.name for path in written[::2]] == [f"planes_{kind}.svg" for kind in charts.kinds]
    assert charts.kinds == CHARTS


def test_pictures_of_the_docs_are_there():
    for file in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for place in re.findall(r"^!\[.+\]\((.+)\)$", file.read_text(), re.MULTILINE):
            assert (file.parent / place).is_file()


def test_the_citation_has_the_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == stereo_framework.__version__
