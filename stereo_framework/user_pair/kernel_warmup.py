"""The first use of the default method: while `match` compiles the kernels that it needs first, a second process compiles those that it needs last.

That process keeps them on disk, where `match` finds them. It leaves out the costs and whatever comes before them.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from stereo_framework.core.registration import stage
from stereo_framework.core.scene import Image, SearchRange
from stereo_framework.core.volume import CostVolume
from stereo_framework.datasets import load_scene
from stereo_framework.kernels.compiling import reporting_compilation_to
from stereo_framework.kernels.threads import thread_count
from stereo_framework.script import load
from stereo_framework.user_pair.matching import DEFAULT


@contextlib.contextmanager
def compile_in_second_process() -> Iterator[None]:
    """Let a second process compile as soon as a kernel is compiled in the block.

    The process is started only if two threads may be used. It ends with the block.
    """
    started: list[subprocess.Popen[bytes]] = []

    def begin(kernel: str) -> None:
        if kernel and not started and thread_count() > 1:
            # -P: nothing is imported from the folder in which the user happens to be.
            command = [sys.executable, "-P", "-m", __name__]
            nowhere = subprocess.DEVNULL
            # The second process only saves time. The system may refuse to start it.
            with contextlib.suppress(OSError):
                started.append(
                    subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
                )

    try:
        with reporting_compilation_to(begin):
            yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def _compile() -> None:
    """Compile what the default method needs once it has costs, by running it on costs without meaning."""

    @stage("matching_cost", source="no method: any costs will do")
    def any_costs(reference: Image, match: Image, search: SearchRange) -> CostVolume:
        """Costs without meaning, of the type that the default method's costs have."""
        random = np.random.default_rng(0)
        costs = random.integers(0, 170, (*reference.shape[:2], search.levels), np.uint8)
        return CostVolume(costs, search, 85.0)

    scene = load_scene("synthetic/large-60x60x16")
    rest = {
        "include": DEFAULT,
        "auxiliary": None,
        "preprocessing": None,
        "matching_cost": "any_costs",
    }
    # First the finish: its kernels take longest, and planes need them as soon as they are filled.
    for some in ({"optimization": "winner_take_all"}, {}):
        load(rest | some).pipeline(scene)


if __name__ == "__main__":
    _compile()
