"""The number of available cores.

Affinity, CPU quotas of control groups and environment variables limit it.
"""

import math
import os

import pytest

from stereo_framework.kernels import cores
from stereo_framework.kernels.cores import (
    LIMITING_VARIABLES,
    available_cores,
    count_in_variable,
    cpu_quota,
)

V2 = "0::/jobs/mine\n"
"""The file that lists the control groups of a process, in version 2."""

V1 = "4:memory:/other\n3:cpu,cpuacct:/jobs/mine\n"
"""The same file in version 1."""


@pytest.fixture
def system(tmp_path):
    """Return a function that writes the files of a made-up system.

    The function returns the folder of processes and the folder of control groups.
    """

    def write(groups_of_process, files):
        for name, text in {"proc/self/cgroup": groups_of_process, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "proc", tmp_path / "groups"

    return write


@pytest.mark.parametrize(
    ("groups_of_process", "files", "quota"),
    [
        # Version 2. The limit may be stated for the group of the process, for a group
        # that contains it, or for the root. A container shows only the root.
        (V2, {"jobs/mine/cpu.max": "150000 100000\n"}, 1.5),
        (V2, {"jobs/cpu.max": "200000 100000\n", "jobs/mine/cpu.max": "max 100000\n"}, 2),
        (V2, {"jobs/cpu.max": "200000 100000\n", "jobs/mine/cpu.max": "300000 100000\n"}, 2),
        (V2, {"cpu.max": "50000 100000\n"}, 0.5),
        ("0::/\n", {"cpu.max": "400000\n"}, 4),
        ("0::/../../elsewhere\n", {"cpu.max": "100000 100000\n"}, 1),
        (V2, {"cpu.max": "max 100000\n"}, math.inf),
        # Version 1. The folder is named after both controllers or after one.
        (
            V1,
            {
                "cpu,cpuacct/jobs/mine/cpu.cfs_quota_us": "250000\n",
                "cpu,cpuacct/jobs/mine/cpu.cfs_period_us": "100000\n",
            },
            2.5,
        ),
        (V1, {"cpu/cpu.cfs_quota_us": "25000\n", "cpu/cpu.cfs_period_us": "50000\n"}, 0.5),
        (V1, {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, math.inf),
        ("3:cpuacct:/\n2:cpu:/\n", {"cpu/cpu.cfs_quota_us": "300000\n"}, 3),
        # Both versions are in use.
        (
            V1 + V2,
            {"unified/jobs/cpu.max": "100000 100000\n", "cpu/jobs/cpu.cfs_quota_us": "300000\n"},
            1,
        ),
        # The files are missing, or state no quota.
        (V2, {}, math.inf),
        (V2, {"cpu.max": ""}, math.inf),
        (V2, {"cpu.max": "100000 0\n"}, math.inf),
        (V2, {"cpu.max": "many\n"}, math.inf),
    ],
)
def test_the_smallest_quota_of_the_control_groups_is_in_force(
    system, groups_of_process, files, quota
):
    proc, groups = system(
        groups_of_process, {f"groups/{name}": text for name, text in files.items()}
    )
    assert cpu_quota(proc, groups) == quota


def test_a_system_without_control_groups_has_no_quota(tmp_path):
    assert cpu_quota(tmp_path / "proc", tmp_path / "groups") == math.inf


@pytest.fixture
def eight_cores(monkeypatch):
    """Let the process run on eight cores, without a quota and without variables."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr(cores, "cpu_quota", lambda: math.inf)
    for name in LIMITING_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("quota", "count"),
    [(0.1, 1), (1, 1), (1.2, 2), (1.5, 2), (2.4, 3), (7.5, 8), (30, 8), (math.inf, 8)],
)
def test_a_quota_is_rounded_up_to_whole_cores(eight_cores, monkeypatch, quota, count):
    monkeypatch.setattr(cores, "cpu_quota", lambda: quota)
    assert available_cores() == count


@pytest.mark.parametrize("name", LIMITING_VARIABLES)
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("3", 3),
        ("3,2", 3),
        (" 3 ", 3),
        ("20", 8),
        ("", 8),
        ("0", 8),
        ("-1", 8),
        ("abc", 8),
        ("\u0663", 8),
    ],
)
def test_a_variable_limits_the_cores_if_it_holds_a_number(
    eight_cores, monkeypatch, name, text, count
):
    monkeypatch.setenv(name, text)
    assert available_cores() == count
    assert count_in_variable(text) in (None, count, 20)
