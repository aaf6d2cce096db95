"""Code for vector registers, written by hand where numba's own would be narrow or scalar: numba's and LLVM's internals, in one place.

A generator makes the code of a `numba.extending.intrinsic` with a `Vectors`. Beside each stands the same in plain numpy, which runs where the JIT is off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

__all__ = ["COUNT", "Vectors", "cgutils", "intrinsic", "ir", "types"]

WORD, COUNT = ir.IntType(32), ir.IntType(64)
"""Whole numbers: of lanes within a vector, and of what stands in memory."""


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
