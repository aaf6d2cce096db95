"""Options and small parsers that several verbs share."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereo_framework.core.errors import ParameterError, nearest, short

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from stereo_framework.core.scene import Scene
    from stereo_framework.evaluation import Protocol

Data = Annotated[Path | None, typer.Option(help="Data root; default: STEREO_DATA, then the user's cache folder.")]
Plugins = Annotated[list[str] | None, typer.Option(metavar="MODULE|FILE.py", help="Import this plug-in too; repeatable.")]
NoPlugins = Annotated[bool, typer.Option("--no-plugins", help="Import no plug-in, named by a script or installed.")]
MaxPixels = Annotated[int | None, typer.Option(min=1, help="Largest images and maps that are read; default: 100 million.")]
Traceback = Annotated[bool, typer.Option("--traceback", help="Print where in the code an error was raised, all of it.")]
ExecutorName = Annotated[str, typer.Option("--executor", help="thread: in this process; process: each worker is one of its own.")]
Dask = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Compute on the workers of this Dask scheduler.")]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a value; repeatable.")]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure", "--measures", help="Measure this too, and show it alone ('stages measures' lists all); repeatable."
    ),
]
ProtocolSpec = Annotated[
    str | None,
    typer.Option("--protocol", help="How to measure: a preset or {base: PRESET, field: value}; default: the scene's own."),
]
Truth = Annotated[Path | None, typer.Option(help="True disparities (PFM, npy, 16-bit PNG; of 8 bits with --scale).")]
TruthMask = Annotated[Path | None, typer.Option(help="With --truth: measure only where this picture is white.")]
Scale = Annotated[float | None, typer.Option(help="Grey levels per pixel of disparity; default: the data set's.")]
Unknown = Annotated[int | None, typer.Option(help="Value that means no estimate: a grey level, or pixels such as -1.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON array instead of a table.")]


def names(text: str | None) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def disparities(text: str) -> tuple[float, float]:
    """Parse a search range, both ends included: ``A:B``, ``A..B`` or ``A-B``; ``B`` alone begins at 0."""
    number = r"[+-]?[0-9]+(?:\.[0-9]+)?"
    found = re.fullmatch(rf"\s*(?:({number})\s*(?::|\.\.|-)\s*)?({number})\s*", text)
    if found is None:
        raise ParameterError(
            f"--disparities {short(text, 40)!r}: expected MINIMUM:MAXIMUM in pixels, both included, such as 0:64; or, for images of your own, auto"
        )
    low, high = float(found[1] or 0), float(found[2])
    if low >= high:
        raise ParameterError(f"--disparities {text!r}: {high:g} is not above {low:g}; write MINIMUM:MAXIMUM, such as 0:64")
    return low, high


def truth_alone(
    truth: Path | None, mask: Path | None = None, protocol: str | dict[str, Any] | None = None, scale: float | None = None
) -> tuple[Scene, Protocol] | None:
    """The scene that ``--truth`` and ``--mask`` stand for, and how maps are measured there; None without them."""
    from stereo_framework.evaluation.evaluate import of_truth
    from stereo_framework.io import read_disparity, read_mask

    if truth is None:
        if mask is not None:
            raise ParameterError("--mask goes with --truth")
        return None
    scene, measured = of_truth(read_disparity(truth, scale=scale), protocol)
    scene = replace(scene, name=truth.stem)
    return scene if mask is None else scene.within(read_mask(mask)), measured


def protocol_spec(text: str | None) -> str | dict[str, Any] | None:
    """Parse ``--protocol``: the name of a preset, or a mapping as scripts write it."""
    from stereo_framework.io.places import Faults
    from stereo_framework.io.yaml_text import parse

    if text is None or not text.lstrip().startswith("{"):
        return text
    faults = Faults()
    node = parse(text, "--protocol", faults)
    faults.raise_if_any()
    return node.data() if node else None


def size(text: str) -> int:
    """Parse an amount of memory, ``8G`` or ``500M``, as bytes; units are powers of 1024."""
    units = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
    match = re.fullmatch(r"([0-9.]+)\s*([KMGT]?)(iB|B)?", text.strip(), re.IGNORECASE)
    try:
        count = int(float(match[1]) * units[match[2].upper()]) if match else 0
    except (ValueError, OverflowError):
        count = 0
    if count <= 0:
        raise ParameterError(f"--memory {short(text, 40)!r}: expected an amount of memory above 0, such as 8G or 500M")
    return count


Memory = Annotated[
    int | None, typer.Option(metavar="SIZE", parser=size, help="For cost volumes, as 8G; default: most that is free.")
]


def who(name: str, workers: int | None, dask: str | None) -> AbstractContextManager[Executor | None]:
    """Who computes, as --executor or --dask say: None for threads of this process."""
    from stereo_framework.sweep.executors import Processes, dask_executor

    if name not in ("thread", "process"):
        raise ParameterError(f"--executor: no such executor {name!r}; {nearest(name, ('thread', 'process'))}")
    if dask is not None:
        return dask_executor(dask)
    return Processes(workers) if name == "process" else nullcontext()
