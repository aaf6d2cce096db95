"""Internals of numba and LLVM that the package uses, in numba 0.60 to 0.68.

If a test fails with a new version of numba, its message names the code to change.
"""

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

jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="the JIT of numba is off")

NEW_VERSION = (
    f"numba {numba.__version__} differs from the versions for which "
    "stereo_framework/kernels/internals.py was written: "
)
CACHE_DIFFERS = NEW_VERSION + (
    "`cache_on_disk` must add the digest to the key that numba compares before it loads a "
    "kernel from disk. Compare it with `FunctionCache`, `_index_key` and the attribute `_cache` "
    "of the dispatcher, in numba/core/caching.py and dispatcher.py. Until then, `_CAN_CACHE` "
    "must be False, so that kernels are not stored."
)
LLVM_DIFFERS = NEW_VERSION + (
    "`VectorBuilder` must emit LLVM code in another way. Compare it with `IntType.as_pointer` "
    "in llvmlite/ir/types.py. Until then, `_CAN_GENERATE` must be False, so that "
    "`choose_intrinsic` returns the loops."
)


# --- the cache ------------------------------------------------------------------------


def test_numba_has_the_cache_classes_that_the_package_extends():
    assert internals._CAN_CACHE, CACHE_DIFFERS


@jit
def test_kernels_are_compiled_without_a_cache_if_numba_has_another_one(monkeypatch):
    monkeypatch.setattr(internals, "_CAN_CACHE", False)
    internals._warn_about_cache.cache_clear()
    message = r"numba .*: kernels cannot be stored on disk, so every process compiles them"
    with pytest.warns(UserWarning, match=message):
        double = kernel(lambda x: 2 * x)
    assert double(4) == 8
    assert double.stats.cache_path is None


@jit
def test_code_in_the_file_of_another_signature_is_not_used(tmp_path, monkeypatch):
    # Two processes that compile a kernel for two types at the same time may choose the
    # same file name. The test overwrites one file with the other.
    (tmp_path / "stored.py").write_text(
        "from stereo_framework.kernels.decorator import kernel\n"
        "@kernel\n"
        "def half(x):\n"
        "    return x[0] / 2\n"
    )
    program = (
        "import numpy as np, stored\n"
        "print(stored.half(np.int64([3])), stored.half(np.float32([5])))\n"
        "print(sum(stored.half.stats.cache_misses.values()))\n"
    )

    def results_and_compile_count():
        process = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return process.stdout.split()

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert results_and_compile_count() == ["1.5", "2.5", "2"]
    first, second = sorted((tmp_path / "__pycache__").glob("*.nbc"))
    shutil.copy(second, first)
    assert results_and_compile_count() == ["1.5", "2.5", "1"], CACHE_DIFFERS


# --- the start of numba ---------------------------------------------------------------


@jit
def test_numba_can_be_started_while_another_thread_compiles():
    # Without numba's lock the other thread nearly always reads tables that are
    # incomplete.
    program = """
import threading
import numba, numpy as np
from stereo_framework.kernels.internals import start_numba
meeting, sums = threading.Barrier(2), []
@numba.njit
def total(a):
    return a.sum() + a.shape[0]
def start():
    meeting.wait()
    start_numba()
def compile():
    meeting.wait()
    sums.append(total(np.arange(5.0)))
threads = [threading.Thread(target=function) for function in (start, compile)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert sums == [15.0], sums
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_numba_starts_without_linear_algebra_and_can_import_it_later():
    # SciPy's linear algebra takes half as long to import as all of numba.
    program = """
import sys
from pathlib import Path
from stereo_framework.kernels.internals import start_numba
start_numba()
from numba.np import arraymath, linalg
print("scipy.linalg" in sys.modules, arraymath.ensure_blas is linalg.ensure_blas)
linalg.ensure_blas()
print("scipy.linalg" in sys.modules)
"""
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == ["False", "True", "True"]


def test_only_one_module_imports_internals_of_numba():
    folder = Path(internals.__file__).parents[1]
    import_of_internals = re.compile(r"(from|import) (numba\.(core|np|cpython)|llvmlite)\b")
    importers = [
        path.name
        for path in folder.rglob("*.py")
        if import_of_internals.search(path.read_text("utf-8"))
    ]
    assert importers == ["internals.py"]


# --- vectors --------------------------------------------------------------------------


def test_llvmlite_has_the_interface_for_vectors():
    assert internals._CAN_GENERATE, LLVM_DIFFERS


@jit
def test_the_loop_replaces_the_intrinsic_if_code_cannot_be_generated(monkeypatch):
    intrinsic = object()
    loop = object()
    assert internals.choose_intrinsic(intrinsic, loop) is intrinsic
    monkeypatch.setattr(internals, "_CAN_GENERATE", False)
    assert internals.choose_intrinsic(intrinsic, loop) is loop


STEP = None


def _call_step(costs, paths, penalties, edges, totals):
    """Call `STEP`, which the test replaces by a step of semi-global matching."""
    return STEP(costs, paths, 70, paths[70:134].min(), penalties, 1, edges, 5, totals)


@jit
@pytest.mark.parametrize(
    ("dtype", "edges"),
    [
        (np.uint16, np.random.default_rng(1).integers(0, 2, 200).astype(np.uint8)),
        (np.float32, None),
    ],
)
def test_a_step_of_semi_global_matching_is_equal_in_vectors_and_in_a_loop(dtype, edges):
    rng = np.random.default_rng(0)
    maximum = 30_000 if dtype is np.uint16 else 1e6
    costs, paths, totals = ((rng.random(n) * maximum).astype(dtype) for n in (64, 200, 64))
    costs[50:] = _semi_global_paths.HIGHEST[np.dtype(dtype)]
    penalties = (rng.random((3, 4)) * maximum).astype(dtype)
    results = []
    for step in (_semi_global_paths.step, _semi_global_paths.step_in_a_loop):
        # A kernel with a closure would be compiled in every process. Therefore the step
        # is a global variable of a new function.
        namespace = {"STEP": step, "__name__": __name__}
        call_step = kernel(types.FunctionType(_call_step.__code__, namespace))
        new_paths = paths.copy()
        new_totals = totals.copy()
        minimum = call_step(costs, new_paths, penalties, edges, new_totals)
        results.append([minimum, *new_paths, *new_totals])
    assert results[0] == results[1]


@jit
def test_a_step_over_candidate_planes_is_equal_in_vectors_and_in_a_loop():
    rng = np.random.default_rng(0)
    count = 5
    planes, costs = (np.float32(rng.normal(0, 3, 90)) for _ in range(2))
    numbers = np.float32(0.7), np.float32(2), np.float32(1), np.float32(0)
    results = []
    for step in (_plane_passes.step, _plane_passes.step_in_a_loop):
        call_step = kernel(
            lambda paths, sums, step=step: step(
                planes, 3, 30, paths, 16, costs, sums, 7, count, *numbers
            )
        )
        paths = np.full(48, np.inf, np.float32)
        paths[16 : 16 + count] = [3, 1, 4, 1, 5]
        sums = np.zeros(90, np.float32)
        call_step(paths, sums)
        results.append(np.append(paths[16 : 16 + count], sums))
    # A multiplication and an addition may be contracted, and are then rounded only
    # once.
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)


@jit
def test_bits_are_counted_by_an_instruction_and_in_a_loop():
    words = np.random.default_rng(0).integers(0, 2**64, 100, np.uint64)
    words &= np.uint64(0xFFFF_FFFF_0000_FFFF)
    for function in (count_bits, count_bits_in_a_loop):
        count = kernel(lambda word, function=function: function(word))
        assert [int(count(word)) for word in words] == [int(word).bit_count() for word in words]
