"""The built-in scenes cut to a corner: what most tests look at does not depend on their size."""

from stereo_framework.datasets import ready_made


def cut_scenes(patch, rows=48, columns=96):
    """Cut them for as long as a `pytest.MonkeyPatch` holds."""
    patch.setattr(ready_made, "ROWS", rows)
    patch.setattr(ready_made, "COLUMNS", columns)
