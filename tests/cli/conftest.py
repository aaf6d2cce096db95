import pytest
import yaml
from cli_parts import invoke


@pytest.fixture
def pictures():
    """For tests that look at the pictures of maps."""


@pytest.fixture(autouse=True)
def _no_pictures(request, monkeypatch):
    """Drawing them takes longer than all the rest."""
    if "pictures" not in request.fixturenames:
        monkeypatch.setattr(
            "stereo_framework.figures.disparity_figures.write_pictures", lambda *_: None
        )


@pytest.fixture
def cli(monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)

    return invoke


@pytest.fixture
def own_root(monkeypatch, tmp_path):
    """A folder whose folder root is the only data root."""
    monkeypatch.setenv("STEREO_DATA", str(tmp_path / "root"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.yaml"):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else yaml.safe_dump(text, sort_keys=False))
        return path

    return write
