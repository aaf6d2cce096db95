"""Whatever is typed or read: one line, in little time and memory, and no file of the user's is touched."""

import contextlib
import re
import shlex
import signal

import cv2
import numpy as np
import pytest
from attack.inputs import CASES
from cli_parts import invoke

from stereo_framework.engine import pipeline  # noqa: F401  registers the stages before a test forgets what it registered
from stereo_framework.io import write_disparity


@pytest.fixture(scope="module")
def pair():
    """A small pair, shifted by 3 pixels, and its map."""
    image = np.random.default_rng(2).integers(0, 255, (24, 35), dtype=np.uint8)
    return image[:, 3:], image[:, :-3], np.full((24, 32), 3, np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch, pair):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    cv2.imwrite("left.png", pair[1])
    cv2.imwrite("right.png", pair[0])
    write_disparity("grey.pfm", pair[2])
    (tmp_path / "window.csv").write_text("method,s:m,t:m\na,1,2\nb,2,1\n", encoding="utf-8")
    return tmp_path


SECONDS = 30
"""A case that takes so long hangs. Most take milliseconds; some are the first to compile a kernel, which took 12 s on a busy machine."""


class Hangs(BaseException):
    """No error of the program's, so that no catch of its own takes it."""


@contextlib.contextmanager
def within(seconds):
    """Interrupt what hangs, where the system can."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def hangs(number, frame):
        raise Hangs

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def written(folder):
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.stat().st_size < 2**20}


@pytest.mark.filterwarnings("default::stereo_framework.core.errors.DataWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_line(folder, case):
    for name, content in case.files.items():
        if callable(content):
            content(name)
        else:
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    before = written(folder)
    with within(SECONDS):
        result = invoke(*shlex.split(case.command))
    print(result.output[-3000:])
    # How far it is may be told between; kernels that are compiled take their time.
    lines = [line for line in result.stderr.splitlines() if not line.endswith(" so far") and "compiling kernels" not in line]
    assert result.exit_code == case.status, result.exception
    assert len(lines) == case.lines
    assert "Traceback" not in result.output
    assert all(len(line) < 1200 for line in lines)
    if case.lines:
        assert any(re.search(case.line, line) for line in lines)
    for path, content in before.items():
        assert path.read_bytes() == content, f"{path.name} was changed"
