"""Matches of the tiles of a large pair, kept in files, so that a `match` that was stopped goes on with the tiles that are left."""

import contextlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.calls import CallReport, report_call
from stereo_framework.core.errors import DataError
from stereo_framework.core.pair import Pair
from stereo_framework.engine.match import Match
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.engine.walk import walked
from stereo_framework.io import check_file, inside, write_bytes
from stereo_framework.sweep.identity import content_digest

_ARRAYS = ("disparity", "status")
_VALUES = ("warnings", "memory", "messages")


def kept_match(method: Pipeline, pair: Pair, folder: Path, **options: Any) -> Match:
    """The match of a pair, from a file if the same method has matched the same pair before, else computed and written there.

    Parameters
    ----------
    method : Pipeline
    pair : Pair
    folder : Path
        ``parts/CODE`` in an output folder, one for each version of the code. Where it cannot be written, nothing is kept.
    **options
        Those of `walked`.

    Returns
    -------
    Match
        From a file it has what schemes put together: the map, status, confidence and words.
    """
    path = folder / f"{_digest(method, pair)}.npz"
    # A file that is damaged, in whatever way, is made again.
    with contextlib.suppress(Exception):
        match = _read(path, pair)
        # Nobody knows any more what it took.
        report_call(CallReport())
        return match
    match = walked(method, pair, **options)
    with contextlib.suppress(OSError, DataError):
        _write(path, match)
    return match


def remove_kept(folder: Path) -> None:
    """Remove what was kept in a folder, and what other versions of the code have left beside it, once the map is written."""
    shutil.rmtree(inside(folder.parents[1], folder.parent), ignore_errors=True)


def _digest(method: Pipeline, pair: Pair) -> str:
    files = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for paths in method.files().values() for path in paths]
    return content_digest([repr(method.stages()), files, pair], {}).hex()[:32]


def _write(path: Path, match: Match) -> None:
    arrays = {name: getattr(match, name) for name in _ARRAYS} | {f"confidence/{name}": v for name, v in match.confidence.items()}
    # Numbers of plug-ins may be numpy's.
    text = json.dumps({name: getattr(match, name) for name in _VALUES}, default=float)
    # What could not be read is damaged.
    inside(path.parents[2], path).unlink(missing_ok=True)
    buffer = io.BytesIO()
    np.savez(buffer, text=np.array(text), **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, buffer.getvalue())


def _read(path: Path, pair: Pair) -> Match:
    # Opening a pipe would wait without end for a program that writes to it.
    check_file(path)
    # numpy does not close a file that it opens and cannot read.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
        values = json.loads(str(found["text"]))
        confidence = {name.partition("/")[2]: found[name] for name in found.files if name.startswith("confidence/")}
        arrays = {name: found[name] for name in _ARRAYS}
    values |= dict.fromkeys(("levels", "energy", "objective", "lower_bound")) | {"trace": (), "seconds": {}}
    return Match(**arrays, **values | {"warnings": tuple(values["warnings"])}, search=pair.search, confidence=confidence)
