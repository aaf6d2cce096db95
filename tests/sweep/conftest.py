"""Fixtures of the sweeps' tests."""

import pytest


@pytest.fixture(scope="module")
def cluster():
    """Address of a Dask cluster of two workers."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as found:
        yield found.scheduler_address
