"""Real inputs of the evaluation's tests."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def real(data):
    """Real scenes by name."""
    from stereo_framework.datasets import load_scene

    scenes = {}

    def load(name):
        if name not in scenes:
            scenes[name] = load_scene(f"middlebury2001/{name}", data=data)
        return scenes[name]

    return load


@pytest.fixture(scope="session")
def submission(data):
    """A published disparity map, in grey levels."""
    import cv2

    def load(method, name):
        path = data / "middlebury-v2" / "submissions" / method / f"{name}.png"
        if not path.is_file():
            pytest.skip(f"no {path}")
        return cv2.imread(str(path), cv2.IMREAD_GRAYSCALE).astype(np.float32)

    return load
