"""Maps of each pixel's range on the command line: what a method with compact stages then holds."""

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from stereo_framework.cli.main import app
from stereo_framework.io import write_image, write_pfm

STAGE = """
from stereo_framework.core.stage import stage

@stage("aggregation", source="a test", compact={compact})
def held(volume):
    levels = volume.search.levels if volume.held is None else volume.held.mean
    raise ValueError(f"{{levels}} levels held, compact: {{volume.held is not None}}")
"""


@pytest.fixture
def pair(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    image = np.random.default_rng(0).integers(0, 256, (8, 48), dtype=np.uint8)
    write_image("left.png", image)
    write_image("right.png", np.roll(image, -10, axis=1))
    write_pfm("low.pfm", np.full((8, 48), 9, np.float32))
    write_pfm("high.pfm", np.full((8, 48), 11, np.float32))


@pytest.mark.parametrize(
    ("compact", "maps", "told"),
    [
        # Disparities 9 to 11 lie in the second block of eight.
        (True, True, "8 levels held, compact: True"),
        (False, True, "21 levels held, compact: False"),
        (True, False, "21 levels held, compact: False"),
    ],
)
def test_a_narrow_range_of_each_pixel_makes_a_compact_volume(compact, maps, told, pair, tmp_path):
    (tmp_path / "held.py").write_text(STAGE.format(compact=compact))
    script = {"plugins": ["held.py"], "matching_cost": "census", "aggregation": ["held"], "optimization": "winner_take_all"}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(script))
    given = ["--low", "low.pfm", "--high", "high.pfm"] if maps else []
    result = CliRunner().invoke(
        app, ["run", "s.yaml", "--left", "left.png", "--right", "right.png", "--disparities", "0:20", *given]
    )
    assert (result.exit_code, told in result.stderr) == (1, True), result.output
