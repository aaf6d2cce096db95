"""Whatever is typed or read: one line, in little time and memory, and no file of the user's is touched."""

import re
import shlex
import string

import cv2
import numpy as np
import pytest
import yaml_cases
from attack import made_files
from cli_parts import invoke
from deadline import deadline

from stereo_framework.cli._progress import COMPILING
from stereo_framework.engine import pipeline  # noqa: F401  registers the stages before a test forgets what it registered
from stereo_framework.io import write_disparity

WORDS = {
    "METHOD": "matching_cost: absolute_difference\noptimization: winner_take_all\n",
    "SCENE": "frames: [left.png, right.png]\nsearch: {minimum: 0, maximum: 6}\n",
    "PAIR": "left.png right.png --disparities 0:6",
    "DEEP": "[" * 600,
    "NEST": "auxiliary: {a: " * 150,
    "ENDS": "}" * 150,
    "DIGITS": "9" * 400,
    "MANY_DIGITS": "9" * 5000,
    "LETTERS": "a" * 300,
    "LONG_KEY": "x" * 900,
    "LONG_NAME": "x" * 20_000,
    "ENDLESS": "x" * 50_000,
    "FIELD": "a" * 200_000,
}


class Loader(yaml_cases.Loader):
    """YAML in which ``!made [NAME, ...]`` is what a function of `made_files` gives, and ``!makes NAME`` the function."""


def made(loader, node):
    name, *arguments = loader.construct_sequence(node, deep=True)
    return getattr(made_files, name)(*arguments)


Loader.add_constructor("!made", made)
Loader.add_constructor("!makes", lambda loader, node: getattr(made_files, node.value))
CASES = yaml_cases.cases_in("inputs.yaml", __file__, Loader)


def files_of(case):
    """Contents by name: texts, bytes, or what makes the file at a path."""
    given = {
        name: case[key]
        for name, key in (("s.yaml", "script"), ("scene.yaml", "scene"))
        if key in case
    }
    begun = {"s.yaml": "METHOD", "scene.yaml": "SCENE"}
    return {name: f"${{{begun[name]}}}{text}\n" for name, text in given.items()} | case.get(
        "files", {}
    )


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


SECONDS = 300
"""A case that takes so long hangs. Most take milliseconds; some are the first to compile a kernel, which took 12 s on a busy machine."""


@pytest.fixture(autouse=True)
def _deadline():
    """End a test that would wait without end."""
    with deadline(SECONDS):
        yield


def written(folder):
    return {
        path: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.stat().st_size < 2**20
    }


@pytest.mark.filterwarnings("default::stereo_framework.core.errors.DataWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["of"])
def test_one_line(folder, case):
    for name, content in files_of(case).items():
        if callable(content):
            content(name)
        else:
            text = (
                content
                if isinstance(content, bytes)
                else string.Template(content).substitute(WORDS).encode()
            )
            (folder / name).write_bytes(text)
    before = written(folder)
    command = case.get("command") or (
        "scenes --describe ./scene.yaml" if "scene.yaml" in files_of(case) else "check s.yaml"
    )
    result = invoke(*shlex.split(string.Template(command).substitute(WORDS)))
    print(result.output[-3000:])
    # How far it is may be told between; kernels that are compiled take their time.
    lines = [
        line
        for line in result.stderr.splitlines()
        if not line.endswith(" so far") and line != COMPILING
    ]
    assert result.exit_code == case.get("status", 2), result.exception
    assert len(lines) == case.get("lines", 1)
    assert "Traceback" not in result.output
    assert all(len(line) < 1200 for line in lines)
    assert not lines or any(re.search(case.get("told", ""), line) for line in lines)
    for path, content in before.items():
        assert path.read_bytes() == content, f"{path.name} was changed"
