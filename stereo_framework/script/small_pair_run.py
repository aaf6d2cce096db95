"""A run of every setting of a script on a small pair.

Within seconds it shows faults that appear only when the stages run.
"""

from stereo_framework.core.pair import Pair
from stereo_framework.core.scene import SearchRange
from stereo_framework.core.step import describe_stage_error
from stereo_framework.datasets import load_scene
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.script.load import Script

ROWS, COLUMNS, LEVELS = 48, 64, 16


def run_on_small_pair(script: Script) -> list[str]:
    """Run all settings of a script on 64x48 pixels and 16 disparities of a synthetic scene.

    Parameters
    ----------
    script : Script

    Returns
    -------
    list of str
        A line for each different failure: the first setting that has it, and the number of
        further settings.
    """
    scene = load_scene("synthetic/planes")
    left, right = (image[:ROWS, :COLUMNS] for image in (scene.reference, scene.match))
    pair = Pair(left, right, SearchRange(0, LEVELS - 1), scene=scene)
    failed: dict[str, list[int]] = {}
    for index, found in PipelineRunner([run.pipeline for run in script.settings], pair):
        if isinstance(found, Exception):
            failed.setdefault(describe_stage_error(found), []).append(index)
    lines = []
    for line, settings in failed.items():
        run = script.settings[min(settings)]
        axes = "".join(f", {name}={value}" for name, value in run.axes.items())
        more = f" ({len(settings) - 1} other settings too)" if len(settings) > 1 else ""
        lines.append(f"{run.method}{axes}: {line}{more}")
    return lines
