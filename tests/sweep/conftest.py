"""Fixtures of the sweeps' tests."""

import pytest


@pytest.fixture
def cluster():
    """Address of a Dask cluster that computes two units at a time."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=None, silence_logs=50
    ) as found:
        yield found.scheduler_address
