"""The program ``stereo-framework``: its commands, and how errors leave it.

Commands import what they need when they run, so that ``--help`` stays quick.
"""

import contextlib
import copy
import errno
import functools
import inspect
import itertools
import math
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from stereo_framework import __version__
from stereo_framework.cli import _shared
from stereo_framework.cli._environment import check_environment, numba_message
from stereo_framework.cli._progress import ending, interruptible
from stereo_framework.cli._threads import check_threads, limited_threads
from stereo_framework.cli.changes import changes
from stereo_framework.cli.check import check
from stereo_framework.cli.choose import choose
from stereo_framework.cli.compare import compare
from stereo_framework.cli.differences import differences
from stereo_framework.cli.evaluate import evaluate
from stereo_framework.cli.import_ import import_
from stereo_framework.cli.match import match
from stereo_framework.cli.merge import merge
from stereo_framework.cli.methods import methods
from stereo_framework.cli.rank import rank
from stereo_framework.cli.report import report
from stereo_framework.cli.reproduce import reproduce
from stereo_framework.cli.results import results
from stereo_framework.cli.run import run
from stereo_framework.cli.scenes import scenes
from stereo_framework.cli.stages import stages
from stereo_framework.cli.tune import tune
from stereo_framework.core.docstrings import parameter_descriptions
from stereo_framework.core.errors import (
    DataWarning,
    ParameterError,
    ResultWarning,
    StereoFrameworkError,
    short,
)
from stereo_framework.core.former_names import new_name
from stereo_framework.kernels.threads import LIMIT_HINT, LimitWarning

_INTERRUPTED = 130
_NO_THREAD = "can't start new thread"
"""Python's message if the system starts no thread."""
_COMMAND_GROUPS = {
    "Match your images": ("match", "choose"),
    "Run experiments": ("run", "tune", "check", "reproduce"),
    "Evaluate and compare": (
        "evaluate",
        "compare",
        "rank",
        "differences",
        "results",
        "report",
        "merge",
        "changes",
    ),
    "Find and prepare": ("methods", "stages", "scenes", "import"),
}
"""Groups of the commands in the help of the program."""
_COMMAND_WIDTH = max(map(len, itertools.chain(*_COMMAND_GROUPS.values())))
"""Characters of the longest name of a command."""
_NO_FONT = "pictures show boxes for letters that no font here has; install one that has them, such as Noto Sans CJK"
_EVERYWHERE = {
    "data": _shared.Data,
    "plugin": _shared.Plugins,
    "no_plugins": _shared.NoPlugins,
    "max_pixels": _shared.MaxPixels,
    "traceback": _shared.Traceback,
}
"""Options that every command has."""
_COMPUTING = ("match", "choose", "run", "tune", "evaluate", "compare", "reproduce")
"""Commands that run kernels, and therefore have the option --threads."""
_VARIABLES = ("STEREO_DATA", "STEREO_MAX_PIXELS", "STEREO_NO_PLUGINS")
"""The environment's word for some of them."""
_UsageError: Any = typer.BadParameter.__base__
"""Click's, which newer versions of typer bring along."""


class _CommandGroup(TyperGroup):
    """The group of all commands. It reports errors of the command line and ends the program."""

    def main(self, args: Sequence[str] | None = None, *given: Any, **options: Any) -> NoReturn:
        """Run a command line, and end with its exit status."""
        # Names of files may hold what the terminal's encoding does not.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        try:
            words = sys.argv[1:] if args is None else args
            _refuse_empty(words)
            _refuse_odd_numbers(words)
            status = super().main(args, *given, **options | {"standalone_mode": False})
            sys.stdout.flush()
        except _UsageError as error:
            command = f" {error.ctx.info_name}" if error.ctx and error.ctx.parent else ""
            message = short(_usage_message(error), 300)
            message += _usage_remedy(command, message)
            status = _exit_status_after_error(
                f"{message}; stereo-framework{command} --help shows the usage", False, 2
            )
        except ParameterError as error:
            status = _exit_status_after_error(str(error), False, 2)
        except OSError as error:
            # The version or a help text could not be printed.
            status = _end_of_output(error)
        except SystemExit as end:
            # Click ends the program with status 1 if a help text meets a closed pipe.
            if not isinstance(end.__context__, BrokenPipeError):
                raise
            status = _end_of_output(end.__context__)
        _flush_output()
        # Commands end the program themselves: this interrupt came before one had begun.
        if status == _INTERRUPTED:
            print("interrupted", file=sys.stderr)
        sys.exit(status)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands group by group, and the options of the program after them."""
        for title, names in _COMMAND_GROUPS.items():
            records = [(name, self.commands[name].short_help) for name in names]
            with formatter.section(title):
                # The same width in all groups aligns their columns.
                formatter.write_dl([(name.ljust(_COMMAND_WIDTH), text) for name, text in records])
        TyperCommand.format_options(self, ctx, formatter)  # type: ignore[arg-type]


def _usage_remedy(command: str, message: str) -> str:
    """Return a remedy for a frequent usage error of a command, or an empty text."""
    if command == " rank" and message.endswith(": --protocol"):
        return "; --where protocol=NAME chooses the results of one"
    if command == " reproduce" and message.startswith("Missing argument"):
        from stereo_framework.papers import PAPERS

        return f"; papers: {', '.join(sorted(PAPERS))}"
    return ""


def _usage_message(error: Any) -> str:
    """Return the message of a usage error, with the new name of a former option."""
    command = error.ctx.info_name if error.ctx else ""
    option = getattr(error, "option_name", "")
    if new := new_name("command_options", command, option):
        return f"No such option: {option}; it is called {new} now"
    return str(error.format_message()).rstrip(".")


def _refuse_empty(words: Sequence[str]) -> None:
    """Refuse an empty word, as an unset variable of the shell leaves one: it would stand for the current folder."""
    for before, one in itertools.pairwise(["", *words]):
        if one == "" or (one.startswith("--") and one.endswith("=")):
            option = one[:-1] or (before if before.startswith("-") else "an argument")
            raise ParameterError(
                f"{option}: an empty text says nothing; leave it out or write something"
            )


_NUMERIC_OPTIONS: dict[str, set[str]] = {}
"""Options of each command that take a number."""


def _refuse_odd_numbers(words: Sequence[str]) -> None:
    """Refuse texts such as ``6_0``, or digits of other alphabets, which Python reads as numbers."""
    options = _NUMERIC_OPTIONS.get(words[0], set()) if words else set()
    for word, next_word in itertools.pairwise([*words, ""]):
        option, sign, text = word.partition("=")
        value = text if sign else next_word
        if option in options and ("_" in value or not value.isascii()):
            message = f"{option}: {short(value, 40)!r} is not a number in plain digits"
            raise ParameterError(message)


class _Command(TyperCommand):
    """A command that refuses repeated options and shows its options in groups."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line."""
        # The parser changes the list.
        _, _, options = self.make_parser(ctx).parse_args(args=list(args))
        _refuse_repeated(options)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the arguments of the usage line, required ones without braces."""
        return [
            piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {
            name: [] for name in ("Arguments", "Options", *_shared.GROUPS)
        }
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                groups["Arguments"].append(_argument_record(*record))
            else:
                groups[_shared.group(str(parameter.name))].append(_option_record(*record))
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def _refuse_repeated(options: Sequence[Any]) -> None:
    """Refuse an option with one value that is written several times.

    Otherwise the last value would replace the others without a message.

    Parameters
    ----------
    options : sequence of parameters
        The arguments and options of a command line, in their order.

    Raises
    ------
    ParameterError
        An option with one value is repeated.
    """
    for option in options:
        count = options.count(option)
        has_one_value = option.param_type_name == "option" and not option.multiple
        if count < 2 or not has_one_value or option.is_flag:
            continue
        remedy = "write it once"
        if "," in (option.metavar or ""):
            remedy += ", with commas between several values"
        message = f"{option.opts[-1]}: is given {count} times, but has one value; {remedy}"
        raise ParameterError(message)


_TYPES = {"str": "NAME", "int": "N", "int range": "N", "float": "NUMBER", "path": "PATH"}
"""Words for the types that stand in the help."""


def _argument_record(name: str, text: str) -> tuple[str, str]:
    """Return the name of an argument without its type, and its text."""
    return name.partition(" <")[0], text


def _option_record(name: str, text: str) -> tuple[str, str]:
    """Return an option with a word for the type of its value, and its text."""
    # The text of an option that may be repeated says so.
    name = re.sub(r"<list\[(\w+)\]>", lambda kind: f"<{kind[1].lower()}>", name)
    name = re.sub(r"<([\w ]+)>", lambda kind: _TYPES.get(kind[1], f"<{kind[1]}>"), name)
    # A value below the minimum is refused with a message, so the help leaves it out.
    without_minimum = re.sub(r" *\[x>=[\d.]+\]$", "", text)
    return name, re.sub(r"; x>=[\d.]+\]$", "]", without_minimum)


_ABOUT = """Run, evaluate and compare dense stereo matching methods.

To begin, run 'stereo-framework match --example'. To see the error statistics of a
method, run 'stereo-framework run ssd --scene synthetic/planes'. The option --help of a
command shows its options and examples."""
"""Description of the program in its help."""

app = typer.Typer(
    name="stereo-framework",
    cls=_CommandGroup,
    help=_ABOUT,
    # Plain help: importing rich would double the time of --help.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _exits(command: Callable[..., int | None]) -> Callable[..., None]:
    """Wrap a command: its errors are one line each, its return value is the exit status."""
    own = inspect.signature(command).parameters

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        wanted = options["traceback"]
        try:
            options = _shared.absolute_paths(options)
            everywhere = {
                name: options[name] if name in own else options.pop(name) for name in _EVERYWHERE
            }
            _check_numbers(options | everywhere)
            threads = options.pop("threads", None)
            check_threads(threads, options)
            # Processes that are started meanwhile see these too.
            variables = {
                name: everywhere[name.removeprefix("STEREO_").lower()] for name in _VARIABLES
            }
            os.environ.update({name: str(value) for name, value in variables.items() if value})
            if data := os.environ.get("STEREO_DATA"):
                # A plug-in may change the current folder, from which a relative path starts.
                os.environ["STEREO_DATA"] = os.path.abspath(os.path.expanduser(data))
            with (
                interruptible(),
                _warnings_in_one_line(),
                _without_silent_end(),
                contextlib.ExitStack() as stack,
            ):
                check_environment()
                stack.enter_context(limited_threads(threads))
                if everywhere["plugin"] and everywhere["no_plugins"]:
                    raise ParameterError(
                        "--plugin and --no-plugins contradict each other; give one"
                    )
                if everywhere["plugin"] and "plugin" not in own:
                    from stereo_framework.core.plugins import load_plugin

                    for name in everywhere["plugin"]:
                        load_plugin(name)
                status = command(*arguments, **options) or 0
                sys.stdout.flush()
        except StereoFrameworkError as error:
            status = _exit_status_after_error(str(error), wanted, 2)
        except KeyboardInterrupt as error:
            word, status = ending(error)
            print(f"{word}; results so far are kept", file=sys.stderr)
        except MemoryError as error:
            status = _exit_status_after_error(
                f"there is not enough memory: {error or 'the system gives no more'}", wanted, 2
            )
        except BrokenPipeError as error:
            status = _end_of_output(error)
        except OSError as error:
            status = _exit_status_after_error(_system_message(error), wanted, 2)
        except Exception as error:
            stage = getattr(error, "raised_by", None)
            if stage is not None and not stage.is_built_in:
                from stereo_framework.core.step import describe_stage_error

                status = _exit_status_after_error(describe_stage_error(error), wanted, 2)
            elif (message := numba_message(error)) is not None:
                status = _exit_status_after_error(message, wanted, 2)
            elif str(error) == _NO_THREAD:
                status = _exit_status_after_error(_limit_message("thread", _NO_THREAD), wanted, 2)
            else:
                status = _exit_status_after_error(_unexpected(error), wanted, 70)
        _flush_output()
        sys.exit(status)

    wrapped.__signature__ = _documented(command)  # type: ignore[attr-defined]
    return wrapped


def _exit_status_after_error(message: str, wanted: bool, status: int) -> int:
    """Print an error, with the traceback if it is wanted; returns the exit status."""
    _shared.tell("error", *message.splitlines())
    if wanted:
        traceback.print_exc()
    return status


def _end_of_output(error: OSError) -> int:
    """Stop printing after an error of the output; return the exit status.

    A closed pipe is no error, because programs such as ``head`` close it on purpose.
    """
    _shared.discard(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return 0
    return _exit_status_after_error(f"the output cannot be printed: {error.strerror}", False, 2)


def _flush_output() -> None:
    """Print what waits in the output, and stop printing if that fails."""
    try:
        sys.stdout.flush()
    except OSError:
        _shared.discard(sys.stdout)


def _system_message(error: OSError) -> str:
    """Describe an error of the system in one line."""
    if error.filename:
        return f"{error.filename}: {error.strerror}"
    if error.errno == errno.EAGAIN:
        return _limit_message("process", str(error.strerror))
    return str(error)


def _limit_message(thing: str, reason: str) -> str:
    """Describe that the system starts no thread or process."""
    return f"the system starts no {thing}: {reason}; {LIMIT_HINT}; raise the limit, or use --workers 1 if the command has it"


def _unexpected(error: Exception) -> str:
    """What nobody thought of, in one line with the place in the code."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    said = short(" ".join(f"{type(error).__name__}: {error}".split()), 300)
    return (
        f"{said} ({Path(frame.filename).name}:{frame.lineno}, in {frame.name}): a fault of this program (version {__version__}), not yours; "
        "please report it, with the command, its files and what --traceback prints"
    )


def _check_numbers(options: Mapping[str, Any]) -> None:
    """Refuse numbers that no option means: not finite, or of more than 64 bits."""
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError(f"{option}: {value} is not a finite number")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ParameterError(f"{option}: a whole number of more than 64 bits")


@contextlib.contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """What is doubtful in files and results is told as a line, without the place in the code; other warnings as ever."""
    usual, told = warnings.showwarning, set[str]()

    def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        # Matplotlib's words about each letter.
        line = _NO_FONT if " missing from font(s) " in str(message) else str(message)
        if line != _NO_FONT and not issubclass(category, DataWarning | LimitWarning):
            usual(message, category, *place, **more)
        elif line != _NO_FONT or line not in told:
            _shared.tell("warning", line)
        told.add(line)

    with warnings.catch_warnings():
        # One pair may be as doubtful as the next.
        warnings.simplefilter("always", ResultWarning)
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def _without_silent_end() -> Iterator[None]:
    """Let ``os._exit`` raise an error within the block.

    A stage or metric that calls it would end the program without a message, and often
    with status 0, so that a run that is incomplete looks complete. Processes that a
    plug-in forks end as usual.
    """
    end, process = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != process:
            end(status)
        message = f"os._exit({status!r}) would end the whole program without a message; raise an exception instead"
        raise RuntimeError(message)

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = end


def _documented(command: Callable[..., Any]) -> inspect.Signature:
    """The signature of a command as typer reads it: parameters without a default are arguments, the rest options, with help from the docstring."""
    texts = parameter_descriptions(command)
    signature = inspect.signature(command, eval_str=True)
    found = []
    for one in signature.parameters.values():
        kind, *given = (
            get_args(one.annotation)
            if get_origin(one.annotation) is Annotated
            else [one.annotation]
        )
        usual = (
            typer.Argument()
            if one.default is one.empty
            else typer.Option(f"--{one.name.replace('_', '-')}")
        )
        info = copy.copy(given[0]) if given else usual
        # Python leaves docstrings out where it is asked to (-OO).
        info.help = info.help or texts.get(one.name, "")
        found.append(one.replace(annotation=Annotated[kind, info]))
    keyword = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    common_options: dict[str, Any] = dict(_EVERYWHERE)
    if command.__name__ in _COMPUTING:
        common_options |= {"threads": _shared.Threads}
    for name, annotation in common_options.items():
        if name not in signature.parameters:
            default = False if annotation in (_shared.NoPlugins, _shared.Traceback) else None
            found.append(keyword(name, default=default, annotation=annotation))
    return signature.replace(parameters=found)


def _numeric_options(signature: inspect.Signature) -> set[str]:
    """Return the options of a command that take a number, from its documented signature."""
    options = set()
    for parameter in signature.parameters.values():
        kind, information = get_args(parameter.annotation)
        is_numeric = {int, float} & {kind, *get_args(kind)}
        if is_numeric and information.parser is None:
            options |= {f"--{parameter.name.replace('_', '-')}", *(information.param_decls or ())}
    return options


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"stereo-framework {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


for _function in (
    match,
    choose,
    run,
    tune,
    check,
    reproduce,
    evaluate,
    compare,
    rank,
    differences,
    results,
    report,
    merge,
    changes,
    methods,
    stages,
    scenes,
    import_,
):
    _about = inspect.cleandoc(_function.__doc__ or "").partition("\nParameters\n")[0].rstrip()
    _summary = _about.partition("\n")[0]
    # What follows a \b is not broken into lines: an example can be copied.
    _about = _about.replace("\n\nExample:", "\n\n\b\nExample:")
    _command = _exits(_function)
    app.command(_function.__name__.rstrip("_"), cls=_Command, help=_about, short_help=_summary)(
        _command
    )
    _NUMERIC_OPTIONS[_function.__name__.rstrip("_")] = _numeric_options(inspect.signature(_command))

main = functools.partial(app, prog_name="stereo-framework")
