"""Fixtures shared by all tests, and what several workers (pytest-xdist) need to share one machine."""

import contextlib
import functools
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from small_scenes import cut_scenes
from tiny_stages import tiny  # noqa: F401  a fixture

import stereo_framework
from stereo_framework.datasets import built_in_scenes

# Few examples at every push, the same ones, so that no change is blamed for another's mistake; before a release many, and new ones:
# --hypothesis-profile=full. Kernels without the JIT are some hundred times slower. The first call of a kernel may compile it: no deadline.
settings.register_profile("push", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("interpreted", settings.get_profile("push"), max_examples=3)
settings.register_profile(
    "planted", settings.get_profile("push"), phases=(Phase.explicit, Phase.generate)
)  # found is enough
settings.register_profile("full", max_examples=300, deadline=None)
settings.load_profile("push" if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0" else "interpreted")

# The import of a plug-in registers its stages. Only the tests of the plug-in need them.
# The import of `warm_kernels` changes how scenes are loaded. Only the processes of the
# tests of kills import it.
collect_ignore = ["nested_stages.py", "warm_kernels.py"]

_IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ


def pytest_configure() -> None:
    # The suite keeps much alive, and looking through it all for garbage is a tenth of its time.
    gc.set_threshold(20_000)
    # Of workers and of whatever tests start: threads that wait for so small products only take the cores from the others.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if _IS_WORKER and os.name == "posix":
        _compile_once()


def pytest_collection_finish() -> None:
    gc.freeze()  # what is there by now stays, and is not looked through each time


def _compile_once() -> None:
    """Let one worker at a time compile a kernel: the others wait and find it in numba's cache, which has no lock of its own."""
    import fcntl

    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    compile_alone = Dispatcher.compile

    def compile_or_wait(self: Dispatcher, signature: object) -> object:
        # numba's lock first, which compiling takes anyway: two threads that took the two in turn would wait for each other.
        with global_compiler_lock, contextlib.ExitStack() as held:
            index = getattr(getattr(self._cache, "_cache_file", None), "_index_path", None)
            if index is not None:
                file = held.enter_context(open(f"{index}.lock", "w"))
                fcntl.lockf(file, fcntl.LOCK_EX)
            return compile_alone(self, signature)

    Dispatcher.compile = compile_or_wait


@pytest.fixture(scope="session", autouse=True)
def _one_thread_a_worker() -> Iterator[None]:
    """Let kernels use one thread in each pytest worker, because the workers share the cores.

    Sweeps have as many workers as there are cores all the same, so that they are tested
    with several workers.
    """
    if not _IS_WORKER:
        yield
        return
    from stereo_framework.kernels.cores import available_cores
    from stereo_framework.sweep import computation, processes

    with stereo_framework.threads(1), pytest.MonkeyPatch.context() as patch:
        patch.setattr(computation, "thread_count", available_cores)
        patch.setattr(processes, "thread_count", available_cores)
        yield


@pytest.fixture(scope="session", autouse=True)
def _built_in_scenes_drawn_once() -> Iterator[None]:
    """Drawing them takes longer than most of what tests do with them. Scenes never change: images, truth and masks are read-only."""
    load = built_in_scenes.load
    draw = functools.cache(lambda name, rows, columns: load(name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            built_in_scenes,
            "load",
            lambda name: draw(name, built_in_scenes.ROWS, built_in_scenes.COLUMNS),
        )
        yield


def _small_scenes() -> Iterator[None]:
    """The built-in scenes, cut to a corner."""
    with pytest.MonkeyPatch.context() as patch:
        cut_scenes(patch)
        yield


small_scenes = pytest.fixture(_small_scenes, name="small_scenes")
small_scenes_only = pytest.fixture(_small_scenes, name="small_scenes_only", scope="module")


@pytest.fixture(scope="session")
def data() -> Path:
    """Root of the real test scenes."""
    root = os.environ.get("STEREO_DATA")
    if not root:
        pytest.skip("STEREO_DATA is not set: no real scenes to test with")
    if not Path(root, "middlebury2001").is_dir():
        pytest.skip(f"STEREO_DATA={root} holds no middlebury2001 folder")
    return Path(root)
