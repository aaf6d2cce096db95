"""numba's and LLVM's internals, in one place: what the next version may have no more, or do in another way.

Where numba is another one than the tests of this file know, kernels are compiled in every process and nobody hears of it; all results stay.

A generator makes the code of a `numba.extending.intrinsic` with a `Vectors`: code for vector registers, where numba's own would be narrow or scalar. Beside
each stands the same as an ordinary loop, which `generated` takes where there are no such generators.
"""

import contextlib
import functools
import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from numba import __version__, config, types
from numba.extending import intrinsic

try:
    from numba.core.caching import FunctionCache
except ImportError:
    FunctionCache = object

try:
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import cgutils
    from numba.np.arrayobj import make_array

    WORD, COUNT = ir.IntType(32), ir.IntType(64)
    """Whole numbers: of lanes within a vector, and of what stands in memory."""
    _CAN_GENERATE = hasattr(COUNT, "as_pointer")
    """Whether LLVM's code can be written in the way that this file does."""
except ImportError:
    _CAN_GENERATE = False

__all__ = ["COUNT", "Vectors", "cgutils", "generated", "intrinsic", "ir", "keep", "listen", "start_numba", "types"]

_CAN_KEEP = hasattr(FunctionCache, "_index_key")
"""Whether numba keeps code in the way that this file extends."""


def keep(compiled: Any, function: Callable[..., Any], digest: Callable[[Callable[..., Any], Any], str]) -> None:
    """Keep a kernel's code on disk, under a key that contains what `digest` says of its function and the types of its arguments."""
    if not _CAN_KEEP:
        _warn()
        return

    class Cache(FunctionCache):
        """Numba's own, its keys extended."""

        def _index_key(self, signature: Any, *others: Any) -> Any:
            return super()._index_key(signature, *others), digest(function, signature)

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                found = super().load_overload(sig, target_context)
            except AttributeError:
                # What an older file left names a type that this one does not have, and numba reads it before it asks how old it is.
                found = None
                self.flush()
            # Two processes that keep code of one kernel for different types at the same time may give both the same name.
            if found is not None and tuple(found.signature.args) != tuple(getattr(sig, "args", sig)):
                found = None
            return found

    # Numba's error where there is no folder to write to.
    with contextlib.suppress(RuntimeError):
        compiled._cache = Cache(function)


@functools.cache
def _warn() -> None:
    warnings.warn(f"numba {__version__}: kernels cannot be kept on disk and are compiled in every process", stacklevel=5)


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


def listen(locked: Callable[[bool], None], compiling: Callable[[bool, Callable[..., Any]], None]) -> None:
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
        event.register("numba:compile", Listener(lambda begins, event: compiling(begins, event.data["dispatcher"].py_func)))


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

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any, kind: Any, lanes: int, align: int):
        self.context, self.builder, self.signature, self.arguments = context, builder, signature, arguments
        self.kind, self.lanes, self.align = ir.VectorType(kind, lanes), lanes, align
        self.whole = isinstance(kind, ir.IntType)

    def array(self, argument: int) -> Any:
        """The array that is an argument."""
        return make_array(self.signature.args[argument])(self.context, self.builder, self.arguments[argument])

    def at(self, argument: int, *offsets: Any) -> Any:
        """The address of an array's first number, and so many further."""
        found = self.array(argument).data
        for offset in offsets:
            found = self.builder.gep(found, [offset])
        return found

    def load(self, address: Any, kind: Any = None) -> Any:
        """The vector that begins at an address."""
        return self.builder.load(self.builder.bitcast(address, (kind or self.kind).as_pointer()), align=self.align)

    def store(self, value: Any, address: Any) -> None:
        """Write a vector to an address."""
        self.builder.store(value, self.builder.bitcast(address, self.kind.as_pointer()), align=self.align)

    def shuffle(self, a: Any, b: Any, picked: Sequence[int]) -> Any:
        """Lanes of two vectors by their numbers."""
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(WORD, len(picked)), list(picked)))

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
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), arguments)

    def lower(self, a: Any, b: Any) -> Any:
        """The lower of two numbers in each lane; of whole numbers without a sign."""
        compare = self.builder.icmp_unsigned if self.whole else self.builder.fcmp_ordered
        return self.builder.select(compare("<", a, b), a, b)

    def lowest(self, value: Any) -> Any:
        """The lowest of all lanes."""
        left = self.lanes
        while left > 1:
            left //= 2
            value = self.lower(self.shuffle(value, value, range(left)), self.shuffle(value, value, range(left, 2 * left)))
        return self.builder.extract_element(value, WORD(0))
