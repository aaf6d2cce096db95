"""The example programs run and say what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("simple", "% of the non-occluded pixels are off by more than a pixel"),
        ("advanced", "{'refinement.left_right_check.tolerance': 2.0}"),
        ("expert", "1.6% of the pixels without an estimate"),
    ],
)
def test_examples(name, said, tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", tmp_path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    if name == "simple":
        assert (tmp_path / "planes.pfm").is_file()


def test_no_example_is_left_out():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"simple", "advanced", "expert"}
