"""Options, parsers of their values, and printers of tables and JSON for commands."""

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
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from stereo_framework.core import limits
from stereo_framework.core.errors import NOTE, ParameterError, few, nearest, one_line, short

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from stereo_framework.core.scene import Scene
    from stereo_framework.evaluation import Protocol
    from stereo_framework.evaluation.sanity import Remedies
    from stereo_framework.sweep import Result, ResultSet
    from stereo_framework.sweep.trials import Trial
    from stereo_framework.user_pair.method_choice import MapComparison

Data = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder of the data sets; default: $STEREO_DATA, otherwise the user's cache folder.",
    ),
]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE|FILE.py",
        help="Import a plug-in, for example a file that defines a stage; repeatable.",
    ),
]
NoPlugins = Annotated[
    bool,
    typer.Option(
        "--no-plugins",
        help="Ignore all plug-ins, and refuse Python functions and programs that a script names.",
    ),
]
MaxPixels = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Refuse images and disparity maps with more than N pixels; default: 100 million.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Maximum number of threads; default: the available cores. Results do not depend on it.",
    ),
]
Traceback = Annotated[
    bool,
    typer.Option("--traceback", help="Print the full Python traceback if an error occurs."),
]
ExecutorName = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="thread: run in this process; process: start a process for each worker.",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Use the workers of the Dask scheduler at this address."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value of the script, such as aggregation.box.size=9; repeatable.",
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Metric to compute in addition to the protocol's metrics. The table shows only such metrics. A statistic, such as bad_pixels_nonocc, is also allowed ('stages metrics' lists all); repeatable.",
    ),
]
ProtocolSpec = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        metavar="NAME",
        help="Evaluation protocol: a preset or {base: PRESET, field: value} ('stages protocols' lists the presets); default: the protocol of the scene.",
    ),
]
Truth = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Ground-truth disparity map (PFM, NPY or 16-bit PNG; 8-bit images need --truth-scale).",
    ),
]
TruthMask = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Image that is white where the map is evaluated; for --truth only."
    ),
]
DisparityScale = Annotated[
    float | None,
    typer.Option(
        metavar="FACTOR",
        help="Stored units per pixel of disparity in the maps, negative if the sign is reversed; default: 256 in 16-bit images, the factor of the data set in 8-bit images, 1 in files of floating-point numbers.",
    ),
]
Unknown = Annotated[
    float | None,
    typer.Option(
        metavar="VALUE",
        help="Stored value that marks pixels without an estimate in the maps, such as -1.",
    ),
]
TruthScale = Annotated[
    float | None,
    typer.Option(
        metavar="FACTOR", help="Stored units per pixel of disparity in the file of --truth."
    ),
]
TruthUnknown = Annotated[
    float | None,
    typer.Option(
        metavar="VALUE",
        help="Stored value that marks unknown pixels in the file of --truth, such as 0.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON array instead of a table.")]


GROUPS = {
    "Method": ("method", "methods", "settings"),
    "Input": (
        "scene",
        "example",
        "disparity_range",
        "calibration",
        "cameras",
        "focal_length",
        "baseline",
        "rectify",
        "stretch",
        "image_masks",
        "pixel_ranges",
    ),
    "Evaluation": (
        "protocol",
        "metric",
        "statistic",
        "threshold",
        "truth",
        "truth_scale",
        "truth_unknown",
        "truth_mask",
        "disparity_scale",
        "unknown",
    ),
    "Execution": ("threads", "workers", "executor", "dask", "memory"),
    "Output": (
        "out",
        "name",
        "maps",
        "report",
        "json",
        "format",
        "sort",
        "limit",
        "export",
        "plots",
        "single_file",
    ),
    "General": ("data", "plugin", "no_plugins", "max_pixels", "traceback", "help"),
}
"""Groups of the options in the help, by their parameters' names."""


def group(name: str) -> str:
    """The group of an option."""
    return next((title for title, own in GROUPS.items() if name in own), "Options")


def names(text: str | None) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


_typed_paths: dict[str, str] = {}
"""Paths as the user typed them, by the absolute paths that stand for them."""

_NAMES_OR_FILES = ("script", "scene", "method", "methods", "plugin")
"""Options whose texts are either names or paths of files."""

_IMAGES = ("left", "right")
"""Arguments whose texts are paths of images, folders of images or patterns."""


def absolute_paths(options: Mapping[str, Any]) -> dict[str, Any]:
    """Make the paths among a command's options absolute.

    A plug-in or a method may change the current folder while the command runs. Messages
    still show the paths as they were typed, see `as_typed`.

    Parameters
    ----------
    options : mapping
        Values by the names of the options.
    """
    _typed_paths.clear()
    return {name: _with_absolute_paths(name, value) for name, value in options.items()}


def _with_absolute_paths(option: str, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_with_absolute_paths(option, item) for item in value)
    if isinstance(value, Path):
        return absolute_path(value)
    is_path = option in _IMAGES or (option in _NAMES_OR_FILES and os.path.isfile(str(value)))
    if isinstance(value, str) and is_path:
        return str(absolute_path(Path(value)))
    return value


def absolute_path(path: Path, start: Path | None = None) -> Path:
    """Make a path absolute; messages show it as it is given here.

    Parameters
    ----------
    path : Path
    start : Path, optional
        Folder from which a relative path starts; default: the current folder.
    """
    if path.is_absolute():
        return path
    folder = start or Path.cwd()
    _typed_paths[str(folder / path)] = str(path)
    if path.parent != Path():
        # The neighbours of a script in this folder are shown in the same way.
        _typed_paths[f"{folder / path.parent}{os.sep}"] = f"{path.parent}{os.sep}"
    return folder / path


def as_typed(text: object) -> str:
    """Return a text in which the paths of the command's options stand as they were typed."""
    line = str(text)
    # The longest first: a folder may contain the file that another option names.
    for path in sorted(_typed_paths, key=len, reverse=True):
        line = line.replace(path, _typed_paths[path])
    return line


def camera_numbers(text: str | None) -> tuple[int, int] | None:
    """Return the two numbers of ``--cameras``."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*([0-9])\s*,\s*([0-9])\s*", text)
    if match is None or match[1] == match[2]:
        message = f"--cameras {text}: is not a pair of different cameras; expected two numbers, such as 2,3"
        raise ParameterError(message)
    return int(match[1]), int(match[2])


def refuse_without_effect(reason: str, options: Mapping[str, bool]) -> None:
    """Refuse options that would be accepted and not used.

    Parameters
    ----------
    reason : str
        The end of the message's first clause, such as "without --new".
    options : mapping of str to bool
        Whether the user has written an option, by its name.

    Raises
    ------
    ParameterError
        At least one option is written.
    """
    for option, is_written in options.items():
        if is_written:
            message = f"{option} has no effect {reason}; leave it out"
            raise ParameterError(message)


_FORMATS = ("table", "csv", "markdown", "latex")
"""Values of the option ``--format``."""


def check_format(format: str, *, json: bool) -> None:
    """Refuse an unknown format, and a second format in addition to ``--json``."""
    if format not in _FORMATS:
        hint = nearest(format, _FORMATS, kind="formats")
        raise ParameterError(f"--format: no format {format!r}; {hint}")
    if json and format != "table":
        raise ParameterError(f"one format at a time, not {format} and json")


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
        raise ParameterError(
            f"--disparities {text!r}: {high:g} is not above {low:g}; write MINIMUM:MAXIMUM, such as 0:64"
        )
    return low, high


@dataclass(frozen=True)
class Encoding:
    """Scales and markers of a command line: of the maps and of the ground truth.

    Parameters
    ----------
    disparity_scale, unknown : float, optional
        Of the maps.
    truth_scale, truth_unknown : float, optional
        Of the file of ``--truth``.
    """

    disparity_scale: float | None = None
    unknown: float | None = None
    truth_scale: float | None = None
    truth_unknown: float | None = None

    def scale_of_map(self, path: Path, maps: Sequence[Path], truth: Path | None) -> float | None:
        """Return the scale of a map.

        If some of the maps hold integers, ``--disparity-scale`` is their scale and not that
        of maps in pixels. If no map holds integers, and a truth of 8 bits needs a scale,
        the option gives the scale of the truth.
        """
        from stereo_framework.io.disparity import holds_integers

        if self.disparity_scale is None or holds_integers(path):
            return self.disparity_scale
        if any(map(holds_integers, maps)) or self._is_scale_of_8_bits(truth):
            return None
        return self.disparity_scale

    def unknown_of_map(self, path: Path, maps: Sequence[Path]) -> float | None:
        """Return the marker of a map.

        Among several maps, ``--unknown`` is not that of a picture that cannot hold it.
        """
        from stereo_framework.io.disparity import grey_bits

        if self.unknown is None or len(maps) < 2:
            return self.unknown
        bits = grey_bits(path)
        is_grey_level = self.unknown.is_integer() and 0 <= self.unknown < 2**bits
        return self.unknown if is_grey_level or not bits else None

    def scale_of_truth(self, truth: Path, maps: Sequence[Path]) -> float | None:
        """Return ``--truth-scale``, or ``--disparity-scale`` if a truth of 8 bits needs it.

        Raises
        ------
        ParameterError
            ``--disparity-scale`` may or may not be that of a truth with 16 bits.
        """
        from stereo_framework.io.disparity import KITTI_SCALE, grey_bits

        if self.truth_scale is not None or self.disparity_scale is None:
            return self.truth_scale
        if self._is_scale_of_8_bits(truth):
            return self.disparity_scale

        needs_scale = self.disparity_scale < 0 or any(map(_holds_signed_integers, maps))
        if grey_bits(truth) == 16 and not needs_scale and self.disparity_scale != KITTI_SCALE:
            message = (
                f"--disparity-scale {self.disparity_scale:g}: {truth} is a 16-bit picture, which has the scale {KITTI_SCALE:g} unless another one is given; "
                f"write --truth-scale {self.disparity_scale:g} or --truth-scale {KITTI_SCALE:g}, and --disparity-scale if the maps have one"
            )
            raise ParameterError(message)
        return None

    def _is_scale_of_8_bits(self, truth: Path | None) -> bool:
        """Return whether ``--disparity-scale`` also scales a truth of 8 bits."""
        from stereo_framework.io.disparity import grey_bits

        if truth is None or self.truth_scale is not None or self.disparity_scale is None:
            return False
        return self.disparity_scale > 0 and grey_bits(truth) == 8


def _holds_signed_integers(path: Path) -> bool:
    """Return whether a map file holds integers and is no grey picture."""
    from stereo_framework.io.disparity import grey_bits, holds_integers

    return holds_integers(path) and grey_bits(path) == 0


def truth_alone(
    truth: Path | None,
    truth_mask: Path | None = None,
    protocol: str | dict[str, Any] | None = None,
    encoding: Encoding = Encoding(),
    maps: Sequence[Path] = (),
) -> tuple[Scene, Protocol, Remedies] | None:
    """Return the scene of ``--truth``, its protocol and the instructions for markers.

    None without ``--truth``.

    Raises
    ------
    ParameterError
        An option needs ``--truth``, or ``--disparity-scale`` has two meanings.
    """
    from stereo_framework.evaluation.evaluate import of_truth
    from stereo_framework.io import read_mask
    from stereo_framework.io.disparity import FORMAT_MARKER, in_pixels, map_values, scale_of
    from stereo_framework.sweep.external_maps import COMMAND_REMEDIES

    if truth is None:
        options = {
            "--truth-mask": truth_mask,
            "--truth-scale": encoding.truth_scale,
            "--truth-unknown": encoding.truth_unknown,
        }
        for option, value in options.items():
            if value is not None:
                message = f"{option} goes with --truth"
                raise ParameterError(message)
        return None

    scale = encoding.scale_of_truth(truth, maps)
    unknown = FORMAT_MARKER if encoding.truth_unknown is None else encoding.truth_unknown
    stored = map_values(truth)
    factor = scale_of(truth, stored, scale)
    scene, measured = of_truth(in_pixels(truth, stored, scale, unknown), protocol)
    scene = replace(scene, name=truth.stem)
    if truth_mask is not None:
        scene = scene.within(read_mask(truth_mask))
    remedies = replace(COMMAND_REMEDIES, truth="write --truth-unknown {value}", truth_scale=factor)
    return scene, measured, remedies


def protocol_spec(text: str | None) -> str | dict[str, Any] | None:
    """Parse ``--protocol``: the name of a preset, or a mapping as scripts write it."""
    from stereo_framework.io.locations import Faults
    from stereo_framework.io.yaml_text import parse

    if text is None or not text.lstrip().startswith("{"):
        return text
    faults = Faults()
    node = parse(text, "--protocol", faults)
    faults.raise_if_any()
    return node.data if node else None


def size(text: str) -> int:
    """Parse an amount of memory, ``8G`` or ``500M``, as bytes; units are powers of 1024."""
    units = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
    match = re.fullmatch(r"([0-9.]+)\s*([KMGT]?)(iB|B)?", text.strip(), re.IGNORECASE | re.ASCII)
    try:
        count = int(float(match[1]) * units[match[2].upper()]) if match else 0
    except (ValueError, OverflowError):
        count = 0
    if count <= 0:
        raise ParameterError(
            f"--memory {short(text, 40)!r}: expected an amount of memory above 0, such as 8G or 500M"
        )
    return count


Memory = Annotated[
    int | None,
    typer.Option(
        metavar="SIZE",
        parser=size,
        help="Maximum memory for cost volumes, such as 8G or 500M; default: most of the free memory.",
    ),
]


def who(
    name: str, workers: int | None, dask: str | None
) -> AbstractContextManager[Executor | None]:
    """Who computes, as --executor or --dask say: None for threads of this process."""
    from stereo_framework.sweep.dask_cluster import dask_executor
    from stereo_framework.sweep.processes import Processes

    if name not in ("thread", "process"):
        raise ParameterError(
            f"--executor: no such executor {name!r}; {nearest(name, ('thread', 'process'))}"
        )
    if dask is not None:
        refuse_without_effect(
            "with --dask, whose workers are processes", {"--executor process": name == "process"}
        )
        return dask_executor(dask)
    return Processes(workers) if name == "process" else nullcontext()


# --- what is printed ----------------------------------------------------------------------------------------------------


def print_json(value: Any) -> None:
    """Print plain data; NaN and infinity, which JSON does not have, become null."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, default=str)
    print(_UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that JSON leaves as they are, although terminals execute them or files cannot hold them."""


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
    header, *rows = ([_cell(cell) for cell in row] for row in (header, *rows))
    if not on_a_terminal():
        print("\n".join(tabbed(header, rows)))
        return
    print(laid_out(header, rows, _columns(), keys=keys, upright=upright, best=best) + "\n")


def _cell(text: str) -> str:
    """Return the text of a cell for a terminal or a pipe, its middle left out if it is long."""
    return short(text, _CELL)


_CELL = 300
"""Characters of a cell of a printed table; no name of a method or a file is longer."""


_SENTENCE = 20_000
"""Characters of a printed line; the longest protocol has a tenth of that."""


def say(*lines: str, indent: int = 0) -> None:
    """Print lines that are not empty; too long ones go on below, indented, on a terminal."""
    for line in filter(None, lines):
        line = one_line(as_typed(line), _SENTENCE)
        if on_a_terminal():
            options: dict[str, Any] = {
                "break_long_words": False,
                "break_on_hyphens": False,
                "subsequent_indent": " " * indent,
            }
            line = textwrap.fill(line, _columns(), **options)
        print(line)


def listed(names: Sequence[str]) -> str:
    """Join names with commas and a final "and"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def tell(kind: str, *lines: str) -> None:
    """Print problems beside the results, each as a line with its kind: ``warning: ...``."""
    try:
        for line in lines:
            print(one_line(as_typed(f"{kind}: {line}")), file=sys.stderr)
    except OSError:
        # The exit status still reports the error.
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Discard what is printed to a stream from now on, and what waits in its buffer."""
    # A stream in memory, as tests use it, has no file.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def tell_some(kind: str, lines: Sequence[str]) -> None:
    """Print at most `limits.PRINTED_LINES` problems, and the number of the others."""
    tell(kind, *lines[: limits.PRINTED_LINES])
    if len(lines) > limits.PRINTED_LINES:
        tell(
            kind,
            f"{len(lines) - limits.PRINTED_LINES} further lines like these are not printed; 'results FOLDER --json' lists all",
        )


def on_a_terminal() -> bool:
    """Whether people see what is printed."""
    return sys.stdout.isatty()


def _columns() -> int:
    """Characters of a line of the terminal."""
    return shutil.get_terminal_size().columns


def protocol_summary(text: str, columns: Sequence[str] = ()) -> str:
    """Return the first choices of a protocol, and the unit of a column, in one line."""
    from stereo_framework.evaluation.protocols import PRESETS
    from stereo_framework.tables.tables import COVERAGE
    from stereo_framework.tables.terminal import COVERAGE_LEGEND, protocol_line

    name = text.partition(": ")[0]
    if name in PRESETS:
        how = f"'stereo-framework stages {name}'"
    else:
        how = "the report"
    legends = [COVERAGE_LEGEND] if COVERAGE in columns else []
    return protocol_line(text, _columns() if on_a_terminal() else 0, how, legends)


def print_results(
    results: ResultSet,
    columns: Sequence[str] = (),
    *,
    most: int | None = None,
    whole: str = "--limit 0",
    sort: Sequence[str] = (),
) -> ResultSet:
    """Print a table of results for each protocol, then warnings and errors.

    A table over several scenes ends with the averages that the protocol prescribes. The
    columns, the best values and the averages are computed from all results, also if only
    the first rows are printed. The averages are then those of the printed settings.

    Parameters
    ----------
    results : ResultSet
        Results of any protocols, in the order of the rows.
    columns : sequence of str
        Columns of the tables. Default: the usual statistics.
    most : int, optional
        Maximum number of results in a table. Default: all.
    whole : str
        Option or command that prints all rows.
    sort : sequence of str
        Keys by which the averages are sorted, as the results are.

    Returns
    -------
    ResultSet
        The printed results.
    """
    from stereo_framework.sweep.result_set import ResultSet

    printed = ResultSet()
    all_averages = ResultSet()
    for results_of_protocol in results.by("protocol_text").values():
        first_results = results_of_protocol[: most or None]
        averages = _averages(results_of_protocol, first_results).sorted_by(sort)
        _print_protocol_table(
            results_of_protocol, averages, columns, shown_count=len(first_results), whole=whole
        )
        printed += first_results
        all_averages += averages
    _print_problems(printed + all_averages)
    return printed


def _averages(results: ResultSet, printed: ResultSet) -> ResultSet:
    """Return the averages of the printed settings, which include all of their results.

    Parameters
    ----------
    results : ResultSet
        All results of one protocol.
    printed : ResultSet
        The results that are printed.
    """
    from stereo_framework.tables.averages import average_rows

    if len(printed) == len(results):
        return average_rows(printed)
    scenes = list(dict.fromkeys(results.column("scene")))
    return average_rows(results.with_settings_of(printed), scenes=scenes)


def _print_protocol_table(
    results: ResultSet,
    averages: ResultSet,
    columns: Sequence[str],
    *,
    shown_count: int,
    whole: str,
) -> None:
    """Print the first results of one protocol, and averages below them."""
    from stereo_framework.tables.tables import listing

    count = len(results)
    rows = [*range(shown_count), *range(count, count + len(averages))]
    table = listing(results, columns, averages).rows_of(rows)
    print_table(table.header, table.texts(), keys=table.keys, upright=True, best=table.best)
    [protocol] = table.notes
    say(protocol_summary(protocol, table.header))
    say_cut(shown_count, count, "rows", whole)
    if averages and shown_count < count:
        say("the averages are those of the shown settings, over all of their results")


def _print_problems(results: ResultSet) -> None:
    """Print errors of runs, and each warning once for all settings that have it."""
    settings_of: dict[tuple[str, str], list[str]] = {}
    errors: list[str] = []
    for result in results:
        setting = result.setting_name
        for warning in result.warnings:
            warning_of_scene = result.scene, warning.removeprefix(f"{result.scene}: ")
            settings_of.setdefault(warning_of_scene, []).append(setting)
        if result.error:
            errors.append(f"{_cell(result.scene)} {_cell(setting)}: {result.error}")

    tell_some("error", errors)
    lines: dict[str, list[str]] = {"warning": [], "note": []}
    for (scene, warning), settings in settings_of.items():
        listed = few([_cell(name) for name in dict.fromkeys(settings)], 1)
        kind = "note" if warning.startswith(NOTE) else "warning"
        lines[kind].append(f"{_cell(scene)} {listed}: {warning.removeprefix(NOTE)}")
    for kind, texts in lines.items():
        tell_some(kind, texts)


def say_cut(shown: int, count: int, what: str, whole: str) -> None:
    """Tell that only the first of something were printed."""
    if shown < count:
        say(f"the first {shown} of {count} {what}; {whole} shows all")


def print_tracebacks(failed: Sequence[Result] | Sequence[Trial]) -> None:
    """Print where in the code errors were raised, each place once."""
    for text in dict.fromkeys(one.traceback for one in failed if one.traceback):
        print(text, end="", file=sys.stderr)


def metrics_of(names: Sequence[str]) -> list[str]:
    """Return the metrics to compute for metrics, groups and statistics.

    A statistic such as bad_pixels_nonocc is computed by its metric, bad_pixels. A name
    that is neither stays, so that it is refused where metrics are read.
    """
    from stereo_framework.evaluation.metrics import metric_of
    from stereo_framework.evaluation.protocols import REGIONS

    metrics: dict[str, None] = {}
    for name in names:
        metric = metric_of(name)
        if metric is not None and name.removeprefix(f"{metric.name}_") in REGIONS:
            metrics[metric.name] = None
        else:
            metrics[name] = None
    return list(metrics)


def statistics_of_metrics(results: ResultSet, names: Sequence[str]) -> list[str]:
    """Return the statistics of results that these names of metrics, groups or statistics mean.

    The pages and exports show the coverages of the HCI metrics, so they are left out.
    """
    from stereo_framework.evaluation.metrics import GROUPS, metric_of

    requested: set[str] = set()
    for name in names:
        requested.update(GROUPS.get(name, (name,)))
    requested.discard("hci_coverage")
    columns: list[str] = []
    for name in results.statistic_names():
        metric = metric_of(name)
        if name in requested or (metric is not None and metric.name in requested):
            columns.append(name)
    return columns


def print_map_comparisons(
    scene: str,
    first: str,
    found: Sequence[MapComparison],
    seconds: Mapping[str, float] | None = None,
) -> None:
    """How maps compare with the first one, without truth."""
    print(
        f"{scene}, without truth, against {first}: wrong pixels more (+) or less (-), estimated, in percentage points"
    )
    header = ["map", "estimate", "90 %", "answer", *(["seconds"] if seconds else [])]
    rows = [
        [
            s.name,
            f"{s.difference:+.1f}",
            f"+- {s.half_width:.1f}",
            s.verdict,
            *([f"{seconds[s.name]:.2f}"] if seconds else []),
        ]
        for s in found
    ]
    print_table(header, rows)


def map_comparisons_record(
    scene: str, first: str, found: Sequence[MapComparison]
) -> dict[str, Any]:
    """The same for ``--json``."""
    return {
        "scene": scene,
        "first": first,
        "comparisons": [vars(s) | {"verdict": s.verdict} for s in found],
    }
