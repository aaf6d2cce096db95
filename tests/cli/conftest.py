import pytest
import yaml
from typer.testing import CliRunner

from stereo_framework.cli.main import app


@pytest.fixture
def cli(monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)

    def call(*arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments])

    return call


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.yaml"):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else yaml.safe_dump(text, sort_keys=False))
        return path

    return write
