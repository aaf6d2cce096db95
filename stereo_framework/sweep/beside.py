"""Maps made elsewhere, measured and stored among the results of a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from stereo_framework.evaluation import Protocol
from stereo_framework.evaluation.protocols import PRESETS
from stereo_framework.io import file_stem, write_disparity
from stereo_framework.sweep.identity import environment, files_digest, run_id, scene_digest
from stereo_framework.sweep.plan import result_key
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.store import Store
from stereo_framework.sweep.submission import Measured


def add_maps(
    folder: Path, method: str, measured: Sequence[Measured], place: Path, reading: Mapping[str, Any] | None = None
) -> list[Result]:
    """Write maps that somebody else has made, and what was measured of them, to a results folder.

    They stand there beside the results of the script that was run there last, or will be; those of the same method, scene and protocol are replaced.

    Parameters
    ----------
    folder : Path
        Output folder, new or with results.
    method : str
    measured : sequence of Measured
    place : Path
        The file, or the folder with a file for each scene, that they were read from.
    reading : mapping, optional
        How grey levels were read, ``scale`` and ``unknown``, as far as it was said.

    Returns
    -------
    list of Result

    Raises
    ------
    DataError
        A script's method in the folder has that name, or another process writes there.
    """
    parameters = {"matcher.use": "maps", **{f"matcher.{name}": value for name, value in (reading or {}).items()}}
    found = {}
    with Store(folder, create=True) as store:
        store.refuse_method(method)
        for one in measured:
            content = parameters | {"matcher.files": files_digest([one.path])}
            # Nothing was computed: other code makes it no other map. What measures it may have changed, and so it is measured anew whenever it is added.
            identity = run_id(scene_digest(one.scene), "", content, "")
            path = folder / "maps" / f"{file_stem(one.scene.name)}_{file_stem(method)}_{identity[:8]}.pfm"
            write_disparity(path, one.disparity)
            maps = {"place": str(place.resolve()), **(reading or {})}
            found[result_key(identity, method, one.protocol)] = one.result(
                method,
                id=identity,
                parameters=parameters,
                script={
                    "name": method,
                    "scenes": [one.scene.name],
                    "maps": maps,
                    "evaluation": {"protocol": _spec(one.protocol)},
                },
                map=path,
                environment=environment(),
            )
        store.add_outside(found)
    return list(found.values())


def _spec(protocol: Protocol) -> dict[str, Any]:
    """A protocol as a script writes it."""
    base = PRESETS[protocol.name.partition("[")[0]] if protocol.name.partition("[")[0] in PRESETS else PRESETS["taxonomy2002"]
    own = {f.name: getattr(protocol, f.name) for f in fields(protocol)}
    # Tuples and records as YAML and JSON hold them.
    plain = {
        name: vars(value) if is_dataclass(value) else list(value) if isinstance(value, tuple) else value
        for name, value in own.items()
    }
    return {"base": base.name, **{name: plain[name] for name, value in own.items() if value != getattr(base, name)}}
