"""Maps in the wrong scale or with the wrong sign are noticed, good and merely bad ones are not."""

import re

import numpy as np
import pytest
from evaluation_inputs import make_scene

from stereo_framework.evaluation import doubts

SCALES = {"tsukuba": 16, "venus": 8}


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("method", ["patchmatch", "adcensus"])
def test_real_maps(real, submission, name, method):
    grey, scale, scene = submission(method, name), SCALES[name], real(name)
    assert doubts(grey / scale, scene) == []
    for factor in (2, 4, 8, 16, 256):
        (line,) = doubts(grey / scale * factor, scene)
        assert re.search(r"wrong scale: (9\d|100) % of", line)
        assert f"when divided by {factor}, " in line
        (line,) = doubts(grey / scale / factor, scene)
        assert f"when multiplied by {factor}, " in line
    (line,) = doubts(-grey / scale, scene)
    assert re.search(r"wrong sign: (9\d|100) % of", line)
    assert "when negated, 0 % as they are" in line
    (line,) = doubts(-grey, scene)
    assert "wrong sign and scale" in line
    assert f"when negated and divided by {scale}, " in line


def test_a_bad_map_is_not_doubted(real):
    scene = real("tsukuba")
    shape = scene.truth.shape
    random = np.random.default_rng(0)
    assert doubts(np.full(shape, 5, np.float32), scene) == []
    assert doubts(np.zeros(shape, np.float32), scene) == []
    assert doubts(random.uniform(0, 15, shape).astype(np.float32), scene) == []
    assert doubts(random.uniform(0, 4000, shape).astype(np.float32), scene) == []


def test_an_empty_map():
    scene = make_scene(np.full((4, 5), 3, np.float32))
    assert doubts(np.full((4, 5), np.nan, np.float32), scene) == ["made: the map holds no estimate at all"]
    assert doubts(np.full((4, 5), np.inf, np.float32), scene) == ["made: the map holds no estimate at all"]


def test_nothing_to_compare_with():
    image = np.zeros((4, 5), np.uint8)
    estimate = np.full((4, 5), 3, np.float32)
    assert doubts(estimate, make_scene(image=image)) == []
    # Any estimate, scaled down far enough, is within a pixel of a small truth.
    assert doubts(estimate * 20, make_scene(estimate / 4)) == []
