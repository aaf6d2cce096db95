"""Fixtures of the tests of sweeps."""

import pytest


@pytest.fixture
def cluster():
    """Return the address of a Dask cluster that computes two batches at a time."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    options = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.LocalCluster(silence_logs=50, **options) as local_cluster:
        yield local_cluster.scheduler_address
