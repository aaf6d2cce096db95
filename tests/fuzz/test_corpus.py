"""Every file that fuzzing found is taken as it should be, and so are the honest files that it begins with."""

import contextlib
import random

import pytest
from fuzz.readers import CORPUS, READERS, damaged, outcome

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
        with (
            contextlib.suppress(StereoFrameworkError, DataWarning)
            if name in ("image", "map")
            else contextlib.nullcontext()
        ):
            READERS[name].read(path)


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_and_others(tmp_path, name):
    reader, chance = READERS[name], random.Random(5)
    contents = [
        damaged(data, reader.seeds, reader, chance)
        for _, data in reader.seeds
        for _ in range(max(3, 90 // len(reader.seeds)))
    ]
    for content in (*contents, b"", b"<html>not found</html>", bytes(range(256))):
        path = tmp_path / chance.choice(reader.seeds)[0]
        path.write_bytes(content)
        assert outcome(reader, path) is None
