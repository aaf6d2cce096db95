"""How, when and where results were computed: values, columns and records."""

import csv
import datetime
import io
import math
import platform
import threading
import time

import numpy as np
import pytest
from made_results import result
from sweep_parts import WINDOW, dots, fails, stored

import stereo_framework
from stereo_framework.core.registration import stage
from stereo_framework.io import write_disparity
from stereo_framework.kernels.cores import available_cores
from stereo_framework.sweep import MISSING, ResultSet, computation
from stereo_framework.sweep.environment import current_time, environment, processor_name
from stereo_framework.sweep.external_maps import add_maps, measure_map
from stereo_framework.sweep.result import PROVENANCE
from stereo_framework.tables.formats import csv_text

COLUMNS = ["processor_seconds", "time", "host", "processor", "cores", "threads", "versions"]
WORK = 0.2
"""Processor time that `work` uses, in seconds."""


def work(seconds=WORK):
    """Use some seconds of processor time in this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def moment(text):
    """Convert the time of a result to a number of seconds."""
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").timestamp()


def test_a_result_contains_when_and_where_it_was_computed():
    before = math.floor(time.time())
    with stereo_framework.threads(1):
        [computed] = stereo_framework.run(WINDOW, scenes=dots())
    assert before <= moment(computed.value("time")) <= time.time()
    assert len(computed.value("time")) == len("2026-11-30T17:24:00Z")
    assert computed.value("host") == platform.node()
    assert computed.value("processor") in (processor_name(), MISSING)
    assert computed.value("cores") == available_cores()
    assert type(computed.value("cores")) is int
    assert computed.value("threads") == 1
    assert computed.value("processor_seconds") == computed.processor_seconds > 0


def test_the_environment_contains_the_system_and_all_versions():
    [computed] = stereo_framework.run(WINDOW, scenes=dots())
    versions = computed.value("versions").split(", ")
    assert versions[0] == f"python {platform.python_version()}"
    assert f"numpy {np.__version__}" in versions
    assert "machine" not in computed.environment
    assert computed.environment["system"].split()[0] == platform.system()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be changed")
def test_the_time_is_in_utc(monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        assert abs(moment(current_time()) - time.time()) < 60
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_number_of_threads_is_that_of_the_kernels_and_1_with_several_workers():
    scenes = [dots("a"), dots("b", seed=1)]
    with stereo_framework.threads(2):
        assert stereo_framework.run(WINDOW, scenes=scenes, workers=1).column("threads") == [2, 2]
        assert stereo_framework.run(WINDOW, scenes=scenes, workers=2).column("threads") == [1, 1]


def test_workers_do_not_count_the_work_of_each_other(registry):
    """The two runs take the same wall-clock time, because each waits for the other."""
    meeting = threading.Barrier(2, timeout=300)

    @stage("refinement", source="a test")
    def unequal_work(disparity):
        meeting.wait()
        work(WORK if len(disparity) == 24 else 3 * WORK)
        meeting.wait()
        return disparity

    script = WINDOW | {"refinement": ["unequal_work"]}
    scenes = [dots("small"), dots("large", rows=30)]
    small, large = stereo_framework.run(script, scenes=scenes, workers=2)
    assert (small.error, large.error) == (None, None)
    assert WORK <= small.processor_seconds < 1.5 * WORK
    assert 3 * WORK <= large.processor_seconds < 3.5 * WORK
    assert small.matching_seconds >= 3 * WORK


VALUES = [1.5, "2026-11-30T17:24:00Z", "node7", "Z80", 8, 4, "python 3.11.7"]


def made_result():
    """Return a result with the values above."""
    return result(
        "s",
        {},
        {},
        time="2026-11-30T17:24:00Z",
        threads=4,
        processor_seconds=1.5,
        environment={"host": "node7", "processor": "Z80", "cores": "8", "python": "3.11.7"},
    )


def test_columns_of_the_table_of_all_values():
    header, [row] = ResultSet([made_result()]).tidy()
    assert header[-9:] == ["seconds", *COLUMNS, "error"]
    assert row[-8:-1] == VALUES
    [cells] = csv.DictReader(io.StringIO(csv_text(header, [row])))
    assert [cells[name] for name in COLUMNS] == list(map(str, VALUES))


def test_columns_of_the_frame_have_types():
    frame = ResultSet([made_result()]).frame
    assert [frame[name][0] for name in COLUMNS] == VALUES
    numbers = frame[["processor_seconds", "cores", "threads"]]
    assert [numbers[name].dtype.kind for name in numbers] == ["f", "i", "i"]


def test_values_under_the_names_of_the_columns():
    results = ResultSet([made_result()])
    assert [results.column(name) for name in PROVENANCE] == [[value] for value in VALUES]
    record = made_result().record()
    assert [record[name] for name in COLUMNS] == VALUES


def test_unknown_values_are_missing():
    """Results of earlier versions and of tables of scores have no such values."""
    made = result("s", {}, {})
    assert [made.value(name) for name in COLUMNS] == [MISSING] * 7
    assert [made.record()[name] for name in COLUMNS] == [None] * 7
    results = ResultSet([made])
    [row] = results.tidy()[1]
    assert row[-8:] == [MISSING] * 8
    assert results.frame[COLUMNS].isna().all(axis=None)
    for name in COLUMNS:
        results.check_name(name)


@pytest.mark.parametrize("cores", ["", "-1", "2.5", "many", "²", "9" * 5000])
def test_a_wrong_number_of_cores_is_missing(cores):
    assert result("s", {}, {}, environment={"cores": cores}).value("cores") is MISSING


def test_a_statistic_has_priority_over_a_value_of_the_same_name():
    results = ResultSet([result("s", {}, {"time": 3.0, "bad_pixels_all": 1.0}, time="now")])
    assert results.column("time") == [3.0]
    header, _ = results.tidy()
    assert header.count("time") == 1
    assert results.frame["time"].tolist() == [3.0]


def test_a_failed_result_has_a_time(tmp_path):
    before = math.floor(time.time())
    script = fails(tmp_path, [1])
    [failed] = stereo_framework.run(script, scenes=dots())
    assert failed.error
    assert before <= moment(failed.value("time")) <= time.time()
    assert failed.value("processor_seconds") is MISSING


def test_a_map_that_is_only_evaluated_again_keeps_the_values_of_its_match(tmp_path, monkeypatch):
    first = WINDOW | {"evaluation": {"protocol": "taxonomy2002"}}
    with stereo_framework.threads(1):
        [before] = stereo_framework.run(first, scenes=dots(), out=tmp_path, maps=True)
    monkeypatch.setattr(computation, "run_tasks", lambda *_, **__: pytest.fail("matched again"))
    monkeypatch.setattr("stereo_framework.sweep.task_results.current_time", lambda: "later")
    second = WINDOW | {"evaluation": {"protocol": "middlebury-v2"}}
    with stereo_framework.threads(2):
        [again] = stereo_framework.run(second, scenes=dots(), out=tmp_path, maps=True)
    assert again.protocol != before.protocol
    assert again.provenance == before.provenance
    assert again.threads == 1


def test_a_stored_result_keeps_all_values(tmp_path):
    [computed] = stereo_framework.run(WINDOW, scenes=dots(), out=tmp_path)
    [read] = stored(tmp_path)
    assert read.provenance == computed.provenance
    assert None not in (read.processor_seconds, read.threads)
    assert read.time


def test_an_external_map_has_the_time_and_environment_of_its_evaluation(tmp_path):
    path = tmp_path / "map.pfm"
    write_disparity(path, np.full((24, 32), 3, np.float32))
    before = math.floor(time.time())
    measured = measure_map(path, dots(), method="theirs")
    assert before <= moment(measured.value("time")) <= time.time()
    assert measured.environment == environment()
    assert measured.value("processor_seconds") is measured.value("threads") is MISSING
    add_maps(tmp_path / "out", [measured])
    [read] = stored(tmp_path / "out")
    assert read.provenance == measured.provenance
