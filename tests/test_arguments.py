"""Arguments of public functions: nonsense ends in a result or in one line, and never in an error from the inside."""

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
    sf.run({"include": "window"}, "synthetic/planes", out=path / "results") if False else None
    return path


def _failure(call, arguments):
    try:
        call(**arguments)
    except sf.StereoFrameworkError as error:
        return "" if "\n" not in str(error) else f"several lines: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("name", CALLS)
def test_nonsense_ends_in_a_result_or_in_one_line(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    call, arguments = CALLS[name]
    failures = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for argument in arguments:
            for kind, make in NONSENSE.items():
                failure = _failure(call, arguments | {argument: make()})
                if failure:
                    failures.append(f"{argument}={kind}: {failure[:300]}")
    assert not failures, "\n".join(failures)
