"""A pytest plug-in that skips the tests that remain when the time is over.

``scripts/check.sh`` loads it with ``-p time_limit``. The environment variable
CHECK_UNTIL is the moment, in seconds since 1970, after which no further test begins. On
a busy machine that moment may be over before the first test, so tests may always begin
for a few seconds. A test that is running when the time is over still ends.

The files with skipped tests are listed at the end. The environment variable CHECK_LEFT
names a file to which the number of these tests is written.
"""

from __future__ import annotations

import collections
import os
import time
from pathlib import Path

import pytest

REASON = "the time of scripts/check.sh is over; .ci/run runs this test"
SHORTEST = 15.0
"""Number of seconds after the collection in which tests may begin in any case."""

_collected_at = 0.0


def pytest_collection_finish() -> None:
    """Remember the moment before the first test."""
    global _collected_at
    _collected_at = time.time()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that would begin too late, before its fixtures are made."""
    limit = float(os.environ.get("CHECK_UNTIL", "inf"))
    if time.time() > max(limit, _collected_at + SHORTEST):
        pytest.skip(REASON)


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Print no letter for a test that is skipped because the time is over."""
    return ("left", "", "") if _is_left(report) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the files whose tests were skipped because the time was over."""
    reports = terminalreporter.stats.get("left", [])
    counts = collections.Counter(report.nodeid.partition("::")[0] for report in reports)
    if "CHECK_LEFT" in os.environ:
        Path(os.environ["CHECK_LEFT"]).write_text(f"{len(reports)}\n", encoding="utf-8")
    if counts:
        terminalreporter.section("left to .ci/run because the time was over")
    for file, count in counts.items():
        terminalreporter.line(f"{file}: {count} test" if count == 1 else f"{file}: {count} tests")


def _is_left(report: object) -> bool:
    """Return whether a report is of a test that was skipped by this plug-in."""
    return (
        isinstance(report, pytest.TestReport) and report.skipped and REASON in str(report.longrepr)
    )
