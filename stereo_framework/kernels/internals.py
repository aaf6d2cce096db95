"""Access to the internals of numba and LLVM, which have no stable interface.

Only this module imports these internals, because each new version of numba may change
or remove them. If the installed version of numba lacks them, each process compiles its
kernels again, the progress display does not show the compilation, and loops are used
instead of intrinsics. The results are the same.

An intrinsic (`numba.extending.intrinsic`) is a function that emits LLVM code for its
calls in kernels. The part that emits the code is called the generator. Most generators
use `VectorBuilder` to emit operations on vector registers, because numba would compile
a loop to scalar operations or to narrower vectors. For each intrinsic there is also a
loop that computes the same result. `choose_intrinsic` selects the intrinsic or the
loop.
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
    """LLVM type of the integer that selects a lane of a vector."""

    INT64 = ir.IntType(64)
    """LLVM type of the indices and sizes of arrays."""

    _CAN_GENERATE = hasattr(INT64, "as_pointer")
    """True if llvmlite has the functions by which this module emits LLVM code."""
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
"""Methods of numba's class for cache files that `_CheckedFiles` overrides or calls."""

_CAN_CACHE = hasattr(FunctionCache, "_index_key") and all(
    hasattr(IndexDataCacheFile, name) for name in _FILE_METHODS
)
"""True if numba has the methods of cache classes that this module needs."""

_VERSIONS = f"{__version__} {llvmlite.__version__}".encode()
"""Versions of numba and llvmlite. Machine code from other versions is not loaded."""


def _digest_of(content: bytes) -> bytes:
    """Return the digest that is written in front of the content of a cache file."""
    return hashlib.sha256(_VERSIONS + content).digest()


class _CheckedFiles(IndexDataCacheFile):
    """The cache files of a kernel, which begin with a digest to detect damaged files.

    numba unpickles the content of its cache files without a check. Damaged bytes may
    therefore raise any exception, end the process, or change the results of the machine
    code. This class checks the digest of the content first, and does not unpickle a
    damaged file. Files from other versions of numba or llvmlite fail the check too.
    """

    def _load_index(self) -> dict[Any, str]:
        # If the file cannot be read, whatever the reason, the kernel is compiled again.
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
        # Two processes that save code at the same time may choose the same file name.
        # The file then contains the code of only one of the two keys.
        return data if stored_key == key else None

    def save(self, key: Any, data: Any) -> None:
        """Store machine code together with its key, which `load` compares."""
        super().save(key, (key, data))

    def _read(self, path: str) -> Any:
        # If the path is a named pipe, opening it would wait for a writing program.
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
        # A file cannot replace a folder, so an empty folder at this path is removed
        # first. If the folder is not empty, writing the file fails.
        with contextlib.suppress(OSError):
            os.rmdir(path)
        with self._open_for_write(path) as file:
            file.write(_digest_of(content))
            file.write(content)


def cache_on_disk(
    compiled: Any, function: Callable[..., Any], digest: Callable[[Callable[..., Any], Any], str]
) -> None:
    """Store a kernel's machine code on disk, and load it from there in later processes.

    A fault of the cache never raises an exception. If a cache file cannot be read or
    written, whatever the reason, the kernel is compiled, and its cache files are
    replaced if possible.

    Parameters
    ----------
    compiled : numba dispatcher
        Kernel, as returned by numba's decorator.
    function : callable
        Python function of the kernel.
    digest : callable
        Function that computes a text from `function` and its argument types. This text
        is part of the key under which the machine code is stored.
    """
    if not _CAN_CACHE:
        _warn_about_cache()
        return

    class Cache(FunctionCache):
        """numba's cache of machine code, with digests in its keys and in its files."""

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
            # Exceptions of any type may occur when a file is read and unpickled, or
            # when LLVM loads the machine code. Then the kernel is compiled again.
            with contextlib.suppress(Exception):
                return super().load_overload(sig, target_context)
            return None

        def save_overload(self, sig: Any, data: Any) -> None:
            # The disk may be full, or the folder may have become read-only. The kernel
            # can be used all the same.
            with contextlib.suppress(Exception):
                super().save_overload(sig, data)

    # numba raises RuntimeError if no cache folder is writable. The other exceptions
    # occur for example if the source file cannot be read again.
    with contextlib.suppress(RuntimeError, OSError, ValueError):
        compiled._cache = Cache(function)


@functools.cache
def _warn_about_cache() -> None:
    """Warn that kernels are not stored on disk, but only once in a process."""
    warnings.warn(
        f"numba {__version__}: kernels cannot be stored on disk, so every process compiles them",
        stacklevel=5,
    )


def _import_without_blas() -> None:
    """Import numba's array functions without SciPy's linear algebra.

    Importing SciPy's linear algebra takes 0.2 s, and few kernels need it. numba imports
    it later, when a kernel that uses linear algebra is compiled or called.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from numba.np import linalg

        # The import of arraymath calls ensure_blas, which imports SciPy's linear
        # algebra. During this import, a function without any effect replaces it.
        ensure_blas = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            arraymath = importlib.import_module("numba.np.arraymath")
        finally:
            linalg.ensure_blas = ensure_blas
        vars(arraymath)["ensure_blas"] = ensure_blas


_import_without_blas()


def start_numba() -> None:
    """Load numba's tables of types and functions before the first kernel is compiled.

    Loading the tables takes time. A program can call this function in a thread while it
    waits, for example for an image file. Otherwise the first compilation takes longer.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.registry import cpu_target

        # The lock is needed because a thread that compiles a kernel uses these tables.
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
        Function that is called with True when a thread begins to load or compile a
        kernel, or begins to wait for another thread that compiles. It is called with
        False when the loading, compilation or waiting ends.
    on_compilation : callable
        Function that is called with True and the Python function of a kernel when the
        compilation of this kernel begins. It is called with False and the Python
        function when the compilation ends.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from numba.core import event

        class Listener(event.Listener):
            """Listener that calls `report` when an event of numba begins and ends.

            The first argument of the call is True at the beginning and False at the
            end.
            """

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
    """Return the intrinsic if numba can compile it, otherwise the loop.

    The loop is a kernel that computes the same result as the intrinsic. The loop is
    needed if numba's JIT compiler is off, or if the installed version of llvmlite lacks
    the functions by which this module emits LLVM code.
    """
    return intrinsic if _CAN_GENERATE and not config.DISABLE_JIT else loop


class VectorBuilder:
    """A generator's tool to emit LLVM code for vectors of numbers.

    All lanes (elements) of a vector have the same type. The methods do not compute
    numbers: they add instructions to the code of the kernel, and return LLVM values.
    An LLVM value represents the result that an instruction computes later.

    Parameters
    ----------
    context, builder, signature, arguments
        Arguments that numba passes to the generator of an intrinsic.
    lane_type : ir.Type
        LLVM type of a lane.
    lanes : int
        Number of lanes of a vector.
    alignment : int
        Number of bytes of which the address of every vector in memory is a multiple.

    Attributes
    ----------
    vector_type : ir.VectorType
        LLVM type of a vector.
    is_integer : bool
        True if the lanes are integers, which are treated as unsigned integers.
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
        """Return the array that the kernel passes as the argument with this index."""
        array_type = self.signature.args[argument]
        return make_array(array_type)(self.context, self.builder, self.arguments[argument])

    def address(self, argument: int, *offsets: Any) -> Any:
        """Return the address of an element of an array that the kernel passes.

        Parameters
        ----------
        argument : int
            Index of the array among the arguments of the intrinsic.
        *offsets : LLVM value
            Integers whose sum is the index of the element. Without offsets, the method
            returns the address of the first element.
        """
        address = self.array(argument).data
        for offset in offsets:
            address = self.builder.gep(address, [offset])
        return address

    def load(self, address: Any, vector_type: Any = None) -> Any:
        """Load the vector at an address.

        By default, the type of the vector is the attribute `vector_type`.
        """
        pointer_type = (vector_type or self.vector_type).as_pointer()
        pointer = self.builder.bitcast(address, pointer_type)
        return self.builder.load(pointer, align=self.alignment)

    def store(self, value: Any, address: Any) -> None:
        """Store the vector `value` at an address."""
        pointer = self.builder.bitcast(address, self.vector_type.as_pointer())
        self.builder.store(value, pointer, align=self.alignment)

    def shuffle(self, a: Any, b: Any, lanes: Sequence[int]) -> Any:
        """Return a vector that consists of selected lanes of the vectors `a` and `b`.

        The lanes of `a` and then the lanes of `b` are numbered from 0 on. If `a` and
        `b` have four lanes each, ``lanes=[0, 4]`` selects the first lane of each.
        """
        mask = ir.Constant(ir.VectorType(INT32, len(lanes)), list(lanes))
        return self.builder.shuffle_vector(a, b, mask)

    def constant(self, value: float) -> Any:
        """Return a vector with the same Python number in every lane."""
        return ir.Constant(self.vector_type, [value] * self.lanes)

    def broadcast(self, value: Any) -> Any:
        """Return a vector with the same number in every lane.

        The number is an LLVM value, which the code of the kernel computes.
        """
        undefined = ir.Constant(ir.VectorType(value.type, self.lanes), ir.Undefined)
        vector = self.builder.insert_element(undefined, value, INT32(0))
        return self.shuffle(vector, vector, [0] * self.lanes)

    def call_intrinsic(self, name: str, *arguments: Any) -> Any:
        """Call a function that LLVM provides and that returns a vector.

        Parameters
        ----------
        name : str
            Name of the function with the type of its vectors, such as
            "llvm.fabs.v8f32". llvmlite cannot complete the name for vectors.
        *arguments : LLVM value
            Arguments of the function.
        """
        function_type = ir.FunctionType(self.vector_type, [value.type for value in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, function_type, name)
        return self.builder.call(function, arguments)

    def minimum(self, a: Any, b: Any) -> Any:
        """Return a vector whose lanes are the minima of the lanes of `a` and `b`."""
        compare = self.builder.icmp_unsigned if self.is_integer else self.builder.fcmp_ordered
        return self.builder.select(compare("<", a, b), a, b)

    def lane_minimum(self, vector: Any) -> Any:
        """Return the minimum of all lanes of a vector, as a single number."""
        # Each pass halves the number of lanes, which must be a power of 2.
        width = self.lanes
        while width > 1:
            width //= 2
            lower_half = self.shuffle(vector, vector, range(width))
            upper_half = self.shuffle(vector, vector, range(width, 2 * width))
            vector = self.minimum(lower_half, upper_half)
        return self.builder.extract_element(vector, INT32(0))
