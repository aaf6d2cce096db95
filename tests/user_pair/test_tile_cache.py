import json
import os
from dataclasses import replace

import numpy as np
import pytest

from stereo_framework import Pipeline, SearchRange, load_scene, step
from stereo_framework.aggregation import box
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stage
from stereo_framework.core.volume import SearchMask
from stereo_framework.user_pair import tile_cache
from stereo_framework.user_pair.matching import match
from stereo_framework.user_pair.tile_cache import match_or_read

METHOD = Pipeline(
    ["absolute_difference", "winner_take_all", "matching_score", "left_right_check", "parabola"]
)


def pair(seed=3, mask=None):
    return Pair(
        *np.random.default_rng(seed).integers(0, 256, (2, 8, 12), dtype=np.uint8),
        SearchRange(0, 4),
        mask,
    )


@pytest.fixture
def calls(monkeypatch):
    """The pairs that are matched, and not read."""
    found, run_pipeline = [], tile_cache.run_pipeline
    monkeypatch.setattr(
        tile_cache,
        "run_pipeline",
        lambda method, pair, **options: found.append(pair) or run_pipeline(method, pair, **options),
    )
    return found


def test_what_was_matched_is_read_again(tmp_path, calls):
    first, again = (match_or_read(METHOD, pair(), tmp_path) for _ in range(2))
    assert len(calls) == 1
    np.testing.assert_array_equal(again.disparity, first.disparity)
    np.testing.assert_array_equal(again.status, first.status)
    np.testing.assert_array_equal(
        again.confidence["matching_score"], first.confidence["matching_score"]
    )
    assert (again.search, again.warnings, again.messages, again.memory) == (
        first.search,
        first.warnings,
        "",
        None,
    )
    # Nobody knows any more what it took.
    assert again.seconds == {}


@pytest.mark.parametrize(
    ("method", "other"),
    [
        (METHOD, pair(seed=4)),
        (METHOD, replace(pair(), search=SearchRange(0, 5))),
        (METHOD, pair(mask=SearchMask(valid=np.arange(96).reshape(8, 12) > 0))),
        (METHOD.having(aggregation=[step(box, size=3)]), pair()),
    ],
)
def test_another_pair_or_method_is_matched(tmp_path, method, other, calls):
    match_or_read(METHOD, pair(), tmp_path)
    match_or_read(method, other, tmp_path)
    assert len(calls) == 2


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", None])
def test_a_damaged_file_is_made_again(tmp_path, content, calls):
    first = match_or_read(METHOD, pair(), tmp_path)
    [path] = tmp_path.rglob("*.npz")
    path.write_bytes(path.read_bytes()[:-100] if content is None else content)
    for _ in range(2):
        np.testing.assert_array_equal(
            match_or_read(METHOD, pair(), tmp_path).disparity, first.disparity
        )
    assert len(calls) == 2
    # Where nothing can be written, nothing is kept.
    np.testing.assert_array_equal(
        match_or_read(METHOD, pair(), path / "parts").disparity, first.disparity
    )


def _replace_by_folder(path):
    path.unlink()
    path.mkdir()


def _replace_by_pipe(path):
    path.unlink()
    os.mkfifo(path)


def _change(**changes):
    """Return a function that replaces arrays of a file; the values remain those of numpy's format."""

    def change(path):
        with np.load(path) as archive:
            arrays = dict(archive)
        np.savez(path, **arrays | changes)

    return change


def _record(**changes):
    values = {"warnings": [], "memory": None, "messages": ""} | changes
    return _change(text=np.array(json.dumps(values)))


@pytest.mark.skipif(os.name != "posix", reason="makes a pipe")
@pytest.mark.parametrize(
    "damage",
    [
        _replace_by_folder,
        _replace_by_pipe,
        _change(disparity=np.zeros((3, 3), np.float32)),
        _change(disparity=np.zeros((8, 12))),
        _change(status=np.zeros((8, 12), np.float32)),
        _change(**{"confidence/matching_score": np.zeros(2, np.float32)}),
        _change(text=np.array("no JSON")),
        _change(text=np.array("[]")),
        _record(warnings="text"),
        _record(warnings=[1]),
        _record(memory="much"),
        _record(messages=None),
        _record(extra=1),
    ],
)
def test_a_file_with_other_content_is_replaced(damage, tmp_path, calls):
    first = match_or_read(METHOD, pair(), tmp_path)
    [path] = tmp_path.rglob("*.npz")
    damage(path)
    for _ in range(2):
        again = match_or_read(METHOD, pair(), tmp_path)
        np.testing.assert_array_equal(again.disparity, first.disparity)
    assert len(calls) == 2


def test_a_stopped_match_goes_on_with_the_tiles_that_are_left(tmp_path, registry):
    """A stage fails at its third tile, once; the second call starts there, and gives what one without a stop gives."""
    calls = []

    @stage("refinement", source="a test")
    def failing(disparity):
        calls.append(disparity)
        if len(calls) == 3:
            raise ValueError("stopped")
        return disparity

    tiles = {"use": "tiles", "tile_size": 150, "overlap": 8, "reduction": 1}
    script = {"include": "window", "refinement": ["failing"], "scheme": tiles}
    images = load_scene("synthetic/planes").reference, load_scene("synthetic/planes").match
    parts = tmp_path / "out" / "parts" / "code"
    with pytest.raises(ValueError, match="stopped"):
        match(*images, (0, 31), method=script, parts=parts)
    assert len(list(parts.iterdir())) == 2
    found = match(*images, (0, 31), method=script, parts=parts)
    assert len(calls) == 5  # the third and the fourth tile again
    np.testing.assert_array_equal(found.disparity, match(*images, (0, 31), method=script).disparity)
    tile_cache.remove_tiles(parts)
    assert list((tmp_path / "out").iterdir()) == []
