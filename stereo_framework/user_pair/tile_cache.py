"""Estimates of the tiles of a large pair, kept in files, so that a `match` that was stopped goes on with the tiles that are left."""

import contextlib
import io
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.call_context import CallReport, report_call
from stereo_framework.core.errors import DataError
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.pair import Pair
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.runner import run_pipeline
from stereo_framework.io import check_file, resolve_inside, write_bytes
from stereo_framework.sweep.code_identity import CodeReader
from stereo_framework.sweep.identity import content_digest, files_digest

_ARRAYS = ("disparity", "status")
_VALUES = ("warnings", "memory", "messages")
_CONFIDENCE = "confidence/"
"""Beginning of the names of confidence maps in a file."""


def match_or_read(method: Pipeline, pair: Pair, folder: Path, **options: Any) -> Estimate:
    """The estimate of a pair, from a file if the same method has matched the same pair before, else computed and written there.

    Parameters
    ----------
    method : Pipeline
    pair : Pair
    folder : Path
        ``parts/tiles`` in an output folder. If it cannot be written, nothing is kept.
    **options
        Those of `run_pipeline`.

    Returns
    -------
    Estimate
        From a file it has what schemes put together: the map, status, confidence and words.
    """
    path = folder / f"{_digest(method, pair)}.npz"
    # A file that is damaged, in whatever way, is made again.
    with contextlib.suppress(Exception):
        match = _read(path, pair)
        # Nobody knows any more what it took.
        report_call(CallReport())
        return match
    match = run_pipeline(method, pair, **options)
    with contextlib.suppress(OSError, DataError):
        _write(path, match)
    return match


def remove_tiles(folder: Path) -> None:
    """Remove the tiles in a folder and in its neighbours, once the map is written."""
    # If the folder is a link that leads elsewhere, the link and its target stay.
    with contextlib.suppress(DataError, OSError):
        shutil.rmtree(resolve_inside(folder.parents[1], folder.parent), ignore_errors=True)


def _digest(method: Pipeline, pair: Pair) -> str:
    """Return the name under which the estimate of a pair is stored.

    The name depends on the code of the method's stages, and on the content of the files
    that these stages use. Stages that the running program defines count by their names.
    """
    code = CodeReader(in_memory=False).matching_digest(method)
    files = {address: files_digest(paths) for address, paths in method.files().items()}
    return content_digest([code, repr(method.stages()), files, pair], {}).hex()[:32]


def _write(path: Path, match: Estimate) -> None:
    arrays = {name: getattr(match, name) for name in _ARRAYS} | {
        f"{_CONFIDENCE}{name}": v for name, v in match.confidence.items()
    }
    # Numbers of plug-ins may be numpy's.
    text = json.dumps({name: getattr(match, name) for name in _VALUES}, default=float)
    # A file or an empty folder that could not be read is damaged.
    damaged = resolve_inside(path.parents[2], path)
    if damaged.is_dir() and not damaged.is_symlink():
        damaged.rmdir()
    else:
        damaged.unlink(missing_ok=True)
    buffer = io.BytesIO()
    np.savez(buffer, text=np.array(text), **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, buffer.getvalue())


def _read(path: Path, pair: Pair) -> Estimate:
    """Return the estimate that a file holds.

    Raises
    ------
    Exception
        Of any kind: the file is missing, damaged, or holds something else.
    """
    # Opening a pipe would wait for a program that writes to it.
    check_file(path)
    # numpy does not close what it opens and cannot read.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        values = json.loads(str(archive["text"]))
        names = [name for name in archive.files if name.startswith(_CONFIDENCE)]
        confidence = {name.removeprefix(_CONFIDENCE): archive[name] for name in names}
        arrays = {name: archive[name] for name in _ARRAYS}

    _check(arrays, confidence, values, pair.reference.shape[:2])
    values |= dict.fromkeys(("levels", "energy", "objective", "lower_bound")) | {
        "trace": (),
        "seconds": {},
    }
    return Estimate(
        **arrays,
        **values | {"warnings": tuple(values["warnings"])},
        search=pair.search,
        confidence=confidence,
    )


def _check(
    arrays: Mapping[str, NDArray],
    confidence: Mapping[str, NDArray],
    values: Any,
    shape: tuple[int, ...],
) -> None:
    """Raise ValueError if the content of a file is not that of an estimate of this shape."""
    maps = [arrays["disparity"], *confidence.values()]
    are_maps = all(array.dtype == np.float32 and array.shape == shape for array in maps)
    has_status = arrays["status"].dtype == np.uint8 and arrays["status"].shape == shape
    if not are_maps or not has_status:
        raise ValueError("an array has another type or shape than the pair")

    is_record = isinstance(values, dict) and values.keys() == set(_VALUES)
    if not is_record:
        raise ValueError("the record has other keys")
    are_texts = isinstance(values["warnings"], list) and all(
        isinstance(line, str) for line in values["warnings"]
    )
    has_memory = values["memory"] is None or isinstance(values["memory"], int | float)
    if not are_texts or not has_memory or not isinstance(values["messages"], str):
        raise ValueError("a value of the record has another type")
