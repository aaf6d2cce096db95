"""Interrupts are heard, and told again where Python dropped them."""

import os
import signal
import weakref

import pytest

from stereo_framework.cli._interrupts import interruptible


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
