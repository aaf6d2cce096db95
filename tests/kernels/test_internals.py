"""What is used of numba's internals: each test says what must be done where numba is another one than this was written for (0.60 to 0.68)."""

import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numba
import numpy as np
import pytest

from stereo_framework.kernels import internals
from stereo_framework.kernels.bits import count_bits, count_bits_in_a_loop
from stereo_framework.kernels.decorator import kernel
from stereo_framework.optimization import _plane_passes, _semi_global_paths

jit = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="nothing is compiled where the JIT is off"
)
OTHER = (
    f"numba {numba.__version__} is another one than stereo_framework/kernels/internals.py knows: "
)
CHANGED = OTHER + (
    "there, `keep` must put the digest into what numba compares before it uses code from disk; look for `FunctionCache`, `_index_key` and the dispatcher's "
    "`_cache` in numba/core/caching.py and dispatcher.py. Until that is done, kernels must not be kept (`_CAN_KEEP`)."
)


def test_numba_keeps_code_as_expected():
    assert internals._CAN_KEEP, CHANGED


@jit
def test_without_that_kernels_are_compiled_all_the_same(monkeypatch):
    monkeypatch.setattr(internals, "_CAN_KEEP", False)
    internals._warn.cache_clear()
    with pytest.warns(
        UserWarning,
        match=r"numba .*: kernels cannot be kept on disk and are compiled in every process",
    ):
        double = kernel(lambda x: 2 * x)
    assert double(4) == 8
    assert double.stats.cache_path is None


@jit
def test_code_kept_under_the_name_of_another_is_not_used(tmp_path, monkeypatch):
    # What two processes leave that compile one kernel for two types at the same time.
    (tmp_path / "kept.py").write_text(
        "from stereo_framework.kernels.decorator import kernel\n@kernel\ndef half(x):\n    return x[0] / 2\n"
    )
    code = "import numpy as np, kept; print(kept.half(np.int64([3])), kept.half(np.float32([5])), sum(kept.half.stats.cache_misses.values()))"

    def used():
        return subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.split()

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert used() == ["1.5", "2.5", "2"]
    first, second = sorted((tmp_path / "__pycache__").glob("*.nbc"))
    shutil.copy(second, first)
    assert used() == ["1.5", "2.5", "1"], CHANGED


@jit
def test_numba_may_start_while_another_thread_compiles():
    # Without numba's lock the other thread misses what is half filled, nearly always.
    code = """
import threading
import numba, numpy as np
from stereo_framework.kernels.internals import start_numba
both, found = threading.Barrier(2), []
@numba.njit
def total(a):
    return a.sum() + a.shape[0]
def start():
    both.wait()
    start_numba()
def compile():
    both.wait()
    found.append(total(np.arange(5.0)))
threads = [threading.Thread(target=each) for each in (start, compile)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert found == [15.0], found
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numba_starts_without_linear_algebra_and_is_left_as_it_was():
    # SciPy's takes as long to load as half of numba itself.
    code = """
import sys
from pathlib import Path
from stereo_framework.kernels.internals import start_numba
start_numba()
from numba.np import arraymath, linalg
print("scipy.linalg" in sys.modules, arraymath.ensure_blas is linalg.ensure_blas)
linalg.ensure_blas()
print("scipy.linalg" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


def test_they_are_used_in_one_file():
    folder = Path(internals.__file__).parents[1]
    inside = re.compile(r"(from|import) (numba\.(core|np|cpython)|llvmlite)\b")
    assert [path.name for path in folder.rglob("*.py") if inside.search(path.read_text())] == [
        "internals.py"
    ]


# --- vectors ----------------------------------------------------------------------------------------------------------


def test_llvms_code_can_be_written():
    assert internals._CAN_GENERATE, OTHER + (
        "there, `Vectors` must write LLVM's code in another way; look for `IntType.as_pointer` in llvmlite/ir/types.py. Until that is done, `generated` must "
        "take the loops (`_CAN_GENERATE`)."
    )


@jit
def test_where_it_cannot_be_the_loops_are_taken(monkeypatch):
    generated, loop = object(), object()
    assert internals.generated(generated, loop) is generated
    monkeypatch.setattr(internals, "_CAN_GENERATE", False)
    assert internals.generated(generated, loop) is loop


STEP = None


def _go(costs, paths, penalties, edges, totals):
    return STEP(costs, paths, 70, paths[70:134].min(), penalties, 1, edges, 5, totals)


@jit
@pytest.mark.parametrize(
    ("kind", "edges"),
    [
        (np.uint16, np.random.default_rng(1).integers(0, 2, 200).astype(np.uint8)),
        (np.float32, None),
    ],
)
def test_a_path_goes_on_alike_in_vectors_and_in_a_loop(kind, edges):
    rng, most = np.random.default_rng(0), 30_000 if kind is np.uint16 else 1e6
    costs, paths, totals = ((rng.random(n) * most).astype(kind) for n in (64, 200, 64))
    costs[50:] = _semi_global_paths.HIGHEST[np.dtype(kind)]
    penalties = (rng.random((3, 4)) * most).astype(kind)
    found = []
    for step in (_semi_global_paths.step, _semi_global_paths.step_in_a_loop):
        # What stands in a closure is compiled in every process.
        go = kernel(types.FunctionType(_go.__code__, {"STEP": step, "__name__": __name__}))
        one, two = paths.copy(), totals.copy()
        found.append([go(costs, one, penalties, edges, two), *one, *two])
    assert found[0] == found[1]


@jit
def test_a_path_over_planes_goes_on_alike_in_vectors_and_in_a_loop():
    rng, count = np.random.default_rng(0), 5
    planes, costs = (np.float32(rng.normal(0, 3, 90)) for _ in range(2))
    numbers = np.float32(0.7), np.float32(2), np.float32(1), np.float32(0)
    found = []
    for step in (_plane_passes.step, _plane_passes.step_in_a_loop):
        go = kernel(
            lambda paths, sums, step=step: step(
                planes, 3, 30, paths, 16, costs, sums, 7, count, *numbers
            )
        )
        paths, sums = np.full(48, np.inf, np.float32), np.zeros(90, np.float32)
        paths[16 : 16 + count] = [3, 1, 4, 1, 5]
        go(paths, sums)
        found.append(np.append(paths[16 : 16 + count], sums))
    # What is added to a product may be rounded with it.
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


@jit
def test_bits_are_counted_alike():
    words = np.random.default_rng(0).integers(0, 2**64, 100, np.uint64) & np.uint64(
        0xFFFF_FFFF_0000_FFFF
    )
    for count in (count_bits, count_bits_in_a_loop):
        counted = kernel(lambda word, count=count: count(word))
        assert [int(counted(word)) for word in words] == [int(word).bit_count() for word in words]
