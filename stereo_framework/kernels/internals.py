"""Access to the internals of numba and LLVM, which have no stable interface.

A new version of numba may change these internals, so only this module imports internals
of numba. If the internals are missing, kernels are slower, but the results are the
same.

An intrinsic (`numba.extending.intrinsic`) is a function that emits LLVM code for its
calls in kernels. The part that emits the code is called the generator. Most generators
use `VectorBuilder` to emit vector operations, which are faster than the loops that
numba compiles. Each intrinsic has a loop with the same result. `choose_intrinsic`
selects the intrinsic or the loop.
"""

import contextlib
import functools
import hashlib
import importlib
import os
import pickle
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite  # type: ignore[import-untyped]
from numba import __version__, config, types
from numba.extending import intrinsic

try:
    from numba.core.caching import FunctionCache, IndexDataCacheFile
except ImportError:
    FunctionCache = IndexDataCacheFile = object

try:
    from llvmlite import ir
    from numba.core import cgutils
    from numba.np.arrayobj import make_array

    INT32 = ir.IntType(32)
    """LLVM type of the numbers that identify the lanes of a vector."""

    INT64 = ir.IntType(64)
    """LLVM type of array indices and sizes."""

    _CAN_GENERATE = hasattr(INT64, "as_pointer")
    """True if llvmlite has the functions that emit LLVM code."""
except ImportError:
    _CAN_GENERATE = False

__all__ = [
    "INT64",
    "VectorBuilder",
    "cache_on_disk",
    "cgutils",
    "choose_intrinsic",
    "intrinsic",
    "ir",
    "observe_compiler",
    "start_numba",
    "types",
]

_FILE_METHODS = ("_load_index", "_save_index", "_load_data", "_save_data", "_open_for_write")
"""Methods of numba that `_CheckedFiles` overrides or calls."""

_CAN_CACHE = hasattr(FunctionCache, "_index_key") and all(
    hasattr(IndexDataCacheFile, name) for name in _FILE_METHODS
)
"""True if numba has all methods that the cache needs."""

_VERSIONS = f"{__version__} {llvmlite.__version__}".encode()
"""Versions of numba and llvmlite. Machine code of different versions is not loaded."""


def _digest_of(content: bytes) -> bytes:
    """Return the digest of the content of a cache file."""
    return hashlib.sha256(_VERSIONS + content).digest()


class _CheckedFiles(IndexDataCacheFile):
    """The cache files of a kernel, which begin with a digest.

    numba loads cache files without a check. A damaged file might crash the process or
    change results. Therefore this class checks the digest before unpickling. The check
    also rejects files from different versions of numba or llvmlite.
    """

    def _load_index(self) -> dict[Any, str]:
        # Reading a damaged file may raise any exception. The kernel is then compiled
        # again.
        with contextlib.suppress(Exception):
            stamp, names = self._read(self._index_path)
            if stamp == self._source_stamp:
                return dict(names)
        return {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def load(self, key: Any) -> Any:
        """Return the machine code stored under a key, or None if there is none."""
        stored = super().load(key)
        if stored is None:
            return None
        stored_key, data = stored
        # Two processes may save different code under the same file name. The key shows
        # which code the file contains.
        return data if stored_key == key else None

    def save(self, key: Any, data: Any) -> None:
        """Store machine code together with its key."""
        super().save(key, (key, data))

    def _read(self, path: str) -> Any:
        # Opening a named pipe would wait forever.
        if not os.path.isfile(path):
            raise FileNotFoundError(path)
        with open(path, "rb") as file:
            digest = file.read(hashlib.sha256().digest_size)
            content = file.read()

        if digest != _digest_of(content):
            raise ValueError(f"{path}: the stored digest differs from the digest of the content")
        return pickle.loads(content)

    def _write(self, path: str, value: Any) -> None:
        content = self._dump(value)
        # An empty folder at this path would prevent writing the file.
        with contextlib.suppress(OSError):
            os.rmdir(path)
        with self._open_for_write(path) as file:
            file.write(_digest_of(content))
            file.write(content)


def cache_on_disk(
    compiled: Any, function: Callable[..., Any], digest: Callable[[Callable[..., Any], Any], str]
) -> None:
    """Cache a kernel's machine code on disk for later processes.

    If a cache file cannot be read or written, no exception is raised. The kernel is
    then compiled again.

    Parameters
    ----------
    compiled : numba dispatcher
        Kernel, as returned by the decorator of numba.
    function : callable
        Python function of the kernel.
    digest : callable
        Function that returns an additional part of the cache key. The call is
        ``digest(function, signature)``.
    """
    if not _CAN_CACHE:
        _warn_about_cache()
        return

    class Cache(FunctionCache):
        """numba's cache with additional digests in its keys and files."""

        def __init__(self, py_func: Callable[..., Any]) -> None:
            super().__init__(py_func)
            self._cache_file = _CheckedFiles(
                cache_path=self._cache_path,
                filename_base=self._impl.filename_base,
                source_stamp=self._impl.locator.get_source_stamp(),
            )

        def _index_key(self, signature: Any, *options: Any) -> Any:
            return super()._index_key(signature, *options), digest(function, signature)

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            # Loading a damaged file may raise any exception. The kernel is then
            # compiled again.
            with contextlib.suppress(Exception):
                return super().load_overload(sig, target_context)
            return None

        def save_overload(self, sig: Any, data: Any) -> None:
            # The disk may be full or read-only. The kernel works without the cache.
            with contextlib.suppress(Exception):
                super().save_overload(sig, data)

    # RuntimeError means that no cache folder is writable. OSError and ValueError may
    # occur if the source file cannot be read.
    with contextlib.suppress(RuntimeError, OSError, ValueError):
        compiled._cache = Cache(function)


@functools.cache
def _warn_about_cache() -> None:
    """Warn once per process that kernels are not cached on disk."""
    warnings.warn(
        f"numba {__version__}: kernels cannot be stored on disk, so every process compiles them",
        stacklevel=5,
    )


def _import_without_blas() -> None:
    """Import numba's array functions without SciPy's linear algebra.

    Importing SciPy's linear algebra takes 0.2 s, and few kernels need linear algebra.
    numba repeats the import later if a kernel uses linear algebra.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from numba.np import linalg

        # Importing arraymath calls ensure_blas, which imports SciPy's linear algebra.
        # Therefore ensure_blas does nothing during this import.
        ensure_blas = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            arraymath = importlib.import_module("numba.np.arraymath")
        finally:
            linalg.ensure_blas = ensure_blas
        vars(arraymath)["ensure_blas"] = ensure_blas


_import_without_blas()


def start_numba() -> None:
    """Load numba's tables of types and functions, so the first compilation is faster.

    Programs may call this function in a thread, for example while images are loaded.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.registry import cpu_target

        # Another thread may use the tables to compile a kernel.
        with global_compiler_lock:
            cpu_target.typing_context.refresh()
            cpu_target.target_context.refresh()


def observe_compiler(
    on_delay: Callable[[bool], None], on_compilation: Callable[[bool, Callable[..., Any]], None]
) -> None:
    """Register two functions that are called when numba loads or compiles a kernel.

    Parameters
    ----------
    on_delay : callable
        Function for delays, for example while numba loads or compiles a kernel. The
        calls are ``on_delay(True)`` at the beginning and ``on_delay(False)`` at the
        end.
    on_compilation : callable
        Function for compilations. The calls are ``on_compilation(True, function)`` at
        the beginning and ``on_compilation(False, function)`` at the end. `function` is
        the Python function of the kernel.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from numba.core import event

        class Listener(event.Listener):
            """Listener that calls ``report(begins, event)`` for events of numba."""

            def __init__(self, report: Callable[[bool, Any], None]):
                self.report = report

            def on_start(self, event: Any) -> None:
                self.report(True, event)

            def on_end(self, event: Any) -> None:
                self.report(False, event)

        def report_compilation(begins: bool, event: Any) -> None:
            on_compilation(begins, event.data["dispatcher"].py_func)

        event.register("numba:compiler_lock", Listener(lambda begins, _: on_delay(begins)))
        event.register("numba:compile", Listener(report_compilation))


def choose_intrinsic(intrinsic: Any, loop: Callable[..., Any]) -> Any:
    """Return the intrinsic if possible, otherwise a loop with the same result.

    The loop is needed if numba's JIT compiler is off or llvmlite is incompatible.
    """
    return intrinsic if _CAN_GENERATE and not config.DISABLE_JIT else loop


class VectorBuilder:
    """Builder of LLVM code for vectors of numbers.

    The elements of a vector are called lanes. Each method adds instructions to the
    kernel, and returns an LLVM value. An LLVM value represents the future result of an
    instruction.

    Parameters
    ----------
    context, builder, signature, arguments
        Arguments that numba passes to the generator of an intrinsic.
    lane_type : ir.Type
        LLVM type of a lane.
    lanes : int
        Number of lanes of a vector.
    alignment : int
        Alignment of vectors in memory, in bytes.

    Attributes
    ----------
    vector_type : ir.VectorType
        LLVM type of a vector.
    is_integer : bool
        True if the lanes are unsigned integers.
    """

    def __init__(
        self,
        context: Any,
        builder: Any,
        signature: Any,
        arguments: Any,
        lane_type: Any,
        lanes: int,
        alignment: int,
    ):
        self.context = context
        self.builder = builder
        self.signature = signature
        self.arguments = arguments
        self.vector_type = ir.VectorType(lane_type, lanes)
        self.lanes = lanes
        self.alignment = alignment
        self.is_integer = isinstance(lane_type, ir.IntType)

    def array(self, argument: int) -> Any:
        """Return the array argument with the index `argument`."""
        array_type = self.signature.args[argument]
        return make_array(array_type)(self.context, self.builder, self.arguments[argument])

    def address(self, argument: int, *offsets: Any) -> Any:
        """Return the address of an element of an array argument.

        Parameters
        ----------
        argument : int
            Index of the array among the arguments of the intrinsic.
        *offsets : LLVM value
            Index of the element, as a sum of integers. The default is element 0.
        """
        address = self.array(argument).data
        for offset in offsets:
            address = self.builder.gep(address, [offset])
        return address

    def load(self, address: Any, vector_type: Any = None) -> Any:
        """Load the vector at an address."""
        pointer_type = (vector_type or self.vector_type).as_pointer()
        pointer = self.builder.bitcast(address, pointer_type)
        return self.builder.load(pointer, align=self.alignment)

    def store(self, value: Any, address: Any) -> None:
        """Store the vector `value` at an address."""
        pointer = self.builder.bitcast(address, self.vector_type.as_pointer())
        self.builder.store(value, pointer, align=self.alignment)

    def shuffle(self, a: Any, b: Any, lanes: Sequence[int]) -> Any:
        """Return a vector that consists of selected lanes of the vectors `a` and `b`.

        The lanes of `b` are numbered after the lanes of `a`. For example, ``[0, 4]``
        selects the first lanes of two vectors with four lanes.
        """
        mask = ir.Constant(ir.VectorType(INT32, len(lanes)), list(lanes))
        return self.builder.shuffle_vector(a, b, mask)

    def constant(self, value: float) -> Any:
        """Return a vector with a Python number in every lane."""
        return ir.Constant(self.vector_type, [value] * self.lanes)

    def broadcast(self, value: Any) -> Any:
        """Return a vector with a computed number (an LLVM value) in every lane."""
        undefined = ir.Constant(ir.VectorType(value.type, self.lanes), ir.Undefined)
        vector = self.builder.insert_element(undefined, value, INT32(0))
        return self.shuffle(vector, vector, [0] * self.lanes)

    def call_intrinsic(self, name: str, *arguments: Any) -> Any:
        """Call an LLVM function that returns a vector.

        Parameters
        ----------
        name : str
            Name of the function with its vector type, such as "llvm.fabs.v8f32".
        *arguments : LLVM value
            Arguments of the function.
        """
        function_type = ir.FunctionType(self.vector_type, [value.type for value in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, function_type, name)
        return self.builder.call(function, arguments)

    def minimum(self, a: Any, b: Any) -> Any:
        """Return the minimum of `a` and `b` in each lane."""
        compare = self.builder.icmp_unsigned if self.is_integer else self.builder.fcmp_ordered
        return self.builder.select(compare("<", a, b), a, b)

    def lane_minimum(self, vector: Any) -> Any:
        """Return the minimum of all lanes of a vector."""
        # The number of lanes is a power of 2. Each pass halves this number.
        width = self.lanes
        while width > 1:
            width //= 2
            lower_half = self.shuffle(vector, vector, range(width))
            upper_half = self.shuffle(vector, vector, range(width, 2 * width))
            vector = self.minimum(lower_half, upper_half)
        return self.builder.extract_element(vector, INT32(0))
