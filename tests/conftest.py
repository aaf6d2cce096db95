"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest
from tiny_stages import tiny  # noqa: F401  a fixture

from stereo_framework import stage


@pytest.fixture(scope="session")
def data() -> Path:
    """Root of the real test scenes."""
    root = os.environ.get("STEREO_DATA")
    if not root:
        pytest.skip("STEREO_DATA is not set: no real scenes to test with")
    if not Path(root, "middlebury2001").is_dir():
        pytest.skip(f"STEREO_DATA={root} holds no middlebury2001 folder")
    return Path(root)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages that the test registers are forgotten after it."""
    monkeypatch.setattr(stage, "_REGISTRY", {slot: dict(stages) for slot, stages in stage._REGISTRY.items()})
    monkeypatch.setattr(stage, "_BY_FUNCTION", dict(stage._BY_FUNCTION))
