"""Arguments of public functions: nonsense ends in a result or in one line, and never in an error from the inside."""

import re
import warnings

import cv2
import numpy as np
import pytest
from nonsense import CALLS, LEFT, MAP, MASK, NONSENSE, RIGHT

import stereo_framework as sf
from stereo_framework import io


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that `CALLS` names."""
    path = tmp_path_factory.mktemp("arguments")
    cv2.imwrite(str(path / "left.png"), LEFT)
    cv2.imwrite(str(path / "right.png"), RIGHT)
    cv2.imwrite(str(path / "mask.png"), MASK.astype(np.uint8) * 255)
    io.write_pfm(path / "map.pfm", MAP)
    return path


PATHS = {"path", "folder", "out", "data", "results", "parts"}
"""Arguments that are names of files: these may contain a line break, and a message shows it."""


def _failure(call, arguments):
    """Return the failure of a call in words; empty if it returns or refuses its arguments in lines."""
    try:
        call(**arguments)
    except sf.StereoFrameworkError as error:
        # An error about several parts of an argument has a line for each of them.
        lines = str(error).split("\n")
        has_place = all(PLACE.match(line) for line in lines)
        return "" if len(lines) == 1 or has_place else f"several lines: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


PLACE = re.compile(r"[\w.\[\]]+: ")


@pytest.mark.parametrize("name", CALLS)
def test_nonsense_ends_in_a_result_or_in_one_line(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    call, arguments = CALLS[name]
    failures = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for argument in arguments:
            for kind, make in NONSENSE.items():
                if kind == "text of two lines" and argument in PATHS:
                    continue
                failure = _failure(call, arguments | {argument: make()})
                if failure:
                    failures.append(f"{argument}={kind}: {failure[:300]}")
    assert not failures, "\n".join(failures)
