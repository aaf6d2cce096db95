"""What tests of the command line share."""

import functools
import os
import unittest.mock

import typer.main
import typer.testing

from stereo_framework.cli._progress import COMPILING
from stereo_framework.cli.main import app

# Typer makes all commands anew at each call, which takes longer than most of them.
typer.testing._get_command = functools.cache(typer.main.get_command)


DAY = 24 * 60 * 60.0
"""Seconds between two lines of progress, so that a slow machine prints none."""


def invoke(*arguments):
    """Run the command line in this process and capture its output.

    Lines of progress appear only on a busy machine, so they are switched off.
    """
    environment = unittest.mock.patch.dict(os.environ)  # which the options of every command set
    no_progress_lines = unittest.mock.patch("stereo_framework.cli._progress.EVERY_SECONDS", DAY)
    with environment, no_progress_lines:
        return typer.testing.CliRunner().invoke(app, [str(argument) for argument in arguments])


def error_lines(result):
    """Return the lines of the error stream, without that of kernels compiled at first use."""
    return [line for line in result.stderr.splitlines() if line != COMPILING]


def call(*arguments, status=0):
    """The command line as `invoke` runs it; it must end with this status."""
    result = invoke(*arguments)
    assert result.exit_code == status, result.output
    return result


SCRIPT = {
    "scenes": ["synthetic/planes"],
    "matching_cost": {"use": "absolute_difference"},
    "aggregation": [{"use": "box", "size": 9}],
    "optimization": {"use": "winner_take_all"},
}


def one_line(result, *parts):
    """A mistake: exit status 2, nothing printed, one line on the error stream, besides warnings, that holds all parts."""
    assert result.exit_code == 2, result.output
    [line] = [line for line in error_lines(result) if not line.startswith("warning: ")]
    for part in parts:
        assert part in line, line
    assert "Traceback" not in result.output
