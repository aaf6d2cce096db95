"""The internals of numba and LLVM that this package uses.

No other module imports them, because any version of numba may change or remove them. If
this module does not recognize the installed version, each process compiles its kernels
again, progress does not report the compilation, and the loops replace the intrinsics.
The results are the same.

A `numba.extending.intrinsic` consists of a generator, a function that emits LLVM code.
The generators of this package emit operations on vector registers with `VectorBuilder`,
because numba would turn the same loop into scalar code or into narrower vectors. A loop
that computes the same accompanies each intrinsic, and `choose_intrinsic` selects one of
the two.
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
    """LLVM type of the numbers of lanes in a vector."""

    INT64 = ir.IntType(64)
    """LLVM type of indices and sizes of arrays."""

    _CAN_GENERATE = hasattr(INT64, "as_pointer")
    """Whether llvmlite has the interface with which this module emits LLVM code."""
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
"""Methods of numba's cache files that `_CheckedFiles` replaces or calls."""

_CAN_CACHE = hasattr(FunctionCache, "_index_key") and all(
    hasattr(IndexDataCacheFile, name) for name in _FILE_METHODS
)
"""Whether numba has the cache classes that this module extends."""

_VERSIONS = f"{__version__} {llvmlite.__version__}".encode()
"""Versions that decide whether a process can load machine code from a file."""


def _digest_of(content: bytes) -> bytes:
    """Return the digest that precedes the content of a cache file."""
    return hashlib.sha256(_VERSIONS + content).digest()


class _CheckedFiles(IndexDataCacheFile):
    """The cache files of a kernel, each of which begins with a digest of its content.

    numba unpickles whatever a file contains. Damaged bytes may therefore raise any
    exception, end the process or, in machine code, change results. With the digest a
    damaged file is not unpickled at all. Its digest also differs if another version
    of numba or llvmlite wrote it.
    """

    def _load_index(self) -> dict[Any, str]:
        # Any failure means that the cache does not contain the kernel.
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
        """Return the code that is stored under a key, or None."""
        stored = super().load(key)
        if stored is None:
            return None
        stored_key, data = stored
        # Two processes that save code at the same time may choose the same file name.
        return data if stored_key == key else None

    def save(self, key: Any, data: Any) -> None:
        """Store code together with its key."""
        super().save(key, (key, data))

    def _read(self, path: str) -> Any:
        # Opening a pipe would wait for a program that writes to it.
        if not os.path.isfile(path):
            raise FileNotFoundError(path)
        with open(path, "rb") as file:
            digest = file.read(hashlib.sha256().digest_size)
            content = file.read()

        if digest != _digest_of(content):
            raise ValueError(f"{path}: the digest differs from that of the content")
        return pickle.loads(content)

    def _write(self, path: str, value: Any) -> None:
        content = self._dump(value)
        # A file cannot replace a folder. A folder that is not empty stays.
        with contextlib.suppress(OSError):
            os.rmdir(path)
        with self._open_for_write(path) as file:
            file.write(_digest_of(content))
            file.write(content)


def cache_on_disk(
    compiled: Any, function: Callable[..., Any], digest: Callable[[Callable[..., Any], Any], str]
) -> None:
    """Store a kernel's machine code on disk, and load it from there in later processes.

    The cache decides only whether a kernel is compiled again. If a file of the cache
    cannot be read or written, for whatever reason, the kernel is compiled, and its
    files are replaced if possible.

    Parameters
    ----------
    compiled : numba dispatcher
        Kernel, as the decorator of numba returns it.
    function : callable
        Python function of the kernel.
    digest : callable
        Returns a text for the function and the types of its arguments. The text is
        part of the key under which the code is stored.
    """
    if not _CAN_CACHE:
        _warn_about_cache()
        return

    class Cache(FunctionCache):
        """numba's cache of functions, with longer keys and checked files."""

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
            # Reading, unpickling and LLVM raise exceptions of many kinds.
            with contextlib.suppress(Exception):
                return super().load_overload(sig, target_context)
            return None

        def save_overload(self, sig: Any, data: Any) -> None:
            # The disk may be full, or the folder may have become read-only.
            with contextlib.suppress(Exception):
                super().save_overload(sig, data)

    # numba raises RuntimeError if it can write to no folder. Other errors come from the
    # file system, for example if the source file cannot be read again.
    with contextlib.suppress(RuntimeError, OSError, ValueError):
        compiled._cache = Cache(function)


@functools.cache
def _warn_about_cache() -> None:
    warnings.warn(
        f"numba {__version__}: kernels cannot be stored on disk, so every process compiles them",
        stacklevel=5,
    )


def _import_without_blas() -> None:
    """Import numba's array functions without SciPy's linear algebra.

    Importing SciPy's linear algebra takes a fifth of a second, and few kernels need it.
    numba imports it again when it compiles a kernel that uses linear algebra, and when
    such a kernel runs.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from numba.np import linalg

        ensure_blas = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            arraymath = importlib.import_module("numba.np.arraymath")
        finally:
            linalg.ensure_blas = ensure_blas
        vars(arraymath)["ensure_blas"] = ensure_blas


_import_without_blas()


def start_numba() -> None:
    """Load the tables that numba otherwise loads when it compiles the first kernel.

    A program can call this function in a thread while it waits for something else.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.registry import cpu_target

        # Another thread may be compiling a kernel, which needs the same tables.
        with global_compiler_lock:
            cpu_target.typing_context.refresh()
            cpu_target.target_context.refresh()


def observe_compiler(
    on_delay: Callable[[bool], None], on_compilation: Callable[[bool, Callable[..., Any]], None]
) -> None:
    """Call functions when numba begins and ends to load or compile kernels.

    Parameters
    ----------
    on_delay : callable
        Called with True when a thread begins to load or compile a kernel, or to wait
        for another thread that does, and with False at the end.
    on_compilation : callable
        Called with True and the Python function of a kernel when numba begins to
        compile the kernel, and with False and the function at the end.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from numba.core import event

        class Listener(event.Listener):
            """Reports the beginning (True) and the end (False) of each event."""

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

    The loop is a kernel that computes the same. It is needed if the JIT is off, or if
    llvmlite emits code in another way than this module.
    """
    return intrinsic if _CAN_GENERATE and not config.DISABLE_JIT else loop


class VectorBuilder:
    """Emits LLVM code for vectors whose lanes have one type.

    Methods return LLVM values, which stand for the results that the code computes.

    Parameters
    ----------
    context, builder, signature, arguments
        The arguments of a generator, which numba calls.
    lane_type : ir.Type
        LLVM type of a lane.
    lanes : int
        Number of lanes of a vector.
    alignment : int
        Every vector in memory begins at a multiple of so many bytes.

    Attributes
    ----------
    vector_type : ir.VectorType
        LLVM type of a vector.
    is_integer : bool
        Whether lanes are integers, which are unsigned.
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
        """Return the array that is the argument with a number."""
        array_type = self.signature.args[argument]
        return make_array(array_type)(self.context, self.builder, self.arguments[argument])

    def address(self, argument: int, *offsets: Any) -> Any:
        """Return the address of an element of an array argument.

        Parameters
        ----------
        argument : int
            Number of the argument.
        *offsets : LLVM value
            Their sum is the index of the element. Without offsets, the address is that
            of the first element.
        """
        address = self.array(argument).data
        for offset in offsets:
            address = self.builder.gep(address, [offset])
        return address

    def load(self, address: Any, vector_type: Any = None) -> Any:
        """Load the vector at an address; its type is `vector_type` by default."""
        pointer_type = (vector_type or self.vector_type).as_pointer()
        pointer = self.builder.bitcast(address, pointer_type)
        return self.builder.load(pointer, align=self.alignment)

    def store(self, value: Any, address: Any) -> None:
        """Store a vector at an address."""
        pointer = self.builder.bitcast(address, self.vector_type.as_pointer())
        self.builder.store(value, pointer, align=self.alignment)

    def shuffle(self, a: Any, b: Any, lanes: Sequence[int]) -> Any:
        """Return a vector of selected lanes of two vectors.

        The numbers of the lanes of `b` follow the numbers of the lanes of `a`.
        """
        mask = ir.Constant(ir.VectorType(INT32, len(lanes)), list(lanes))
        return self.builder.shuffle_vector(a, b, mask)

    def constant(self, value: float) -> Any:
        """Return a vector with a Python number in every lane."""
        return ir.Constant(self.vector_type, [value] * self.lanes)

    def broadcast(self, value: Any) -> Any:
        """Return a vector with a computed number in every lane."""
        undefined = ir.Constant(ir.VectorType(value.type, self.lanes), ir.Undefined)
        vector = self.builder.insert_element(undefined, value, INT32(0))
        return self.shuffle(vector, vector, [0] * self.lanes)

    def call_intrinsic(self, name: str, *arguments: Any) -> Any:
        """Call an intrinsic of LLVM that returns a vector.

        Parameters
        ----------
        name : str
            Full name with the type, because llvmlite cannot derive it for vectors.
        *arguments : LLVM value
            Arguments of the intrinsic.
        """
        function_type = ir.FunctionType(self.vector_type, [value.type for value in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, function_type, name)
        return self.builder.call(function, arguments)

    def minimum(self, a: Any, b: Any) -> Any:
        """Return the minimum of two vectors, lane by lane."""
        compare = self.builder.icmp_unsigned if self.is_integer else self.builder.fcmp_ordered
        return self.builder.select(compare("<", a, b), a, b)

    def lane_minimum(self, vector: Any) -> Any:
        """Return the minimum of all lanes of a vector, as a single number."""
        width = self.lanes
        while width > 1:
            width //= 2
            lower_half = self.shuffle(vector, vector, range(width))
            upper_half = self.shuffle(vector, vector, range(width, 2 * width))
            vector = self.minimum(lower_half, upper_half)
        return self.builder.extract_element(vector, INT32(0))
