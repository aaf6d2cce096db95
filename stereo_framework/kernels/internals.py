"""numba's and LLVM's internals, in one place: what the next version may have no more, or do in another way.

Where numba is another one than the tests of this file know, kernels are compiled in every process and nobody hears of it; all results stay.

A generator makes the code of a `numba.extending.intrinsic` with a `Vectors`: code for vector registers, where numba's own would be narrow or scalar. Beside
each stands the same as an ordinary loop, which `generated` takes where there are no such generators.
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

    WORD, COUNT = ir.IntType(32), ir.IntType(64)
    """Whole numbers: of lanes within a vector, and of what stands in memory."""
    _CAN_GENERATE = hasattr(COUNT, "as_pointer")
    """Whether LLVM's code can be written in the way that this file does."""
except ImportError:
    _CAN_GENERATE = False

__all__ = [
    "COUNT",
    "Vectors",
    "cgutils",
    "generated",
    "intrinsic",
    "ir",
    "keep",
    "listen",
    "start_numba",
    "types",
]

_FILE_METHODS = ("_load_index", "_save_index", "_load_data", "_save_data", "_open_for_write")
"""Methods of numba's cache files that `_CheckedFiles` replaces or calls."""

_CAN_KEEP = hasattr(FunctionCache, "_index_key") and all(
    hasattr(IndexDataCacheFile, name) for name in _FILE_METHODS
)
"""Whether numba keeps code in the way that this file extends."""

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


def keep(
    compiled: Any, function: Callable[..., Any], digest: Callable[[Callable[..., Any], Any], str]
) -> None:
    """Store a kernel's machine code on disk, and load it from there in later processes.

    The cache decides only whether a kernel is compiled again. If a file of the cache
    cannot be read or written, for whatever reason, the kernel is compiled, and its
    files are replaced if possible.

    Parameters
    ----------
    compiled : numba dispatcher
    function : callable
        Python function of the kernel.
    digest : callable
        Returns a text for the function and the types of its arguments. The text is
        part of the key under which the code is stored.
    """
    if not _CAN_KEEP:
        _warn()
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

        def _index_key(self, signature: Any, *others: Any) -> Any:
            return super()._index_key(signature, *others), digest(function, signature)

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
def _warn() -> None:
    warnings.warn(
        f"numba {__version__}: kernels cannot be kept on disk and are compiled in every process",
        stacklevel=5,
    )


def _without_blas() -> None:
    """Let numba's kernels of arrays load without SciPy's linear algebra: a fifth of a second, for a name that few kernels need.

    What does need it asks for it again when it is compiled, and when it runs.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from numba.np import linalg

        asked, linalg.ensure_blas = linalg.ensure_blas, lambda: None
        try:
            arraymath = importlib.import_module("numba.np.arraymath")
        finally:
            linalg.ensure_blas = asked
        vars(arraymath)["ensure_blas"] = asked


_without_blas()


def start_numba() -> None:
    """Let numba load what it otherwise loads with the first kernel, where something else can be done meanwhile."""
    with contextlib.suppress(ImportError, AttributeError):
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.registry import cpu_target

        # What another thread compiles meanwhile needs the same tables.
        with global_compiler_lock:
            cpu_target.typing_context.refresh()
            cpu_target.target_context.refresh()


def listen(
    locked: Callable[[bool], None], compiling: Callable[[bool, Callable[..., Any]], None]
) -> None:
    """Call `locked` when a thread begins (True) and ends (False) to compile or load a kernel, and `compiling`, with its function, when it really compiles one."""
    with contextlib.suppress(ImportError, AttributeError):
        from numba.core import event

        class Listener(event.Listener):
            def __init__(self, tell: Callable[[bool, Any], None]):
                self.tell = tell

            def on_start(self, event: Any) -> None:
                self.tell(True, event)

            def on_end(self, event: Any) -> None:
                self.tell(False, event)

        event.register("numba:compiler_lock", Listener(lambda begins, _: locked(begins)))
        event.register(
            "numba:compile",
            Listener(lambda begins, event: compiling(begins, event.data["dispatcher"].py_func)),
        )


def generated(intrinsic: Any, loop: Callable[..., Any]) -> Any:
    """An intrinsic; where there is none, because the JIT is off or numba writes code in another way, the kernel of a loop that does the same."""
    return intrinsic if _CAN_GENERATE and not config.DISABLE_JIT else loop


class Vectors:
    """What generators do with vectors of one kind of numbers.

    Parameters
    ----------
    context, builder, signature, arguments
        As numba hands them to a generator.
    kind : ir.Type
        Of a lane.
    lanes : int
    align : int
        Bytes at multiples of which vectors lie in memory at least.
    """

    def __init__(
        self,
        context: Any,
        builder: Any,
        signature: Any,
        arguments: Any,
        kind: Any,
        lanes: int,
        align: int,
    ):
        self.context, self.builder, self.signature, self.arguments = (
            context,
            builder,
            signature,
            arguments,
        )
        self.kind, self.lanes, self.align = ir.VectorType(kind, lanes), lanes, align
        self.whole = isinstance(kind, ir.IntType)

    def array(self, argument: int) -> Any:
        """The array that is an argument."""
        return make_array(self.signature.args[argument])(
            self.context, self.builder, self.arguments[argument]
        )

    def at(self, argument: int, *offsets: Any) -> Any:
        """The address of an array's first number, and so many further."""
        found = self.array(argument).data
        for offset in offsets:
            found = self.builder.gep(found, [offset])
        return found

    def load(self, address: Any, kind: Any = None) -> Any:
        """The vector that begins at an address."""
        return self.builder.load(
            self.builder.bitcast(address, (kind or self.kind).as_pointer()), align=self.align
        )

    def store(self, value: Any, address: Any) -> None:
        """Write a vector to an address."""
        self.builder.store(
            value, self.builder.bitcast(address, self.kind.as_pointer()), align=self.align
        )

    def shuffle(self, a: Any, b: Any, picked: Sequence[int]) -> Any:
        """Lanes of two vectors by their numbers."""
        return self.builder.shuffle_vector(
            a, b, ir.Constant(ir.VectorType(WORD, len(picked)), list(picked))
        )

    def constant(self, value: float) -> Any:
        """A number in all lanes."""
        return ir.Constant(self.kind, [value] * self.lanes)

    def spread(self, value: Any) -> Any:
        """A computed number in all lanes."""
        vector = ir.VectorType(value.type, self.lanes)
        first = self.builder.insert_element(ir.Constant(vector, ir.Undefined), value, WORD(0))
        return self.shuffle(first, first, [0] * self.lanes)

    def call(self, name: str, *arguments: Any) -> Any:
        """The result of an LLVM intrinsic on vectors, which llvmlite cannot name by itself."""
        kind = ir.FunctionType(self.kind, [argument.type for argument in arguments])
        return self.builder.call(
            cgutils.get_or_insert_function(self.builder.module, kind, name), arguments
        )

    def lower(self, a: Any, b: Any) -> Any:
        """The lower of two numbers in each lane; of whole numbers without a sign."""
        compare = self.builder.icmp_unsigned if self.whole else self.builder.fcmp_ordered
        return self.builder.select(compare("<", a, b), a, b)

    def lowest(self, value: Any) -> Any:
        """The lowest of all lanes."""
        left = self.lanes
        while left > 1:
            left //= 2
            value = self.lower(
                self.shuffle(value, value, range(left)),
                self.shuffle(value, value, range(left, 2 * left)),
            )
        return self.builder.extract_element(value, WORD(0))
