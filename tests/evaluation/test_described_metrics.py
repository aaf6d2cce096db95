"""The file of a results folder that describes the metrics of plug-ins."""

import json
import os

import pytest

from stereo_framework import metric
from stereo_framework.core import limits
from stereo_framework.core.errors import ParameterError
from stereo_framework.evaluation.metrics import METRICS
from stereo_framework.evaluation.user_metrics import describe_metrics, remember_metrics

ROW = ["mine", "px", "lower", "region", "a paper", ""]


def row(**changes):
    names = ("name", "unit", "better", "about", "source", "pooled")
    return json.dumps([list((dict(zip(names, ROW, strict=True)) | changes).values())])


DAMAGED = {
    "deep lists": "[" * 5000 + "]" * 5000,
    "an object": '{"a": 1}',
    "a number": "5",
    "null": "null",
    "a text": '"abc"',
    "NaN": "NaN",
    "half a list": "[[",
    "an empty file": "",
    "an empty row": "[[]]",
    "numbers": "[5]",
    "a row that is too short": '[["mine"]]',
    "a row that is too long": json.dumps([[*ROW, "more"]]),
    "a unit that is a list": row(unit=["px"]),
    "a unit with a control character": row(unit="\x1b[31m"),
    "a long unit": row(unit="x" * 100_000),
    "a name that is a number": row(name=5),
    "a name with a line end": row(name="a\nb"),
    "no name": row(name=""),
    "an unknown direction": row(better="up"),
    "an unknown object": row(about="nowhere"),
    "a number in place of a text": row(source=5),
    "nulls": json.dumps([[None] * 6]),
    "many metrics": json.dumps([[f"m{i}", *ROW[1:]] for i in range(limits.METRICS + 1)]),
    "a large file": " " * (limits.TEXT + 1),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_description_gives_one_line_and_registers_nothing(name, tmp_path, registry):
    path = tmp_path / "metrics.json"
    path.write_text(DAMAGED[name])
    before = dict(METRICS)
    warning = remember_metrics(path)
    assert warning.startswith(str(path))
    assert warning.isprintable()
    assert len(warning) < 400
    assert dict(METRICS) == before


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
@pytest.mark.parametrize(
    "kind", ["folder", "pipe", "link to nothing", "link to itself", "link to a device", "bytes"]
)
def test_what_is_no_file_of_text_gives_one_line(kind, tmp_path):
    path = tmp_path / "metrics.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "bytes":
        path.write_bytes(b"\xff\xfe\x00")
    else:
        path.symlink_to(
            {"link to nothing": "/none", "link to itself": path, "link to a device": "/dev/zero"}[
                kind
            ]
        )
    assert "metrics.json" in remember_metrics(path)


def test_descriptions_are_remembered(tmp_path, registry):
    assert remember_metrics(tmp_path / "metrics.json") is None

    @metric(unit="px", better="higher", source="a paper")
    def pleasantness(disparity, truth, mask):
        return 1.0

    (tmp_path / "metrics.json").write_text(describe_metrics(["pleasantness"]))
    METRICS.remove("pleasantness")
    assert remember_metrics(tmp_path / "metrics.json") is None
    registered = METRICS["pleasantness"]
    assert (registered.unit, registered.better, registered.source) == ("px", "higher", "a paper")
    assert registered.compute is None


@pytest.mark.parametrize(
    ("texts", "beginning"),
    [
        # Wrong kinds are refused before the decorated function is known, and wrong texts after it.
        ({"unit": 5}, "metric: unit is"),
        ({"unit": "x" * 100}, "metric mine: unit is"),
        ({"unit": "\x1b"}, "metric mine: unit is"),
        ({"source": ["a"]}, "metric: source is"),
        ({"pooled": "often"}, "metric: pooled is"),
    ],
)
def test_metrics_are_refused_that_no_folder_can_describe(texts, beginning, registry):
    with pytest.raises(ParameterError, match=f"^{beginning}"):

        @metric(**{"unit": "px", "better": "lower"} | texts)
        def mine(disparity, truth, mask):
            return 1.0
