import pytest
from small_scenes import cut_scenes

from stereo_framework import load_scene


@pytest.fixture(scope="module")
def known():
    """A corner of a scene with truth, in which both images have enough points in common, and all matching takes a third of the time."""
    with pytest.MonkeyPatch.context() as patch:
        cut_scenes(patch, 144, 192)
        return load_scene("synthetic/planes")
