"""The notebooks of docs/tutorials run from beginning to end, with no data at all, and show what they promise."""

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs
nbformat = pytest.importorskip("nbformat", reason="the extra notebooks is not installed")
nbclient = pytest.importorskip("nbclient", reason="the extra notebooks is not installed")

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
PICTURES = {"taxonomy": 8, "user_pair": 3, "own_cost": 6, "network": 3}
"""How many cells of each notebook show pictures."""


def test_none_is_left_out():
    assert {path.stem for path in TUTORIALS.glob("*.ipynb")} == set(PICTURES)
    index = (TUTORIALS / "README.md").read_text()
    assert all(f"({name}.ipynb)" in index for name in PICTURES)


@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_is_stored_without_outputs(name):
    cells = nbformat.read(TUTORIALS / f"{name}.ipynb", 4).cells
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


# A process of its own each, whose start takes longest.
@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_runs_without_data(name, tmp_path):
    found = _run(name, tmp_path, STEREO_DATA="", XDG_CACHE_HOME=str(tmp_path))
    assert "synthetic/" in str(found)


@pytest.mark.slow
def test_the_taxonomy_on_a_real_pair(data, tmp_path):
    assert "middlebury2001/tsukuba" in str(_run("taxonomy", tmp_path, STEREO_DATA=str(data)))


def _run(name, folder, **environment):
    """The notebook with what its cells show; every one of them ends well and quietly."""
    notebook = nbformat.read(TUTORIALS / f"{name}.ipynb", 4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=os.environ | {"PYTHONPATH": str(TUTORIALS.parents[1])} | environment)
    shown = 0
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert output.get("name") != "stderr", output.text
            # No bar stays behind.
            assert "<progress" not in output.get("data", {}).get("text/html", "")
        data = [output.get("data", {}) for output in cell.get("outputs", ())]
        shown += any(
            {"image/png", "image/jpeg"} & one.keys() or "<img" in one.get("text/html", "")
            for one in data
        )
    assert shown == PICTURES[name]
    return notebook
