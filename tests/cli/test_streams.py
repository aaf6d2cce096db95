"""Streams that are closed, narrow alphabets, Python without docstrings, and interrupts before anything has begun."""

import os
import subprocess
import sys

import numpy as np
import pytest
import typer

from stereo_framework.cli.main import app
from stereo_framework.io import write_image

PROGRAM = [sys.executable, "-m", "stereo_framework"]
RUN = "run window --scene synthetic/large-96x64x16"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells and signals of POSIX")


def _shell(words, how, **environment):
    command = " ".join([*PROGRAM, words, how])
    return subprocess.run(
        ["/bin/sh", "-c", command],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "how"),
    [
        ("stages box", ">&-"),
        (RUN, ">&- 2>&- <&-"),
        *(pytest.param("stages box", how, marks=pytest.mark.slow) for how in ("2>&-", "<&-")),
        *(pytest.param(RUN, how, marks=pytest.mark.slow) for how in (">&-", "2>&-", "<&-")),
    ],
)
def test_closed_streams(words, how):
    done = _shell(words, how)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_a_mistake_is_one_even_if_nobody_reads_it():
    assert _shell("stages boks", "2>&-").returncode == 2


def test_an_alphabet_without_umlauts(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (24, 35), dtype=np.uint8)
    for name, first in (("l", 0), ("r", 3)):
        write_image(tmp_path / f"{name}.png", images[:, first : first + 32])
    words = f"match {tmp_path}/l.png {tmp_path}/r.png --disparities 0:6 --method ssd -o {tmp_path}/\u00fcber"
    done = _shell(words, "", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("stages --slot smoothness", "potts"),
        # Compiles all that it imports once more.
        pytest.param(RUN, "taxonomy2002", marks=pytest.mark.slow),
    ],
)
def test_python_without_docstrings(words, told):
    done = _shell(words, "", PYTHONOPTIMIZE="2")
    assert done.returncode == 0, done.stderr
    assert told in done.stdout


def test_every_option_has_a_text():
    """Of which the command line makes none where Python leaves docstrings out."""
    for name, subcommand in typer.main.get_command(app).commands.items():
        for parameter in subcommand.params:
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"


INTERRUPTED = """
import signal, sys
from stereo_framework.__main__ import main
left = int(sys.argv.pop(1))
def watch(event, arguments):
    global left
    left -= event == "import"
    if event == "import" and left == 0:
        signal.raise_signal(signal.SIGINT)
sys.addaudithook(watch)
main()
"""


@pytest.mark.parametrize("imports", [1, 2, 30, 150, 400, 800])
def test_an_interrupt_in_the_first_moment_is_a_line(imports):
    """Each time at another import, from that of the command line to those of a command."""
    command = [sys.executable, "-c", INTERRUPTED, str(imports), "stages", "box"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1].startswith("interrupted")
    assert "Traceback" not in done.stderr
