"""The built-in scenes cut to a corner: what most tests look at does not depend on their size."""

from stereo_framework.datasets import built_in_scenes


def cut_scenes(patch, rows=48, columns=96):
    """Cut them for as long as a `pytest.MonkeyPatch` holds."""
    patch.setattr(built_in_scenes, "ROWS", rows)
    patch.setattr(built_in_scenes, "COLUMNS", columns)
