"""What is free, from the files in which Linux tells it."""

import pytest

from stereo_framework.engine.memory import free_memory

MEMINFO = "MemTotal:  8000 kB\nMemFree:  10 kB\nMemAvailable:  4000 kB\n"


@pytest.fixture
def system(tmp_path):
    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return free_memory(tmp_path / "proc", tmp_path / "groups")

    return write


def test_of_the_machine(system):
    assert system({"proc/meminfo": MEMINFO}) == 4000 * 1024


def test_of_a_group(system):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/job/step\n",
        "groups/job/step/memory.max": "max\n",
        "groups/job/step/memory.current": "100\n",
        "groups/job/memory.max": "50000\n",
        "groups/job/memory.current": "20000\n",
        "groups/job/memory.stat": "anon 15000\ninactive_file 5000\n",
    }
    # The limit of the group around counts; file pages can be given up.
    assert system(files) == 35_000


def test_of_an_old_group_in_a_container(system):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "4:memory:/docker/abc\n3:cpu:/docker/abc\n",
        "groups/memory/memory.limit_in_bytes": "30000",
        "groups/memory/memory.usage_in_bytes": "40000",
        "groups/memory/memory.stat": "total_inactive_file 4000\n",
    }
    assert system(files) == 0
    assert system(files | {"groups/memory/memory.usage_in_bytes": "10000"}) == 24_000


def test_unknown_is_not_zero(system):
    assert system({"proc/self/cgroup": "nonsense:::\n"}) is None or system({}) > 2**20
