"""Matches of the pairs that a scheme makes, kept in files, so that a run that was killed goes on with the pairs that are left."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.call_reports import CallReport, report_call
from stereo_framework.core.errors import DataError
from stereo_framework.core.pair import Pair
from stereo_framework.engine.match import Match
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.io import inside, write_bytes

_ARRAYS = ("disparity", "status", "labels")
_VALUES = ("energy", "objective", "lower_bound", "trace", "seconds", "warnings", "memory", "messages")


def kept_match(method: Pipeline, pair: Pair, folder: Path) -> Match:
    """The match of a pair, from a file if the same method has matched the same pair before, else computed and written there.

    Parameters
    ----------
    method : Pipeline
    pair : Pair
    folder : Path
        ``parts/CODE`` in a folder of results, one for each version of the code. Where it cannot be written, nothing is kept.
    """
    path = parts_of(method, folder) / f"{_digest(pair)}.npz"
    # A file that is damaged, in whatever way, is made again.
    with contextlib.suppress(Exception):
        match = _read(path, pair)
        # Nobody knows any more what it took.
        report_call(CallReport())
        return match
    match = method(pair)
    with contextlib.suppress(OSError, DataError):
        _write(path, match)
    return match


def remove_kept(folder: Path, method: Pipeline | None = None) -> None:
    """Remove what was kept of a method, or of all methods, once their results are written.

    Parameters
    ----------
    folder : Path
        As of `kept_match`.
    method : Pipeline, optional
    """
    shutil.rmtree(inside(folder.parents[1], folder if method is None else parts_of(method, folder)), ignore_errors=True)
    # Those of other runs and of other versions may be there.
    with contextlib.suppress(OSError):
        for empty in (folder, folder.parent):
            if empty.exists():
                empty.rmdir()


def parts_of(method: Pipeline, folder: Path) -> Path:
    """Where a method's matches are kept in a folder."""
    files = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for paths in method.files().values() for path in paths]
    return folder / hashlib.sha256(repr((method.stages(), files)).encode()).hexdigest()[:16]


def _digest(pair: Pair) -> str:
    found = hashlib.sha256(repr(pair.search).encode())
    for array in (pair.reference, pair.match, *(vars(pair.domain).values() if pair.domain else ())):
        found.update(repr(None if array is None else (array.dtype, array.shape)).encode())
        if array is not None:
            found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()[:32]


def _write(path: Path, match: Match) -> None:
    arrays = {name: getattr(match, name) for name in _ARRAYS if getattr(match, name) is not None}
    arrays |= {f"confidence/{name}": values for name, values in match.confidence.items()}
    # Numbers of plug-ins may be numpy's.
    text = json.dumps({name: getattr(match, name) for name in _VALUES}, default=float)
    # Another machine may not have the folder of the results, which lies around those of the code and of the method.
    if not path.parents[3].is_dir():
        return
    # What could not be read is damaged.
    inside(path.parents[3], path).unlink(missing_ok=True)
    buffer = io.BytesIO()
    np.savez(buffer, text=np.array(text), **arrays)
    write_bytes(path, buffer.getvalue())


def _read(path: Path, pair: Pair) -> Match:
    # numpy does not close what it opens and cannot read.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
        values = json.loads(str(found["text"]))
        confidence = {name.partition("/")[2]: found[name] for name in found.files if name.startswith("confidence/")}
        arrays: dict[str, Any] = {name: found[name] if name in found.files else None for name in _ARRAYS}
    values |= {"trace": tuple(map(tuple, values["trace"])), "warnings": tuple(values["warnings"])}
    return Match(**arrays, **values, search=pair.search, confidence=confidence)
