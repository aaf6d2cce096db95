"""What verbs share: options, parsers of their values, and what is printed: tables for people, JSON for machines."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from stereo_framework.core.errors import ParameterError, few, harmless, nearest, short

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from stereo_framework.core.scene import Scene
    from stereo_framework.evaluation import Protocol
    from stereo_framework.own_pair.choosing import Standing
    from stereo_framework.sweep import Result
    from stereo_framework.sweep.tune import Trial

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
Scale = Annotated[
    float | None,
    typer.Option(help="Grey levels per pixel of disparity, of files that are grey pictures; default: the data set's."),
]
Unknown = Annotated[int | None, typer.Option(help="Value that means no estimate: a grey level, or pixels such as -1.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON array instead of a table.")]


GROUPS = {
    "Images": ("disparity_range", "calibration", "focal", "baseline", "rectify", "stretch", "image_masks", "pixel_ranges"),
    "What is measured, and how": ("protocol", "measure", "statistic", "threshold", "truth", "mask", "scale", "unknown"),
    "Who computes": ("workers", "executor", "dask", "memory"),
    "What is written and printed": ("out", "name", "maps", "report", "json", "format", "limit", "export", "plots", "single_file"),
    "Everywhere": ("data", "plugin", "no_plugins", "max_pixels", "traceback", "help"),
}
"""Groups of the options in the help, by their parameters' names."""


def group(name: str) -> str:
    """The group of an option."""
    return next((title for title, own in GROUPS.items() if name in own), "Options")


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


def scale_of(path: Path, files: Sequence[Path], scale: float | None) -> float | None:
    """``--scale`` for a file: None where it holds pixels, and others beside it are grey pictures."""
    from stereo_framework.io.disparity import map_values

    def is_picture(one: Path) -> bool:
        return map_values(one)[0].dtype.kind == "u"

    # Most often the first that is asked is a picture: the others need not be read.
    return None if scale is None or (not is_picture(path) and any(map(is_picture, files))) else scale


def truth_alone(
    truth: Path | None,
    mask: Path | None = None,
    protocol: str | dict[str, Any] | None = None,
    scale: float | None = None,
    maps: Sequence[Path] = (),
) -> tuple[Scene, Protocol] | None:
    """The scene that ``--truth`` and ``--mask`` stand for, and how maps are measured there; None without them."""
    from stereo_framework.evaluation.evaluate import of_truth
    from stereo_framework.io import read_disparity, read_mask

    if truth is None:
        if mask is not None:
            raise ParameterError("--mask goes with --truth")
        return None
    scene, measured = of_truth(read_disparity(truth, scale=scale_of(truth, maps, scale)), protocol)
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


# --- what is printed ----------------------------------------------------------------------------------------------------


def print_json(value: Any) -> None:
    """Print plain data; NaN, which JSON has not, becomes null."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False, default=str))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = vars(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | Iterator):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    keys: int = 0,
    upright: bool = False,
    best: Collection[tuple[int, int]] = (),
) -> None:
    """Print a table as `laid_out` arranges it for the terminal, with the cells `best` bold; into a pipe, with tabs between the cells."""
    from stereo_framework.tables.terminal import laid_out, tabbed

    say(title)
    header, *rows = ([harmless(cell) for cell in row] for row in (header, *rows))
    if not on_a_terminal():
        print("\n".join(tabbed(header, rows)))
        return
    print(laid_out(header, rows, _columns(), keys=keys, upright=upright, best=best) + "\n")


def say(*lines: str, indent: int = 0) -> None:
    """Print lines that are not empty; too long ones go on below, indented, on a terminal."""
    for line in map(harmless, filter(None, lines)):
        if on_a_terminal():
            options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": " " * indent}
            line = textwrap.fill(line, _columns(), **options)
        print(line)


def tell(kind: str, *lines: str) -> None:
    """Print errors or warnings, each on a line that begins with its kind, ``warning: ...``."""
    try:
        for line in lines:
            print(harmless(f"{kind}: {line}"), file=sys.stderr)
    except OSError:
        # The exit status still reports the error.
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Discard what is printed to a stream from now on, and what waits in its buffer."""
    # A stream in memory, as tests use it, has no file.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def on_a_terminal() -> bool:
    """Whether people see what is printed."""
    return sys.stdout.isatty()


def _columns() -> int:
    """Characters of a line of the terminal."""
    return shutil.get_terminal_size().columns


def said_protocol(text: str) -> str:
    """The first choices of a protocol in one line."""
    from stereo_framework.evaluation.protocols import PRESETS
    from stereo_framework.tables.terminal import protocol_line

    name = text.partition(": ")[0]
    how = f"stages {name}" if name in PRESETS else "the page of 'report'"
    return protocol_line(text, _columns() if on_a_terminal() else 0, how)


_AVERAGES = 200
"""Averages below a table of which only the first rows are printed."""


def print_results(
    results: Sequence[Result],
    columns: Sequence[str] = (),
    *,
    most: int | None = None,
    whole: str = "--limit 0",
) -> list[Result]:
    """Print results, one table for each protocol and what it is, in short, under it, then warnings and errors.

    Where just the first rows of each protocol are printed, at `most` so many, the columns and what is best are those of all of its results, and `whole` is what
    shows all of them. A table over several scenes ends with the averages that the protocol prescribes, over all results, of which a cut table shows no
    more than `_AVERAGES`. The results that are printed are returned.
    """
    from stereo_framework.tables.means import average_rows
    from stereo_framework.tables.tables import listing
    from stereo_framework.tables.values import by_protocol
    from stereo_framework.tables.words import setting_name

    means = average_rows(results)
    averages = by_protocol(means)
    printed: list[Result] = []
    for text, same in by_protocol(results).items():
        own = averages.get(text, [])
        part = range(len(same))[: most or None]
        below = range(len(own))[: _AVERAGES if most else None]
        table = listing([*same, *own], columns).rows_of([*part, *(len(same) + i for i in below)])
        printed += same[: len(part)]
        print_table(table.header, table.texts(), keys=table.keys, upright=True, best=table.best)
        say(said_protocol(text))
        say_cut(len(part), len(same), "rows", whole)
        say_cut(len(below), len(own), "averages", whole)
    warned: dict[tuple[str, str], list[str]] = {}
    for result in [*printed, *means]:
        for warning in result.warnings:
            warned.setdefault((result.scene, warning.removeprefix(f"{result.scene}: ")), []).append(setting_name(result))
        if result.error:
            tell("error", f"{result.scene} {setting_name(result)}: {result.error}")
    for (scene, warning), settings in warned.items():
        tell("warning", f"{scene} {few(list(dict.fromkeys(settings)), 1)}: {warning}")
    return printed


def say_cut(shown: int, count: int, what: str, whole: str) -> None:
    """Tell that only the first of something were printed."""
    if shown < count:
        say(f"the first {shown} of {count} {what}; {whole} shows all")


def print_tracebacks(failed: Sequence[Result] | Sequence[Trial]) -> None:
    """Print where in the code errors were raised, each place once."""
    for text in dict.fromkeys(one.traceback for one in failed if one.traceback):
        print(text, end="", file=sys.stderr)


def measured(results: Sequence[Result], measures: Sequence[str]) -> list[str]:
    """The statistics of results that measures or groups ask for; of the HCI metrics' coverages the pages and exports tell."""
    from stereo_framework.evaluation.metrics import GROUPS, metric_of

    asked = {name for measure in measures for name in GROUPS.get(measure, (measure,)) if name != "hci_coverage"}
    found = dict.fromkeys(name for r in results for name in r.statistics)
    return [name for name in found if (metric := metric_of(name)) and metric.name in asked]


def print_standings(scene: str, first: str, found: Sequence[Standing], seconds: Mapping[str, float] | None = None) -> None:
    """How maps compare with the first one, without truth."""
    print(f"{scene}, without truth, against {first}: wrong pixels more (+) or less (-), estimated, in percentage points")
    header = ["map", "estimate", "90 %", "answer", *(["seconds"] if seconds else [])]
    rows = [
        [s.name, f"{s.difference:+.1f}", f"+- {s.half_width:.1f}", s.verdict, *([f"{seconds[s.name]:.2f}"] if seconds else [])]
        for s in found
    ]
    print_table(header, rows)


def standings_record(scene: str, first: str, found: Sequence[Standing]) -> dict[str, Any]:
    """The same for ``--json``."""
    return {"scene": scene, "first": first, "standings": [vars(s) | {"verdict": s.verdict} for s in found]}
