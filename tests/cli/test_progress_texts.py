"""The exact texts about speed, time left and progress, with a clock that the tests set."""

import signal
import time
import types

import pytest
from cli_parts import call

from stereo_framework.cli import _progress
from stereo_framework.cli._progress import Progress, continuable
from stereo_framework.kernels.progress import duration_text


class Clock:
    """A clock that shows the time that a test sets."""

    def __init__(self):
        self.seconds = 1000.0

    def monotonic(self):
        """Return the seconds that the clock shows."""
        return self.seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_progress, "time", clock)
    return clock


@pytest.mark.parametrize(
    ("present", "computed", "total", "seconds", "text"),
    [
        (0, 4, 10, 2, "2 runs/s, about 3 s left"),
        # Results that were present before take no time.
        (2, 4, 10, 2, "2 runs/s, about 2 s left"),
        (90, 5, 100, 10, "2 s a run, about 10 s left"),
        (0, 5, 10, 5, "1 runs/s, about 5 s left"),
        (0, 3, 10, 4, "1.33 s a run, about 9 s left"),
        (0, 10, 10, 5, "2 runs/s, about 0 s left"),
        (0, 1, 100, 1, "1 runs/s, about 99 s left"),
        (0, 1, 101, 1, "1 runs/s, about 2 min left"),
        (0, 1, 6000, 1, "1 runs/s, about 100 min left"),
        (0, 1, 6001, 1, "1 runs/s, about 1.7 h left"),
        (5, 0, 10, 5, ""),
    ],
)
def test_speed_and_time_left_are_those_of_the_results_computed_here(
    clock, present, computed, total, seconds, text
):
    progress = Progress(total)
    assert progress.rate() == ""
    progress.count += present
    progress.watch("planes: box")
    clock.seconds += seconds
    progress.count += computed
    assert progress.rate() == text


def test_the_clock_starts_with_the_first_computation(clock):
    progress = Progress(10, "trials")
    progress.watch("planes: box")
    clock.seconds += 3
    progress.watch("planes: median")
    progress.count += 1
    assert progress.rate() == "3 s a trial, about 27 s left"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (1.4, "1 s"),
        (99.4, "99 s"),
        (100, "2 min"),
        (150.1, "3 min"),
        (5999, "100 min"),
        (6000, "1.7 h"),
        (36000, "10.0 h"),
    ],
)
def test_times_from_100_seconds_are_minutes_and_from_100_minutes_hours(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("done", "count", "seconds", "text"),
    [(0, 50, 7, ""), (1, 50, 2, "about 98 s left"), (10, 50, 5, "about 20 s left")],
)
def test_the_time_left_of_a_loop_follows_from_its_rounds(clock, done, count, seconds, text):
    progress = Progress(1)
    progress.watch("synthetic/planes: diffusion")
    progress._note_round(progress._home_thread, 0, count, "iteration")
    clock.seconds += seconds
    progress._note_round(progress._home_thread, done, count, "iteration")
    assert progress.left == text
    assert progress.doing == f"stage diffusion, iteration {done + 1} of {count}"


def test_two_loops_within_each_other_are_shown_with_the_time_of_the_outer_one(clock):
    progress = Progress(1)
    progress.watch("synthetic/planes: graph_cut")
    progress._note_round(progress._home_thread, 0, 4, "cycle")
    clock.seconds += 6
    progress._note_round(progress._home_thread, 2, 4, "cycle")
    progress._note_round(progress._home_thread, 5, 9, "move")
    assert progress.doing == "stage graph_cut, cycle 3 of 4, move 6 of 9"
    assert progress.left == "about 6 s left"
    progress._note_round(progress._home_thread, 4, 4, "cycle")
    assert progress.doing == "stage graph_cut, move 6 of 9"


def test_kernels_are_counted_once_each(clock, capsys):
    progress = Progress(1)
    for kernel in ("box", "", "median", "", "box"):
        progress._note_kernel(kernel)
    assert progress.doing == "compiling function 2"
    assert capsys.readouterr().err == f"{_progress.COMPILING}\n"


def lines_of(progress, capsys):
    """Return the lines that are printed when the time for one has come once."""
    is_over = iter([False, True])
    intervals = []

    def wait(seconds):
        intervals.append(seconds)
        return next(is_over)

    progress._ended = types.SimpleNamespace(wait=wait)
    progress._print_lines()
    assert intervals == [5.0, 5.0]
    return capsys.readouterr().err.splitlines()


def test_a_line_of_several_results_has_their_number_the_speed_and_the_stage(clock, capsys):
    progress = Progress(4)
    progress.count += 1
    assert lines_of(progress, capsys) == ["1 of 4 runs done"]
    progress.watch("planes: box")
    assert lines_of(progress, capsys) == ["1 of 4 runs done (planes: stage box)"]
    clock.seconds += 8
    progress.count += 1
    assert lines_of(progress, capsys) == [
        "2 of 4 runs done, 8 s a run, about 16 s left (planes: stage box)"
    ]
    progress.count += 2
    assert lines_of(progress, capsys) == []


def test_a_line_of_a_single_result_has_its_stage_and_the_time_so_far(clock, capsys):
    progress = Progress(1)
    assert lines_of(progress, capsys) == []
    progress.watch("synthetic/planes: diffusion")
    progress._note_round(progress._home_thread, 0, 4, "iteration")
    clock.seconds += 80
    progress._note_round(progress._home_thread, 1, 4, "iteration")
    assert lines_of(progress, capsys) == [
        "stage diffusion, iteration 2 of 4, about 4 min left, 80 s so far"
    ]


@pytest.mark.parametrize("terminal", ["dumb", "xterm"])
def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch, capsys, terminal):
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(_progress.sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(_progress, "EVERY_SECONDS", 0.01)
    with Progress(2) as progress:
        progress.watch("planes: box")
        has_bar = progress._console is not None
        time.sleep(0.3)
    output = capsys.readouterr().err
    assert has_bar == (terminal == "xterm")
    assert ("0 of 2 runs done" in output) == (terminal == "dumb")
    assert "planes: stage box" in output


def bar_of(progress):
    """Return the words of the bar, how much of it is done, its end, and the words after it."""
    doing, bar, words = progress._bar_line().renderables
    return doing.plain, bar.completed, bar.total, words.plain


def test_a_bar_of_several_results_counts_them(clock):
    progress = Progress(40)
    assert bar_of(progress) == ("", 0, 40, "0/40 0:00")
    progress.watch("planes: box")
    progress._note_round(progress._home_thread, 3, 9, "strip")
    clock.seconds += 125
    progress.count += 5
    assert bar_of(progress) == (
        "planes: stage box, strip 4 of 9",
        5,
        40,
        "5/40 2:05 25 s a run, about 15 min left",
    )


def test_a_bar_shows_whole_minutes_instead_of_60_seconds(clock):
    progress = Progress(40)
    progress.watch("planes: box")
    clock.seconds += 59.7
    assert bar_of(progress)[3] == "0/40 1:00"


def test_a_loop_of_another_thread_replaces_a_loop_with_the_same_noun(clock):
    progress = Progress(1)
    progress.watch("boundary2007")
    progress._note_round(progress._home_thread, 1, 3, "strip")
    progress._note_round(progress._home_thread + 1, 4, 9, "strip")
    assert progress.doing == "boundary2007, strip 5 of 9"


def test_a_bar_of_a_single_result_shows_the_rounds_of_its_outer_loop(clock):
    progress = Progress(1)
    progress.watch("planes: box")
    assert bar_of(progress) == ("stage box", 0, None, "0:00")
    progress._note_round(progress._home_thread, 0, 9, "strip")
    clock.seconds += 6
    progress._note_round(progress._home_thread, 3, 9, "strip")
    progress._note_round(progress._home_thread, 1, 2, "pass")
    assert bar_of(progress) == (
        "stage box, strip 4 of 9, pass 2 of 2",
        3,
        9,
        "0:06 about 12 s left",
    )


@pytest.mark.parametrize(
    ("interrupt", "out", "status", "line"),
    [
        (
            KeyboardInterrupt(),
            None,
            130,
            "interrupted after 3 of 10 trials; nothing was stored; --out DIR keeps trials",
        ),
        (
            KeyboardInterrupt(signal.SIGINT),
            "folder",
            130,
            "interrupted after 3 of 10 trials; the same command continues from folder",
        ),
        (
            KeyboardInterrupt(signal.SIGTERM),
            "folder",
            143,
            "terminated after 3 of 10 trials; the same command continues from folder",
        ),
    ],
)
def test_an_interrupt_gives_the_number_of_results_and_how_to_go_on(
    capsys, interrupt, out, status, line
):
    progress = Progress(10, "trials")

    def work():
        with continuable(progress, "trials", out) as count:
            count()
            count(2)
            raise interrupt

    with pytest.raises(SystemExit) as end:
        work()
    assert end.value.code == status
    assert capsys.readouterr().err.splitlines() == [line]


def test_results_of_an_earlier_run_are_none_of_the_speed(small_scenes, tmp_path, monkeypatch):
    """Of three settings the first one is present, so that the speed is that of the others."""
    from stereo_framework.cli import run

    seen = []

    class Watched(Progress):
        def watch(self, doing):
            super().watch(doing)
            seen.append((doing, self.count))

    monkeypatch.setattr(run, "Progress", Watched)
    words = ("run", "window", "--scene", "synthetic/planes", "--workers", 1, "--out", tmp_path)
    call(*words)
    seen.clear()
    sizes = "sweep={grid: {aggregation.box.size: [9, 3, 5]}}"
    call(*words, "--set", sizes)
    first, count = seen[0]
    assert (first, count) == ("2 runs", 1)
