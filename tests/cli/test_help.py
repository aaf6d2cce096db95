"""The help of every command: within 80 columns, options in groups, and examples that work."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from cli_parts import call, invoke
from small_scenes import cut_scenes

from stereo_framework import load_scene
from stereo_framework.cli import _shared
from stereo_framework.cli.main import app
from stereo_framework.io import write_disparity, write_image

COMMANDS = typer.main.get_command(app).commands


def examples(command):
    return re.findall(
        r"^  Example: stereo-framework (.*)$", call(command, "--help").stdout, re.MULTILINE
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_and_has_groups(command):
    text = call(command, "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert examples(command)
    groups = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert groups[-1] == "General"
    general_options = set(re.findall(r"--[\w-]+", text.partition("General:")[2]))
    assert general_options == {
        "--data",
        "--plugin",
        "--no-plugins",
        "--max-pixels",
        "--traceback",
        "--help",
    }


def test_the_help_of_the_program_has_a_whole_sentence_for_each_command():
    lines = call().stdout.splitlines()
    start = lines.index("Match your images:")
    end = lines.index("Options:")
    listed = [line.split(maxsplit=1) for line in lines[start:end] if line.startswith("  ")]
    assert [name for name, _ in listed] == list(COMMANDS)
    assert all(text.endswith(".") and not text.endswith("...") for _, text in listed)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_words_instead_of_types_and_braces(command):
    text = call(command, "--help").stdout
    assert not re.search(r"<(str|int|int range|float|path|list)|\bx>=", text)
    assert "{" not in text.splitlines()[0]


OPTIONS_OF_OTHER_COMMANDS = {"results": {"--out": "run"}}
"""Options that the help of a command names as those of another command."""


def options_of(command):
    """Return the options that a command takes."""
    names = [
        name
        for option in COMMANDS[command].params
        for name in (*option.opts, *option.secondary_opts)
    ]
    return {name for name in names if name.startswith("--")} | {"--help"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_that_a_help_names_exists(command):
    named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", call(command, "--help").stdout))
    of_others = OPTIONS_OF_OTHER_COMMANDS.get(command, {})
    assert named - options_of(command) == set(of_others)
    for option, other in of_others.items():
        assert option in options_of(other)


TRUTH_OPTIONS = {
    "--truth": ["--truth-scale"],
    "--truth-mask": ["--truth"],
    "--truth-scale": ["--truth"],
    "--truth-unknown": ["--truth"],
}
NAMED_OPTIONS = {
    "match": {
        "--disparities": ["--calibration"],
        "--truth": ["--truth-scale"],
        "--truth-scale": ["--truth"],
        "--truth-unknown": ["--truth"],
    },
    "choose": {"--disparities": ["--calibration"]},
    "run": {"--workers": ["--dask"], "--maps": ["--out"]},
    "check": {"--schema": ["--plugin"]},
    "evaluate": TRUTH_OPTIONS,
    "compare": TRUTH_OPTIONS,
    "results": {"folders": ["--out"]},
    "report": {"folders": ["--out", "--out"]},
    "scenes": {"sets": ["--fetch"]},
    "stages": {"--slot": ["--new"], "--new": ["--slot"]},
}
"""The options that the text of an option or argument names, where it names any."""


@pytest.mark.parametrize("command", COMMANDS)
def test_the_text_of_an_option_names_the_options_that_it_depends_on(command):
    named = {}
    for option in COMMANDS[command].params:
        names = re.findall(r"--[a-z][\w-]*", getattr(option, "help", None) or "")
        if names:
            named[option.opts[0]] = names
    assert named == NAMED_OPTIONS.get(command, {})


def test_every_group_names_options_that_there_are():
    names = {parameter.name for command in COMMANDS.values() for parameter in command.params}
    assert {name for group in _shared.GROUPS.values() for name in group} - names == {"help"}


@pytest.mark.docs
@pytest.mark.filterwarnings("ignore::stereo_framework.core.errors.DataWarning")
def test_the_examples_work(tmp_path, monkeypatch):
    cut_scenes(monkeypatch, 120, 160)
    monkeypatch.chdir(tmp_path)
    scene = load_scene("synthetic/planes")
    Path("my_images").mkdir()
    for folder in (".", "my_images"):
        write_image(f"{folder}/left.png", scene.reference)
        write_image(f"{folder}/right.png", scene.match)
    for name, error in (("mine", 0), ("theirs", 2), ("truth", 0)):
        write_disparity(f"{name}.pfm", scene.truth + np.float32(error))
    Path("table.csv").write_text("method,a,b\none,1,2\ntwo,2,1\n")
    Path("exp6.txt").write_text("match_fn 2 aggr_window_size 21\ndepth_map ssd.pgm\n")
    Path("truncation.yaml").write_text(
        "{include: ssd, scenes: [synthetic/planes], sweep: {grid: {matching_cost.truncation: [1, 5, 20, 50]}}}"
    )
    # Other commands read the results of run.
    _check_examples("run")
    for name in ("part1", "part2", "old", "new"):
        shutil.copytree("results/ssd", f"results/{name}")
    two_methods = ("run", "ssd", "window", "--scene", "synthetic/planes")
    assert invoke(*two_methods, "--out", "results/methods").exit_code == 0
    for command in COMMANDS:
        if command != "run":
            _check_examples(command)


def _check_examples(command):
    """Check that the examples of a command end without an error."""
    for example in examples(command):
        result = invoke(*shlex.split(example))
        assert result.exit_code == 0, f"{example}: {result.output}"


@pytest.mark.parametrize("words", [[], ["run", "--help"]])
def test_help_imports_nothing_heavy(words):
    program = (
        f"import sys; sys.argv = ['stereo-framework', *{words}]\n"
        "from stereo_framework.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'numpy', 'numba', 'scipy', 'cv2', 'matplotlib', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Usage: stereo-framework" in done.stdout
