"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """Root of the real test scenes."""
    root = os.environ.get("STEREO_DATA")
    if not root:
        pytest.skip("STEREO_DATA is not set: no real scenes to test with")
    if not Path(root, "middlebury2001").is_dir():
        pytest.skip(f"STEREO_DATA={root} holds no middlebury2001 folder")
    return Path(root)
