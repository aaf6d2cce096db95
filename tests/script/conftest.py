"""Fixtures of the scripts' tests."""

import pytest


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes YAML files, ``a__b`` to the folder a, into the working folder."""
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    return write
