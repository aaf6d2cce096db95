"""Every file that fuzzing found is taken as it should be, and so are the honest files that it begins with."""

import contextlib

import pytest
from fuzz.readers import CORPUS, READERS, outcome

from stereo_framework.core.errors import DataWarning, StereoFrameworkError

FOUND = sorted(CORPUS.glob("*/*"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_found(tmp_path, path):
    file = tmp_path / path.name.partition("-")[2]
    file.write_bytes(path.read_bytes())
    assert outcome(READERS[path.parent.name], file) is None


@pytest.mark.parametrize("name", READERS)
def test_seeds_are_honest(tmp_path, name):
    for file, data in READERS[name].seeds:
        path = tmp_path / file
        path.write_bytes(data)
        assert outcome(READERS[name], path) is None
        with contextlib.suppress(StereoFrameworkError, DataWarning) if name in ("image", "map") else contextlib.nullcontext():
            READERS[name].read(path)
