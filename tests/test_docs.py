"""What README, CONTRIBUTING and docs show does what they say."""

import importlib.metadata
import itertools
import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import typer
import yaml
from cli_parts import invoke
from method_choice_study import DEFAULTS

import stereo_framework
from stereo_framework import load_scene
from stereo_framework.cli import main
from stereo_framework.cli.stages import slot_row
from stereo_framework.core.stage import SLOTS
from stereo_framework.io import read_image, write_disparity, write_image
from stereo_framework.script import load, schema
from stereo_framework.tables.values import word

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# The blocks of the methods' own pages run in test_method_pages.py, those of external methods, with the files that they name, in test_external_methods_page.py.
FOLLOWED = [
    page
    for page in PAGES
    if page.parent.name != "methods"
    and page.stem != "external_methods"
    and "```" in page.read_text()
]

NOT_HERE = {
    r"^match --example": "README's first command, which .ci/run runs",
    r"^scenes --fetch \w": "downloads",
    r"^reproduce \w+( --quick| --plugin benchmarks/photographs.py)?$": "takes minutes to an hour",
    r"--dask": "needs a cluster",
    r"--time \d": "takes as long as it says",
    r"--rectify auto": "there are no points in 96x48 pixels; test_rectify_by_points.py has photographs",
    r"--scene mine": "a scene of the reader's own",
    r"^results results/first": "reads what README's second command writes, which .ci/run runs",
    r"--executor process": "test_executors.py does; the small scenes of this file are not seen there",
}
"""Commands that are parsed and not run, with the reason."""
REAL = re.compile(r"--scene (?!synthetic/|\./)\S|submission/|^reproduce ")
"""Commands on real scenes."""


def _blocks(file, language=r"\w*"):
    return re.findall(
        rf"^```{language}\n(.*?)^```", (ROOT / file).read_text(), re.MULTILINE | re.DOTALL
    )


@pytest.fixture
def desk(small_scenes, tmp_path, monkeypatch):
    """A folder with the files that readers are told to have."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    scene = load_scene("synthetic/planes")
    for place in (".", "left", "right"):
        Path(place).mkdir(exist_ok=True)
    for side, image in (("left", scene.reference), ("right", scene.match)):
        write_image(f"{side}.png", image)
        write_image(f"{side}/a.png", image)
    write_image("truth.png", np.clip(scene.truth * 4, 0, 255).round().astype(np.uint8))
    write_image("mask.png", np.full((48, 96), 255, np.uint8))
    write_disparity("mine.pfm", scene.truth)
    Path("calib.txt").write_text(
        "cam0=[100 0 48; 0 100 24; 0 0 1]\ncam1=[100 0 48; 0 100 24; 0 0 1]\ndoffs=0\nbaseline=10\nwidth=96\nheight=48\nndisp=32\n"
    )
    camera, straight = [100, 0, 48, 0, 100, 24, 0, 0, 1], [1, 0, 0, 0, 1, 0, 0, 0, 1]
    for file, matrices in (
        (
            "intrinsics.yml",
            {
                "M1": (3, 3, camera),
                "D1": (1, 5, [0] * 5),
                "M2": (3, 3, camera),
                "D2": (1, 5, [0] * 5),
            },
        ),
        ("extrinsics.yml", {"R": (3, 3, straight), "T": (3, 1, [-10, 0, 0])}),
    ):
        stored = {
            name: {"rows": rows, "cols": columns, "data": data}
            for name, (rows, columns, data) in matrices.items()
        }
        Path(file).write_text(json.dumps(stored))
    for side in ("left", "right"):
        write_image(f"{side}.tif", read_image(f"{side}.png"))
    Path("theirs.yaml").write_text("{include: window, scenes: [synthetic/planes]}")
    shutil.copy(ROOT / "examples/stages/matching_cost.py", "../other.py")


def _follow(told, real):
    """Do what a page says from top to bottom: write its scripts, run its commands and its Python."""
    names = {}
    for language, block in re.findall(
        r"^```(\w+)\n(.*?)^```", told.read_text(), re.MULTILINE | re.DOTALL
    ):
        if language == "yaml" and not (named := re.match(r"# (\w+\.yaml)\n", block)):
            jsonschema.validate(yaml.safe_load(block), schema())
        elif language == "yaml":
            name = named[1]
            Path(name).write_text(block)
            # A scene is no script, and a continuous axis is for `tune` alone, which the page runs.
            assert name == "scene.yaml" or "between:" in block or load(name).settings
        elif language == "python" and told.name != "CONTRIBUTING.md" and not real:
            exec(block, names)
        elif language in {"sh", "bash"}:
            commands = [shlex.split(line, comments=True) for line in block.splitlines()]
            # What follows a command on real scenes may need its results.
            real_from = next(
                (i for i, words in enumerate(commands) if REAL.search(" ".join(words[1:]))),
                len(commands),
            )
            for i, words in enumerate(commands):
                if words[:1] == ["stereo-framework"]:
                    ours = itertools.takewhile(lambda word: word not in ("|", ">"), words[1:])
                    _command(list(ours), run_it=real or i < real_from)
                elif words:
                    _other(words)


def _command(arguments, run_it):
    """Parse a command of our program, and run it if it can be run here."""
    text = " ".join(arguments)
    if arguments[0] in (commands := typer.main.get_command(main.app).commands):
        commands[arguments[0]].make_context(arguments[0], arguments[1:])
    if not run_it or any(re.search(pattern, text) for pattern in NOT_HERE):
        return
    _supply(arguments)
    result = invoke(*arguments)
    assert result.exit_code == 0, f"{text}: {result.output}"


def _other(words):
    text = " ".join(words)
    if extras := re.findall(r"pip install (?:-e )?\.\[(.*?)\]", text):
        known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
            "optional-dependencies"
        ]
        assert set(extras[0].split(",")) <= known.keys()
    elif found := re.match(r"(?:python )?((?:scripts/|benchmarks/|\.ci/)\S+)", text):
        assert (ROOT / found[1]).is_file()
    else:
        assert re.match(
            r"(\.venv/bin/|python3 -m venv |pip install \.|export STEREO_DATA=)", text
        ), text


def _supply(arguments):
    """The maps that a command measures: the truth of its scenes."""
    if arguments[0] not in {"evaluate", "compare"}:
        return
    if "--truth" in arguments:
        _supply_encodings()
        return
    scenes = [arguments[i + 1] for i, word in enumerate(arguments) if word == "--scene"]
    for file in map(Path, arguments[1:]):
        if file.name == "submission":
            file.mkdir()
            for name in ("tsukuba", "venus", "teddy", "cones"):
                write_disparity(file / f"{name}.pfm", load_scene(f"middlebury-v2/{name}").truth)
        elif file.suffix == ".pfm":
            write_disparity(file, load_scene(scenes[0]).truth)
        elif file.suffix == ".png":
            write_image(file, np.nan_to_num(load_scene(scenes[0]).truth * 16).astype(np.uint8))


def _supply_encodings():
    """Write the maps and truths of the page about measuring in its encodings."""
    truth = load_scene("synthetic/planes").truth
    np.save("sgbm.npy", np.rint(16 * np.nan_to_num(truth, nan=-1)).astype(np.int16))
    write_disparity("pandora.tif", -np.nan_to_num(truth, nan=9999))
    write_disparity("cones.tif", np.nan_to_num(truth))
    write_disparity("truth.pfm", truth)
    for name, scale in (("mine.png", 64), ("kitti.png", 256)):
        write_image(name, np.rint(scale * np.nan_to_num(truth)).astype(np.uint16))


# The images are smaller than those that the pages speak of, and the ranges wide for them.
@pytest.mark.filterwarnings("ignore::stereo_framework.core.errors.DataWarning")
@pytest.mark.parametrize("told", FOLLOWED, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_a_page_says_works(told, desk, monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    _follow(told, real=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "told",
    [p for p in FOLLOWED if any(REAL.search(b) for b in _blocks(p))],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_what_a_page_says_of_real_scenes_works(told, desk, data):
    _follow(told, real=True)


@pytest.mark.parametrize("folder", ["configs", "docs/methods"])
def test_the_settings_that_scripts_and_pages_of_methods_propose_are_allowed(folder):
    """Their commands are run elsewhere, slowly or not at all."""
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".yaml", ".md")]
    commands = [
        line.split()
        for path in files
        for line in re.findall(r"stereo-framework run (.+)", path.read_text())
    ]
    found = [
        (words[0], [words[i + 1] for i, word in enumerate(words) if word == "--set"])
        for words in commands
    ]
    assert found
    for script, overrides in found:
        assert load(script, overrides=overrides).settings


def test_what_programs_of_the_repository_run_is_allowed():
    scripts = [
        path
        for folder in ("scripts", "docs/images")
        for path in (ROOT / folder).rglob("*.yaml")
        if path.name != "parameter_symbols.yaml"  # a table, not a script
    ]
    assert scripts
    assert [path for path in scripts if not load(path).settings] == []
    # The study names settings as tables do.
    tuned = load(ROOT / "scripts/method_choice/tuned.yaml").settings
    named = {
        f"{s.method} ({', '.join(f'{key}={word(value)}' for key, value in s.axes.items())})"
        for s in tuned
    }
    assert set(DEFAULTS.values()) <= named


def test_readme_is_a_front_page():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 90
    assert sum(line.startswith("![") for line in lines) == 1


def test_the_fault_that_is_shown_is_the_fault_that_is_told(tmp_path, monkeypatch, capsys):
    example = _blocks("docs/howto/sweep.md", "yaml")[0]
    [shown] = _blocks("docs/howto/sweep.md", "text")
    (tmp_path / "truncation.yaml").write_text(
        example.replace("{use: box, size: 9}", "{use: box, sise: 9}")
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["stereo-framework", "check", "truncation.yaml"])
    with pytest.raises(SystemExit, match="2"):
        main.main()
    assert shown.strip() in capsys.readouterr().err.splitlines()


def test_the_house_of_contributing_has_all_rooms():
    [house] = _blocks("CONTRIBUTING.md", "text")
    named = set(re.findall(r"[a-z_]+", house))
    assert {path.parent.name for path in (ROOT / "stereo_framework").glob("*/__init__.py")} <= named


def test_the_slots_of_contributing_are_the_slots():
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    start = lines.index("| slot | its stages get | and may name | they return |") + 2
    assert lines[start : start + len(SLOTS) + 1] == [
        *(f"| {' | '.join(slot_row(slot))} |" for slot in SLOTS),
        "",
    ]


def test_the_stage_of_contributing_is_the_example():
    """What that does is tested with the other examples of stages."""
    [example] = _blocks("CONTRIBUTING.md", "python")
    assert example == (ROOT / "examples/stages/refinement.py").read_text()


def test_the_citation_has_the_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == stereo_framework.__version__


def test_licences_are_those_of_the_packages():
    """Of everything that users install; what only tests and this site need is not passed on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [
        project["optional-dependencies"].get(extra, [])
        for extra in ("data", "tables", "notebooks", "onnx", "cluster", "tune")
    ]
    wanted = {
        re.match(r"[\w-]+", name)[0]
        for names in (project["dependencies"], *extras)
        for name in names
    }
    told = dict(
        re.findall(
            r"^\| ([\w-]+) \| ([\w ]+) \|", (ROOT / "docs/licences.md").read_text(), re.MULTILINE
        )
    )
    assert set(told) - {"package"} == wanted
    for name in wanted:
        about = importlib.metadata.metadata(name)
        short = [about.get("License-Expression") or "", (about.get("License") or "")[:40]]
        said = " ".join([*(about.get_all("Classifier") or []), *short])
        assert told[name] in said, (name, said)
        assert told[name] in ("GPL", "LGPL") or "GPL" not in said, name
