from dataclasses import replace

import numpy as np
import pytest

from stereo_framework import Pipeline, Search, load_scene, step
from stereo_framework.aggregation import box
from stereo_framework.core.call_reports import collecting_reports
from stereo_framework.core.pair import Pair
from stereo_framework.core.stage import stage
from stereo_framework.core.volume import SearchMask
from stereo_framework.own_pair.kept_parts import kept_match, remove_kept
from stereo_framework.own_pair.matching import match_scene

METHOD = Pipeline(["absolute_difference", "winner_take_all", "matching_score", "left_right_check", "parabola"])


def pair(seed=3, domain=None):
    return Pair(*np.random.default_rng(seed).integers(0, 256, (2, 8, 12), dtype=np.uint8), Search(0, 4), domain)


def counted(method, calls, like=METHOD):
    """The method, noting every pair that it matches."""

    class Counted:
        stages, files = getattr(method, "stages", like.stages), getattr(method, "files", like.files)

        def __call__(self, pair):
            calls.append(pair)
            return method(pair)

    return Counted()


def assert_same(one, other):
    for name, value in vars(one).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(other, name))
        elif name == "confidence":
            assert value.keys() == other.confidence.keys()
            for measure in value:
                np.testing.assert_array_equal(value[measure], other.confidence[measure])
        else:
            assert getattr(other, name) == value, name


def test_what_was_matched_is_read_again_whole(tmp_path):
    calls = []
    method = counted(METHOD, calls)
    first, again = kept_match(method, pair(), tmp_path), kept_match(method, pair(), tmp_path)
    assert len(calls) == 1
    assert first.energy is not None
    assert_same(first, again)


def test_numbers_of_plug_ins_may_be_numpys(tmp_path):
    match = replace(METHOD(pair()), objective=np.float32(3), trace=((np.float32(0.5), np.float64(2)),))
    calls = []
    first = kept_match(counted(lambda pair: match, calls, METHOD), pair(), tmp_path)
    again = kept_match(counted(lambda pair: match, calls, METHOD), pair(), tmp_path)
    assert len(calls) == 1
    assert_same(first, again)


def test_the_time_of_what_is_read_again_is_not_known(tmp_path):
    with collecting_reports() as reports:
        kept_match(METHOD, pair(), tmp_path)
        assert reports == []
        kept_match(METHOD, pair(), tmp_path)
    assert [report.seconds for report in reports] == [None]


@pytest.mark.parametrize(
    ("method", "other"),
    [
        (METHOD, pair(seed=4)),
        (METHOD, replace(pair(), search=Search(0, 5))),
        (METHOD, pair(domain=SearchMask(valid=np.arange(96).reshape(8, 12) > 0))),
        (METHOD.having(aggregation=[step(box, size=3)]), pair()),
    ],
)
def test_another_pair_or_method_is_matched(tmp_path, method, other):
    kept_match(METHOD, pair(), tmp_path)
    calls = []
    kept_match(counted(method, calls), other, tmp_path)
    assert len(calls) == 1


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", None])
def test_a_damaged_file_is_made_again(tmp_path, content):
    first = kept_match(METHOD, pair(), tmp_path)
    [path] = tmp_path.rglob("*.npz")
    path.write_bytes(path.read_bytes()[:-100] if content is None else content)
    calls = []
    method = counted(METHOD, calls)
    for _ in range(2):
        np.testing.assert_array_equal(kept_match(method, pair(), tmp_path).disparity, first.disparity)
    assert len(calls) == 1


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    assert kept_match(METHOD, pair(), tmp_path / "file" / "parts").disparity.shape == (8, 12)


def test_a_stopped_match_goes_on_with_the_tiles_that_are_left(tmp_path, registry):
    """A stage fails at its third tile, once; the second call starts there, and gives what one without a stop gives."""
    calls = []

    @stage("refinement", source="a test")
    def failing(disparity):
        calls.append(disparity)
        if len(calls) == 3:
            raise ValueError("stopped")
        return disparity

    tiles = {"use": "tiles", "size": 150, "overlap": 8, "factor": 1}
    script = {"include": "window", "refinement": ["failing"], "scheme": tiles}
    scene = load_scene("synthetic/planes")
    parts = tmp_path / "out" / "parts" / "code"
    with pytest.raises(ValueError, match="stopped"):
        match_scene(scene, script, parts=parts)
    assert len(list(parts.iterdir())) == 2
    found = match_scene(scene, script, parts=parts)
    assert len(calls) == 5  # the third and the fourth tile again
    np.testing.assert_array_equal(found.disparity, match_scene(scene, script).disparity)
    remove_kept(parts)
    assert list((tmp_path / "out").iterdir()) == []
