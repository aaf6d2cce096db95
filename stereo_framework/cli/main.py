"""The command ``stereo-framework``: its verbs, and how errors leave it.

Verbs import what they need when they run, so that ``--help`` stays quick.
"""

from __future__ import annotations

import copy
import functools
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

import typer

from stereo_framework import __version__
from stereo_framework.cli._completion import COMPLETED
from stereo_framework.cli.boundary import boundary
from stereo_framework.cli.check import check
from stereo_framework.cli.choose import choose
from stereo_framework.cli.compare import compare
from stereo_framework.cli.evaluate import evaluate
from stereo_framework.cli.export import export
from stereo_framework.cli.import_ import import_
from stereo_framework.cli.match import match
from stereo_framework.cli.metrics import metrics
from stereo_framework.cli.new_stage import new_stage
from stereo_framework.cli.rank import rank
from stereo_framework.cli.report import report
from stereo_framework.cli.reproduce import reproduce
from stereo_framework.cli.results import results
from stereo_framework.cli.run import run
from stereo_framework.cli.scenes import scenes
from stereo_framework.cli.schema import schema
from stereo_framework.cli.stages import stages
from stereo_framework.cli.tune import tune
from stereo_framework.docstrings import parameter_texts
from stereo_framework.errors import StereoFrameworkError

app = typer.Typer(
    name="stereo-framework",
    help="Run, measure and compare dense stereo methods (the test bed of Scharstein & Szeliski 2002).",
    no_args_is_help=True,
    # Plain help: importing rich would double the time of --help.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _exits(verb: Callable[..., int | None]) -> Callable[..., None]:
    """A verb whose errors are one line each and whose return value is the exit status."""

    @functools.wraps(verb)
    def wrapped(*arguments: Any, **options: Any) -> None:
        try:
            status = verb(*arguments, **options) or 0
        except StereoFrameworkError as error:
            for line in str(error).splitlines():
                print(f"error: {line}", file=sys.stderr)
            if options.get("traceback"):
                traceback.print_exc()
            status = 2
        except KeyboardInterrupt:
            print("interrupted; results so far are kept", file=sys.stderr)
            status = 130
        except BrokenPipeError:
            # The reader of our output has gone (| head); nothing may be written any more, not even at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            status = 0
        raise typer.Exit(status)

    wrapped.__signature__ = _documented(verb)  # type: ignore[attr-defined]
    return wrapped


def _documented(verb: Callable[..., Any]) -> inspect.Signature:
    """The signature of a verb as typer reads it: parameters without a default are arguments, the rest options, with help from the docstring."""
    texts = parameter_texts(verb)
    signature = inspect.signature(verb, eval_str=True)
    found = []
    for one in signature.parameters.values():
        kind, *given = get_args(one.annotation) if get_origin(one.annotation) is Annotated else [one.annotation]
        usual = typer.Argument() if one.default is one.empty else typer.Option(f"--{one.name.replace('_', '-')}")
        info = copy.copy(given[0]) if given else usual
        info.help = info.help or texts[one.name]
        info.autocompletion = COMPLETED.get((verb.__name__, one.name))
        found.append(one.replace(annotation=Annotated[kind, info]))
    return signature.replace(parameters=found)


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        print(f"stereo-framework {__version__}")
        raise typer.Exit


_MATCH = (match, choose)
_MEASURE = (run, tune, evaluate, compare)
_LOOK_AT_RESULTS = (results, rank, boundary, metrics, report, export, reproduce)
_PREPARE = (scenes, stages, new_stage, check, schema, import_)
for _verb in (*_MATCH, *_MEASURE, *_LOOK_AT_RESULTS, *_PREPARE):
    _about = inspect.cleandoc(_verb.__doc__ or "").partition("\nParameters\n")[0].replace("\n    ", "\n\n    ")
    app.command(_verb.__name__.rstrip("_").replace("_", "-"), help=_about)(_exits(_verb))


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="stereo-framework")
