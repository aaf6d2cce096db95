"""Finding scripts by path and by name."""

from pathlib import Path

import pytest

from stereo_framework.core import package_files
from stereo_framework.core.errors import ScriptError
from stereo_framework.core.package_files import script_names
from stereo_framework.script import find_script


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    for name in ("methods/ssd", "paper/figure1", "other/figure1"):
        path = tmp_path / "shelf" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    monkeypatch.setattr(package_files, "package_folder", lambda: tmp_path / "shelf")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "shelf"


def test_shipped_scripts():
    assert {"methods/ssd", "methods/window"} <= set(script_names())


@pytest.mark.parametrize("name", ["ssd", "methods/ssd", "methods/ssd.yaml", Path("ssd")])
def test_names(shelf, name):
    assert find_script(name) == shelf / "methods/ssd.yaml"


def test_a_file_comes_first(shelf, tmp_path):
    (tmp_path / "ssd").write_text("")
    assert find_script("ssd").read_text() == ""


def test_paths_from_a_folder(shelf, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/mine.yaml").write_text("")
    assert find_script("mine.yaml", tmp_path / "sub") == tmp_path / "sub/mine.yaml"
    assert find_script("ssd", tmp_path / "sub") == shelf / "methods/ssd.yaml"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "sdd",
            r"script 'sdd': no such file in .*, and no built-in script of this name in .*shelf; did you mean 'ssd'\?",
        ),
        ("mehods/ssd", r"did you mean 'ssd'\?"),
        ("mihods/sdd.yaml", r"did you mean 'ssd'\?"),
        ("mien.yaml", r"no such file in .*; did you mean 'mine.yaml'\?"),
        ("quux", "built-in scripts: ssd, other/figure1, paper/figure1"),
        ("figure1", "several built-in scripts have this name: other/figure1, paper/figure1"),
        ("shelf", "only a folder of this name in"),
        ("x" * 300, "no such file in"),
        ("a\0b", "no such file in"),
    ],
)
def test_unknown_names(shelf, tmp_path, name, message):
    (tmp_path / "mine.yaml").write_text("")
    with pytest.raises(ScriptError, match=message) as caught:
        find_script(name)
    assert len(caught.value.faults) == 1
    assert "\n" not in str(caught.value)
