"""What people see of something that takes long, on the error stream."""

import contextvars
import re
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core import event

from stereo_framework import Pipeline, run, step
from stereo_framework.aggregation import diffusion
from stereo_framework.cli import _progress as progress
from stereo_framework.cli._progress import COMPILING, Progress
from stereo_framework.core.scene import Scene
from stereo_framework.engine import strips
from stereo_framework.kernels.progress import counted, reporting_iterations_to, reporting_steps_to
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import (
    belief_propagation,
    graph_cut,
    graph_cut_occlusion,
    simulated_annealing,
    winner_take_all,
)
from stereo_framework.smoothness import potts

SCENE = Scene.from_images(*np.random.default_rng(0).integers(0, 255, (2, 24, 32), np.uint8), (0, 3))


def test_a_sweep_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.01)
    with Progress(4) as shown:
        shown.count += 1  # was there already
        shown.watch("planes: box")
        assert shown.rate() == ""
        shown.count += 1
        err = _first_words(capsys)
    capsys.readouterr()  # lines between the first reading and the end are as good
    assert re.match(
        r"2 of 4 runs done, \S+ (runs/s|s a run), about \d+ (s|min|h) left \(planes: stage box\)\n",
        err,
    )
    with Progress(1) as shown:
        shown.count += 1
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_a_single_result_tells_its_stage_the_rounds_and_the_time_left(capsys, monkeypatch):
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.01)
    with Progress(1) as shown:
        shown.watch("synthetic/planes: diffusion")
        rounds = counted(50, "iteration")
        assert [next(rounds) for _ in range(3)] == [0, 1, 2]
        # Two of fifty rounds took as long as the bar waits: the others take 24 times that.
        began = shown._loops[threading.get_ident()]["iteration"].start
        monkeypatch.setattr(time, "monotonic", lambda: began + 1)
        assert (shown.doing, shown.left) == (
            "stage diffusion, iteration 3 of 50",
            "about 24 s left",
        )
        monkeypatch.undo()
        monkeypatch.setattr(progress, "EVERY_SECONDS", 0.01)
        assert _first_words(capsys).startswith("stage diffusion, iteration 3 of 50, about ")
        rounds.close()
        assert shown.doing == "stage diffusion"
    capsys.readouterr()


def test_runs_that_other_threads_compute_are_counted_around_their_rounds(monkeypatch):
    shown = Progress(1)
    with reporting_iterations_to(shown._note_round):
        shown.watch("boundary2007")
        runs = counted(3, "run")
        assert [next(runs) for _ in range(2)] == [0, 1]
        context, strips = contextvars.copy_context(), counted(4, "strip")
        worker = threading.Thread(target=context.run, args=(next, strips))
        worker.start()
        worker.join()
        began = shown._loops[threading.get_ident()]["run"].start
        monkeypatch.setattr(time, "monotonic", lambda: began + 1)
        # One of three runs took a second.
        assert (shown.doing, shown.left) == (
            "boundary2007, run 2 of 3, strip 1 of 4",
            "about 2 s left",
        )


def test_who_listens_hears_what_begins_and_how_many_runs_of_a_script_are_done():
    heard, begun = [], []
    script = {"matching_cost": "absolute_difference", "optimization": "winner_take_all"}
    script["sweep"] = {"grid": {"matching_cost.truncation": [5, 20]}}
    with (
        reporting_iterations_to(lambda thread, *told: heard.append(told)),
        reporting_steps_to(begun.append),
    ):
        assert len(run(script, SCENE, workers=1)) == 2
    assert [told for told in heard if told[2] == "run"] == [
        (0, 2, "run"),
        (1, 2, "run"),
        (2, 2, "run"),
    ]
    assert begun[:3] == [
        "2 runs",
        f"{SCENE.name}: absolute_difference",
        f"{SCENE.name}: winner_take_all",
    ]


def _first_words(capsys):
    for _ in range(10_000):
        if err := capsys.readouterr().err:
            return err
        time.sleep(0.01)
    raise AssertionError("nothing was told")


@pytest.mark.parametrize(
    ("parts", "what", "count"),
    [
        ({"aggregation": [step(diffusion, iterations=4)]}, "iteration", 4),
        (
            {"smoothness": potts, "optimization": step(belief_propagation, iterations=3)},
            "iteration",
            3,
        ),
        (
            {"smoothness": potts, "optimization": step(simulated_annealing, iterations=5)},
            "sweep",
            5,
        ),
        (
            {"smoothness": potts, "optimization": step(graph_cut, iterations=1)},
            "cycle 1, move",
            6,
        ),  # pairs of 4 levels
        ({"optimization": step(graph_cut_occlusion, iterations=1)}, "cycle 1, move", 4),
    ],
)
def test_stages_that_take_long_tell_of_their_rounds(parts, what, count):
    heard = []
    with reporting_iterations_to(
        lambda thread, done, total, what: heard.append((done, total, what))
    ):
        Pipeline([absolute_difference, winner_take_all]).having(**parts)(SCENE)
    assert [one for one in heard if one[2] == what] == [(i, count, what) for i in range(count + 1)]


def test_strips_are_told(monkeypatch):
    monkeypatch.setattr(strips, "STRIP_ROWS", 10)
    heard = []
    with reporting_iterations_to(lambda thread, *told: heard.append(told)):
        Pipeline([absolute_difference, winner_take_all])(SCENE)
    assert heard == [(i, 3, "strip") for i in range(4)]


def test_compiling_is_told_once_and_the_kernel_while_it_lasts(capsys):
    function = SimpleNamespace(
        __module__="stereo_framework.aggregation.box", __qualname__="_kernel"
    )
    with Progress(1) as shown:
        for _ in range(2):
            with event.trigger_event(
                "numba:compile", data={"dispatcher": SimpleNamespace(py_func=function)}
            ):
                assert shown.doing == "compiling function 1"
        assert shown.doing == ""
    assert capsys.readouterr().err == f"{COMPILING}\n"
