"""Environment variables, names and outputs that the program cannot use, and interrupts at its start: one line each."""

import os
import signal
import subprocess
import sys

import pytest

from stereo_framework.io import encoding_fault

PROGRAM = [sys.executable, "-m", "stereo_framework"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells and signals of POSIX")


def run(words, redirection="", **environment):
    command = " ".join([*PROGRAM, words, redirection])
    return subprocess.run(
        ["/bin/bash", "-c", command],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("NUMBA_NUM_THREADS", "0", "is not a whole number above 0"),
        ("NUMBA_NUM_THREADS", "-1", "is not a whole number above 0"),
        ("NUMBA_NUM_THREADS", "", "is not a whole number above 0"),
        ("NUMBA_NUM_THREADS", "abc", "is not a whole number above 0"),
        ("OMP_NUM_THREADS", "0", "is not a whole number above 0"),
        ("OMP_NUM_THREADS", "abc", "is not a whole number above 0"),
        ("NUMBA_OPT", "abc", "cannot be read by numba"),
        ("NUMBA_DISABLE_JIT", "abc", "cannot be read by numba"),
        ("MPLBACKEND", "nosuch", "is not a backend of matplotlib"),
    ],
)
def test_a_wrong_variable_is_named_with_its_value_and_the_remedy(name, value, fault):
    done = run("run window --scene synthetic/planes", **{name: value})
    assert done.returncode == 2
    remedy = "correct the value or unset the variable"
    assert done.stderr == f"error: the environment variable {name}: {value!r} {fault}; {remedy}\n"
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MPLBACKEND", "agg"),
        ("MPLBACKEND", "template"),
        ("NUMBA_NUM_THREADS", "1"),
        ("OMP_NUM_THREADS", "4,2"),
        ("OMP_NUM_THREADS", ""),
    ],
)
def test_other_values_are_used_silently(name, value):
    done = run("scenes", **{name: value})
    assert (done.returncode, done.stderr) == (0, "")


def test_a_script_whose_name_the_locale_cannot_write_is_refused_with_the_remedy(tmp_path):
    text = "include: window\nscenes: [synthetic/planes]\n"
    (tmp_path / "\u00fc.yaml").write_text(text)
    (tmp_path / "named.yaml").write_text(f"name: \u00fc\n{text}")
    ascii_locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for name in ("\u00fc", "named"):
        done = run(f"run {tmp_path}/{name}.yaml --out {tmp_path}/out", **ascii_locale)
        assert done.returncode == 2, done.stderr
        [line] = done.stderr.splitlines()
        assert "cannot be written as text in the encoding of this locale (ascii)" in line
        assert "set PYTHONUTF8=1 in the environment" in line
    assert encoding_fault("\u00fc") is None
    assert encoding_fault("\udcfc") is not None


@pytest.mark.parametrize(
    "words",
    [
        "--version",
        *(pytest.param(words, marks=pytest.mark.slow) for words in ("--help", "run --help")),
        "stages box",
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_device_is_reported_in_one_line(words, unbuffered):
    done = run(words, "> /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "No space left on device" in line


@pytest.mark.parametrize(
    "words",
    [
        "--version",
        *(pytest.param(words, marks=pytest.mark.slow) for words in ("--help", "run --help")),
        "stages box",
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_no_error(words, unbuffered):
    done = run(words, '| true; exit "${PIPESTATUS[0]}"', PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_error_that_cannot_be_printed_keeps_its_exit_status():
    assert run("stages boks", "2> /dev/full").returncode == 2


IMPORTING = """
import signal, sys
from stereo_framework.__main__ import main
number, remaining = int(sys.argv.pop(1)), int(sys.argv.pop(1))
def watch(event, arguments):
    global remaining
    remaining -= event == "import"
    if event == "import" and remaining == 0:
        signal.raise_signal(number)
sys.addaudithook(watch)
main()
"""


@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")]
)
@pytest.mark.parametrize("imports", [1, 3, 100, 300, 600])
def test_a_signal_while_modules_are_imported_ends_with_one_line(imports, number, word):
    command = [sys.executable, "-c", IMPORTING, str(int(number)), str(imports), "stages", "box"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 128 + number
    [line] = done.stderr.splitlines()
    assert line.startswith(word)


def test_an_ignored_interrupt_stays_ignored():
    command = [sys.executable, "-c", IMPORTING, str(int(signal.SIGINT)), "3", "--version"]
    done = subprocess.run(
        ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", *command],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0


@pytest.mark.parametrize(
    "statement",
    [
        "raise KeyboardInterrupt",
        "raise BaseException('x')",
        "raise GeneratorExit",
        "raise SystemExit(0)",
    ],
)
def test_a_plug_in_that_raises_at_import_is_named(statement, tmp_path):
    (tmp_path / "raising.py").write_text(statement)
    done = run(f"stages box --plugin {tmp_path}/raising.py")
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith(
        f"error: plugins: {tmp_path}/raising.py cannot be imported: raising.py:1: "
    )


def test_an_interrupt_while_a_plug_in_is_imported_stays_an_interrupt(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(99): pass\n"
    )
    done = run(f"stages box --plugin {tmp_path}/slow.py")
    assert (done.returncode, done.stderr) == (130, "interrupted; results so far are kept\n")


LEAVING = '''
import os
from stereo_framework.stages import stage

@stage("refinement", source="a test")
def leaving(disparity):
    """End the process."""
    os._exit(0)
'''


def test_a_stage_that_ends_the_process_fails_its_run(tmp_path):
    (tmp_path / "leaving.py").write_text(LEAVING)
    (tmp_path / "script.yaml").write_text(
        "plugins: [leaving.py]\ninclude: window\nscenes: [synthetic/planes]\nrefinement: [leaving]\n"
    )
    done = run(f"run {tmp_path}/script.yaml")
    assert done.returncode == 1
    assert (
        "leaving.py:8: refinement stage leaving: RuntimeError: os._exit(0) would end the whole program"
        in done.stderr
    )
