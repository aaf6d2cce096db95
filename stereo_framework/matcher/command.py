"""Any program as a matcher."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Annotated, Literal

import cv2
import numpy as np

from stereo_framework.core.call_context import is_stopped
from stereo_framework.core.dynamic_imports import warn_of_computed_imports
from stereo_framework.core.errors import DataError, ParameterError, StereoFrameworkError, nearest
from stereo_framework.core.module_sources import source_files
from stereo_framework.core.plugins import check_execution
from stereo_framework.io import read_disparity, write_image, write_pfm
from stereo_framework.io.disparity import FORMAT_MARKER, Unknown
from stereo_framework.kernels.compiling import add_processor_time
from stereo_framework.kernels.threads import LIMIT_HINT, environment_of_programs
from stereo_framework.matcher import _program_usage
from stereo_framework.matcher._external import existing, left_and_right, taken
from stereo_framework.stages import (
    CallReport,
    Disparity,
    FilePaths,
    Image,
    Located,
    Positive,
    SearchRange,
    Unit,
    report_call,
    stage,
)

_WORD = re.compile(r"'[^']*'|\"[^\"]*\"|[^\s'\"]+")
_PLACE = re.compile(r"(?<!\$)\{(\w+)\}")
_PLACEHOLDERS = ("left", "right", "output", "minimum", "maximum")
_LOOK = 0.2
"""Seconds between two looks at whether anybody still waits."""

_KEPT = 4000
"""Last characters of what a program writes for people that are kept."""


def _started(command_line: str, folder: Path) -> str:
    """The command, with absolute paths for those of its words that name files relative to the folder."""

    def word(found: re.Match[str]) -> str:
        path = Path(found[0].strip("'\"")).expanduser()
        named = path.parts[:1] == ("..",) or found[0].startswith("./") or (folder / path).is_file()
        return (
            shlex.quote(os.path.normpath(folder / path))
            if named and "{" not in found[0]
            else found[0]
        )

    return _WORD.sub(word, command_line)


def _with_other_files(command_line: str, change: Callable[[str], str]) -> str:
    """Return a command with the absolute paths among its words changed."""

    def with_other_file(word: re.Match[str]) -> str:
        path = word[0].strip("'\"")
        if not os.path.isabs(path) or "{" in path:
            return word[0]
        changed_path = change(path)
        if changed_path == path:
            return word[0]
        if not os.path.isabs(changed_path):
            # Without ./ the path would mean a program in PATH.
            changed_path = os.path.join(".", changed_path)
        return shlex.quote(changed_path)

    return _WORD.sub(with_other_file, command_line)


def _words(command_line: str) -> list[str]:
    try:
        return shlex.split(command_line)
    except ValueError as error:
        raise ParameterError(
            f"command.command_line: {command_line!r} cannot be split into words: {error}"
        ) from None


def _files(command_line: str, shell: bool, files: list[str] | None) -> list[Path]:
    if not command_line.strip():
        message = (
            "command.command_line: is missing: a program and its words, "
            "such as ./elas {left} {right} {output}"
        )
        raise ParameterError(message)
    words = _words(command_line)
    unknown = (
        []
        if shell
        else [name for name in _PLACE.findall(command_line) if name not in _PLACEHOLDERS]
    )
    if unknown:
        remedy = nearest(unknown[0], _PLACEHOLDERS)
        message = f"command.command_line: no {{{unknown[0]}}} to put in; {remedy}"
        raise ParameterError(message)
    if "{output}" not in command_line:
        raise ParameterError(
            "command.command_line: no {output}, the file that the program writes the map to"
        )
    program = shutil.which(words[0])
    if program is None and not shell:
        wrong = "is not executable" if Path(words[0]).is_file() else "no such program"
        if os.sep not in words[0] and not Path(words[0]).is_file():
            wrong = "no program of this name in PATH; one in the script's folder begins with ./"
        raise ParameterError(f"command.command_line: {words[0]}: {wrong}")
    return [*_program_files(command_line, shell), *existing("command.files", files or [])]


def _program_files(command_line: str, shell: bool) -> list[Path]:
    """List the programs of a command and those of its words that are files.

    A Python file comes with the modules of the user that it imports.
    """
    words = _shell_words(command_line) if shell else _words(command_line)
    # An interpreter may get a whole command as one word: sh -c "/opt/elas {left} ...".
    inner_words = [inner for word in words if " " in word for inner in _shell_words(word)]
    program_names = [*(words if shell else words[:1]), *inner_words]
    files = [Path(program) for name in program_names if (program := shutil.which(name))]
    for word in [*words, *inner_words]:
        # A word may be an option with its value (--config=FILE) or an assignment.
        for path in (word, word.partition("=")[2]):
            if os.path.isabs(path) and Path(path).is_file():
                files.append(Path(path))

    belonging = [part for file in files if file.suffix == ".py" for part in source_files(file)[1:]]
    programs = [file for file in files if file.suffix == ".py"]
    warn_of_computed_imports([*programs, *belonging], "list its file under 'files' of the matcher")
    return list(dict.fromkeys([*files, *belonging]))


def _shell_words(text: str) -> list[str]:
    """Split a text as a shell does, also at the signs between its commands."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # A quotation mark may stand alone in a word of another language.
        return []


def _execution(command_line: str, shell: bool) -> str:
    kind = "shell command" if shell else "program"
    return f"the {kind} {command_line}"


@stage(
    "matcher",
    source="Whoever wrote the program; called much as by the evaluation kit of Scharstein et al. 2014",
    files=_files,
    executes=_execution,
)
def command(
    reference: Image,
    match: Image,
    search: SearchRange,
    *,
    command_line: Annotated[str, Located(_started, _with_other_files)] = "",
    map_format: Literal["pfm", "png", "tif", "npy"] = "pfm",
    image_format: Literal["png", "pfm", "pnm"] = "png",
    grey: bool = False,
    disparity_scale: Annotated[Positive, Unit("units of the map a pixel")] | None = None,
    sign: Literal[1, -1] = 1,
    unknown: float | Literal["format"] | None = FORMAT_MARKER,
    min_estimate: Annotated[float, Unit("pixels")] | None = None,
    timeout: Annotated[Positive, Unit("seconds")] = 600.0,
    shell: bool = False,
    files: FilePaths | None = None,
) -> Disparity:
    """Match with a program that reads two images and writes a disparity map.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255, written to files. Where the match frame lies to the left of the reference frame both are mirrored, and so is what is read.
    search : SearchRange
        The program can be given both of its ends.
    command_line : str
        The program and its arguments. {left} and {right} become the files of the images, {output} the file of the map that the program writes, {minimum}
        and {maximum} the ends of the search range in pixels, both included. Arguments that are files in the script's folder are found there; a program
        in that folder needs ./ before its name. It runs in a temporary folder.
    map_format : str
        File format of the map that the program writes: "pfm", "tif" or "npy" with
        disparities in pixels, or "png", a grey picture.
    image_format : str
        File format of the images that the program reads: "png", "pfm" of floats, or
        "pnm", which is PGM or PPM. All but "pfm" hold 8 bits; fractions are rounded.
    grey : bool
        Convert colour images to grey before they are written.
    disparity_scale : float or None
        Units of the map per pixel of disparity; null: 1, or 256 for 16-bit pictures.
    sign : int
        -1 if the map holds negative disparities.
    unknown : float, "format" or None
        Stored value that means no estimate, such as -1, before it is divided by
        `disparity_scale`; "format": grey 0 in pictures, none in other files; null:
        every finite value is an estimate.
    min_estimate : float or None
        Smallest value, in pixels, that is an estimate; smaller values mean no estimate.
        null: every finite value is an estimate.
    timeout : float
        Seconds after which the program, with everything that it has started, is ended.
    shell : bool
        Let a shell run the command, so that pipes and variables work, instead of starting the program directly.
    files : list or None
        Further files that decide what the program does. The program and those of its arguments that are files, with the modules that a Python file
        imports from elsewhere than installed packages, belong to a run's identity without being listed. Paths start at the script's folder.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.

    Raises
    ------
    ParameterError
        The command is incomplete, there is no such program, or ``--no-plugins`` was given.
    StereoFrameworkError
        The program failed, took too long, or wrote no map of the images' size. The end of its output is a note of the error.

    Notes
    -----
    The seconds of the stage are those of the program alone, without the writing and reading of files; its peak memory and its output are reported
    too. On Windows neither this time nor the memory is known.

    The processor time of the stage is that of the program and of the processes for
    which the program has waited. On Windows it is not known.

    A Python program stores no bytecode of the modules that it imports, because stored
    bytecode can be older than its source. If the environment variable
    ``PYTHONDONTWRITEBYTECODE`` is set to an empty string, it stores bytecode.
    """
    check_execution(_execution(command_line, shell))
    _files(command_line, shell, files)
    with tempfile.TemporaryDirectory(
        prefix="stereo_framework-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        output = folder / f"disparity.{map_format}"
        ends = {
            "minimum": f"{search.minimum:g}",
            "maximum": f"{search.maximum:g}",
            "output": str(output),
        }
        pair = zip(("left", "right"), left_and_right(reference, match, search), strict=True)
        put_in = ends | {
            side: str(_written(folder / side, image, image_format, grey)) for side, image in pair
        }
        who = Path(_words(command_line)[0]).name
        _run(who, _filled(command_line, put_in, shell), folder, timeout)
        found = _read(who, output, disparity_scale, unknown)
    floats = map_format != "png"
    disparity = taken(
        who, found, reference, search, scale=sign * (disparity_scale or 1.0) if floats else sign
    )
    if min_estimate is not None:
        with np.errstate(invalid="ignore"):
            disparity[disparity < min_estimate] = np.nan
    return disparity


def _written(stem: Path, image: Image, image_format: str, grey: bool) -> Path:
    """Write an image to a file and return its path."""
    if grey and image.ndim == 3:
        image = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2GRAY)
    path = stem.with_suffix(
        ".png"
        if image_format == "png"
        else ".pfm"
        if image_format == "pfm"
        else ".pgm"
        if image.ndim == 2
        else ".ppm"
    )
    (write_pfm if image_format == "pfm" else write_image)(path, image)
    return path


def _filled(command_line: str, put_in: Mapping[str, str], shell: bool) -> list[str]:
    """The words of a command with files and numbers filled in."""
    if shell:
        text = _PLACE.sub(
            lambda place: shlex.quote(put_in[place[1]]) if place[1] in put_in else place[0],
            command_line,
        )
        return ["/bin/sh", "-c", text] if os.name == "posix" else ["cmd", "/c", text]
    return [_PLACE.sub(lambda place: put_in[place[1]], word) for word in _words(command_line)]


def _environment() -> dict[str, str]:
    """Return the environment of the program, in which Python stores no bytecode.

    Python takes stored bytecode of a file that has the same size and the same time of
    modification as before. The program would then compute with the old content of a
    module whose new content identifies the run.
    """
    return {"PYTHONDONTWRITEBYTECODE": "1"} | environment_of_programs()


def _run(who: str, words: Sequence[str], folder: Path, timeout: float) -> None:
    """Run a program to its end and report the time and memory it took; raise if it fails."""
    measured = os.name == "posix"
    # These files lie outside the program's folder and are read by their handles: what it removes, links or makes a pipe there does not matter.
    with (
        tempfile.TemporaryFile() as messages,
        tempfile.TemporaryFile() as printed,
        tempfile.NamedTemporaryFile() as report,
    ):
        call = (
            [sys.executable, "-I", "-S", _program_usage.__file__, report.name, *words]
            if measured
            else list(words)
        )
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                call,
                cwd=folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=messages,
                start_new_session=True,
            )
        except OSError as error:
            hint = f"; {LIMIT_HINT}" if error.errno == errno.EAGAIN else ""
            message = f"{who}: cannot be started: {error.strerror}{hint}"
            raise StereoFrameworkError(message) from error
        try:
            while (status := process.poll()) is None:
                if is_stopped():
                    raise StereoFrameworkError(f"{who}: interrupted")
                if (left := start + timeout - time.perf_counter()) <= 0:
                    raise _with_note(
                        StereoFrameworkError(f"{who}: not done after {timeout:g} seconds, ended"),
                        messages,
                        printed,
                    )
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(min(_LOOK, left))
        finally:
            # An interruption of this process also ends the program and everything it has started.
            _end(process)
        seconds, memory = time.perf_counter() - start, None
        processor_seconds = None
        if measured and status == 0:
            kind, *rest = _last(report).split(" ", 1)
            if kind == "error":
                raise StereoFrameworkError(f"{who}: cannot be started: {rest[0]}")
            code, taken_seconds, kibibytes, processor_text = rest[0].split()
            status, seconds, memory = int(code), float(taken_seconds), float(kibibytes) / 1024
            processor_seconds = float(processor_text)
        if status:
            said = (_last(messages) or _last(printed)).strip().splitlines()
            name = next((one.name for one in signal.Signals if one == -status), f"signal {-status}")
            how = f"exit status {status}" if status > 0 else f"ended by {name}"
            raise _with_note(
                StereoFrameworkError(
                    f"{who}: {how}{f': {said[-1].strip()[:300]}' if said else ''}"
                ),
                messages,
                printed,
            )
        text = _last(messages)
        _report_usage(CallReport(seconds, memory, text, processor_seconds=processor_seconds))


def _report_usage(report: CallReport) -> None:
    """Report the time and memory of a program to the stage and to enclosing steps."""
    # The report concerns this stage only. If a scheme calls the stage, the time of the
    # scheme must contain the program, too.
    if report.processor_seconds is not None:
        add_processor_time(report.processor_seconds)
    report_call(report)


def _end(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _last(file: IO[bytes]) -> str:
    """The end of a program's output."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - _KEPT))
    return file.read(_KEPT).decode("utf-8", "replace")


def _with_note(
    error: StereoFrameworkError, messages: IO[bytes], printed: IO[bytes]
) -> StereoFrameworkError:
    """The error with the end of the program's output as a note, which is shown with tracebacks."""
    error.add_note((_last(messages) + _last(printed)).rstrip())
    return error


def _read(who: str, output: Path, scale: float | None, unknown: Unknown) -> Disparity:
    if not output.is_file():
        raise StereoFrameworkError(
            f"{who}: ended without an error and wrote no map to {{output}}, {output.name}"
        )
    try:
        return read_disparity(
            output, disparity_scale=scale if output.suffix == ".png" else None, unknown=unknown
        )
    except DataError as error:
        said = str(error).replace(str(output), "{output}")
        raise StereoFrameworkError(f"{who}: what it wrote is not a map: {said}") from error
