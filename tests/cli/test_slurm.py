"""Tests of examples/slurm_array.sh with a program that simulates Slurm."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from sweep_parts import WINDOW, lacking, numbers, stored

from stereo_framework.sweep import Store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="runs a shell script")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/slurm_array.sh"
SCENES = [f"synthetic/large-{columns}x60x16" for columns in (60, 64, 72)]
SWEEP = {
    **WINDOW,
    "sweep": {"grid": {"matching_cost.truncation": [10, None], "aggregation.box.size": [1, 3]}},
}

SBATCH = """
import os, random, re, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

options, words = {}, sys.argv[1:]
while words[0].startswith("--"):
    name, _, value = words.pop(0).partition("=")
    options[name] = value

# Slurm starts a copy of the job script, whose options it has read from the comments.
folder = tempfile.mkdtemp()
job = shutil.copy(words[0], os.path.join(folder, "slurm_script"))
cores = re.search(r"^#SBATCH --cpus-per-task=(\\d+)$", open(job).read(), re.MULTILINE)[1]
variables = {"SLURM_JOB_ID": "17", "SLURM_CPUS_PER_TASK": cores}
if "--dependency" in options:
    assert options["--dependency"] == "afterany:16", options

def run(task):
    log = options["--output"].replace("%a", task)
    array = {"SLURM_ARRAY_TASK_ID": task} if task else {}
    with open(log, "w") as file:
        subprocess.run(
            ["sh", job, *words[1:]], env=os.environ | variables | array, stdout=file, stderr=file
        )

tasks = [""]
if "--array" in options:
    first, last = map(int, options["--array"].split("-"))
    tasks = [str(number) for number in range(first, last + 1)]
    random.shuffle(tasks)
lost_tasks = os.environ.get("LOST_TASKS", "").split()
with ThreadPoolExecutor(2) as pool:
    list(pool.map(run, [task for task in tasks if task not in lost_tasks]))
print("16;cluster" if "--parsable" in options else "Submitted batch job 17")
"""
"""A program that runs the tasks of a job at once, in random order and two at a time."""


@pytest.fixture
def submit(tmp_path, monkeypatch):
    """Return a function that calls the example, and write the sweep that it runs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "sbatch.py").write_text(SBATCH)
    lines = {
        "sbatch": f"exec '{sys.executable}' '{tmp_path / 'sbatch.py'}' \"$@\"",
        "stereo-framework": f"exec '{sys.executable}' -m stereo_framework \"$@\"",
    }
    for name, line in lines.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(SWEEP))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def call(**variables):
        command = ["sh", str(EXAMPLE), "sweep.yaml", "results", *SCENES]
        done = subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "Submitted batch job 17\n"

    return call


def assert_equals_a_single_run(folder):
    """Check that a folder has the rows of a run on all scenes, in the same order."""
    command = [sys.executable, "-m", "stereo_framework", "run", "sweep.yaml", "--out", "single"]
    for scene in SCENES:
        command += ["--scene", scene]
    subprocess.run(command, check=True, capture_output=True)
    with Store(folder) as store, Store(Path("single")) as single:
        assert store.planned_keys() == single.planned_keys()
    assert numbers(stored(folder)) == numbers(stored(Path("single")))
    script = "sweep.resolved.yaml"
    assert (folder / script).read_bytes() == Path("single", script).read_bytes()


def test_the_merged_folder_of_an_array_job_equals_a_single_run(submit):
    submit()
    folder = Path("results/all")
    assert Path("results/merge.log").read_text().startswith("results/all contains 12 results")
    assert lacking(folder) == ""
    assert_equals_a_single_run(folder)


@pytest.mark.slow
def test_the_same_command_completes_an_array_job_that_lost_a_task(submit):
    submit(LOST_TASKS="2")
    assert "part_2: no results there" in Path("results/merge.log").read_text()
    assert not Path("results/all").exists()
    submit()
    assert_equals_a_single_run(Path("results/all"))


def test_the_example_prints_its_usage():
    done = subprocess.run(["sh", str(EXAMPLE)], capture_output=True, text=True, check=False)
    usage = "usage: sh slurm_array.sh SCRIPT OUT SCENE...\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", usage)


def test_the_page_shows_the_commands_of_the_example():
    page = (ROOT / "docs/howto/cluster.md").read_text()
    example = EXAMPLE.read_text()
    assert f"```text\n{example}```\n" in page
