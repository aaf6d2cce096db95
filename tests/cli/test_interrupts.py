"""Interrupts are heard, and told again where Python dropped them."""

import contextlib
import os
import signal
import weakref
from pathlib import Path

import pytest
from cli_parts import invoke

from stereo_framework.cli._progress import Progress, continuable, ending, interruptible


class _Thing:
    pass


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_an_interrupt_ends_the_block():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interruptible():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_was_dropped_is_told_again(capsys):
    def interrupted(reference):
        signal.raise_signal(signal.SIGINT)
        for _ in range(1000):  # the handler runs between bytecodes
            pass

    with interruptible() as check:
        check()
        thing = _Thing()
        kept = weakref.ref(thing, interrupted)
        del thing
        assert kept() is None
        with pytest.raises(KeyboardInterrupt):
            check()


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_being_asked_to_end_is_as_an_interrupt():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as caught, interruptible():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
    assert ending(caught.value) == ("terminated", 143)
    assert ending(KeyboardInterrupt()) == ("interrupted", 130)


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize(("out", "kept"), [(None, ""), (Path("o"), "; finished results are kept")])
def test_an_interrupt_of_a_sweep_is_confirmed_at_once(capfd, out, kept):
    words = "interrupt received: no more runs begin, and those in progress end first, which may take a minute"
    lines: list[str] = []

    def sweep():
        with continuable(Progress(3), "results", out):
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                # The line is there before the work in progress has ended.
                lines.append(capfd.readouterr().err)
                with contextlib.suppress(KeyboardInterrupt):
                    signal.raise_signal(signal.SIGINT)
                lines.append(capfd.readouterr().err)

    with pytest.raises(SystemExit) as end:
        sweep()
    assert lines == [f"{words}{kept}\n", ""]
    assert end.value.code == 130
    assert capfd.readouterr().err.startswith("interrupted after 0 of 3 results")


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")]
)
def test_every_command_ends_with_a_message(monkeypatch, number, said):
    monkeypatch.setattr(
        "stereo_framework.datasets.scene_names", lambda: signal.raise_signal(number)
    )
    result = invoke("scenes")
    assert (result.exit_code, result.stderr) == (128 + number, f"{said}; results so far are kept\n")
