"""Plug-in of pytest that orders tests, notes outcomes and names contexts of coverage.

It is copied to a folder of its own and loaded with ``-p``, so that it works in any
checkout. Environment variables set it up, so that no project has to know its options.

MUTATION_TESTS
    File with the names of the tests to run, in their order, as JSON. Default: all.
MUTATION_LOG
    File to which a JSON line with name, seconds and outcome of each test is added.
"""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_SECONDS: dict[str, float] = {}
_OUTCOMES: dict[str, str] = {}


def pytest_configure() -> None:
    """Choose few random examples, and let tests be interrupted."""
    threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    # A shell's background job ignores SIGINT, and tests of interruptions need it.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # One example that fails is enough; without the JIT conftest chooses fewer examples.
    if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0" and "hypothesis" in sys.modules:
        from hypothesis import errors, settings

        with contextlib.suppress(errors.InvalidArgument):
            settings.load_profile("planted")


def _end_with(parent: int) -> None:
    """Kill the tests and their processes when the program that started them is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    # The program made this process the leader of its group.
    os.killpg(os.getpid(), signal.SIGKILL)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the list, in its order."""
    if "MUTATION_TESTS" not in os.environ:
        return
    names = json.loads(Path(os.environ["MUTATION_TESTS"]).read_text(encoding="utf-8"))
    place = {name: i for i, name in enumerate(names)}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in place])
    items[:] = sorted(
        (item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid]
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let coverage note the lines under the name of the test."""
    recorder = None
    if "COVERAGE_PROCESS_START" in os.environ:
        import coverage

        recorder = coverage.Coverage.current()
    if recorder is not None:
        recorder.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        if recorder is not None:
            recorder.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the outcome of a test: its worst phase, and the seconds of all phases."""
    name = report.nodeid
    _SECONDS[name] = _SECONDS.get(name, 0.0) + report.duration
    if report.outcome != "passed" and _OUTCOMES.get(name) != "failed":
        _OUTCOMES[name] = report.outcome
    if report.when != "teardown" or "MUTATION_LOG" not in os.environ:
        return
    entry = {
        "name": name,
        "seconds": round(_SECONDS.pop(name), 4),
        "outcome": _OUTCOMES.pop(name, "passed"),
    }
    with open(os.environ["MUTATION_LOG"], "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
