"""A script on a small scene, and what the tests of written files ask of a folder."""

from cli_parts import invoke

from stereo_framework.io.output_folders import RECORD
from stereo_framework.sweep.origin import ORIGIN

SCENE = "middlebury-v3/trainingQ/Small"
METHOD = {
    "matching_cost": "absolute_difference",
    "aggregation": ["box"],
    "optimization": "winner_take_all",
}
SCRIPT = {
    **METHOD,
    "scenes": [SCENE],
    "methods": {"a": {}, "b": {"refinement": ["median"]}},
    "report": {"tables": {"t": {"rows": "scene", "columns": "method", "value": "bad_pixels_all"}}},
}
CALIB = "cam0=[100 0 16; 0 100 12; 0 0 1]\ncam1=[100 0 16; 0 100 12; 0 0 1]\ndoffs=0\nbaseline=10\nwidth=64\nheight=48\nndisp=9\n"
SECRET = b"what was there before\n"
RUN, REPORT = ("run", "sw.yaml", "--out", "o", "--report"), ("report", "o")
EXPORT = ("results", "o", "--export", "middlebury-v3")


def call(*arguments):
    """A command; whatever goes wrong is a line and no fault of the program."""
    result = invoke(*arguments)
    assert result.exit_code in (0, 1, 2), result.output
    return result


def content(folder):
    """All files below a folder, and its folders; what SQLite and the kills leave beside them does not count."""
    left = (RECORD, "writer.lock", "results.sqlite", "results.sqlite-wal", "results.sqlite-shm")
    left += (ORIGIN,)  # which contains the time of each command
    found = (
        path
        for path in sorted(folder.rglob("*"))
        if path.name not in left and not path.name.endswith("-part")
    )
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in found
    }
