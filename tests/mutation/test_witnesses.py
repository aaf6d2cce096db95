"""Lines that show that a test meets a change."""

import ast

from mutation.changes import changes
from mutation.witnesses import Package

KERNELS = """\
from numba import njit
STEP = 2
@kernel(inline="always")
def _inner(a):
    return a < 1
@kernel
def outer(a):
    return _inner(a)
def wrapper(a, size=3):
    "A docstring."
    return outer(a)
"""

CALLERS = """\
from package.kernels import STEP, outer
TABLE = {"outer": outer}
def first(a):
    return STEP * a
def second(a):
    return TABLE["outer"](a)
class Solver:
    width: int = 7
    def solve(self):
        return self.width
def outer_of_another_file(a):
    return a
"""

UNRELATED = """\
STEP = 5
def third(a):
    return STEP + a
"""

SOURCES = {
    "package/kernels.py": KERNELS,
    "package/callers.py": CALLERS,
    "package/other.py": UNRELATED,
}


def witnesses(file, kind, old, compiled=True):
    """Return file stems and lines that are witnesses of a change."""
    trees = {name: ast.parse(source) for name, source in SOURCES.items()}
    candidates = [
        change
        for change in changes(trees[file])
        if change.kind == kind and change.texts()[0] == old
    ]
    lines = Package(trees).witnesses(file, candidates[0], compiled)
    return sorted((name.split("/")[1].removesuffix(".py"), line) for name, line in lines)


def test_statement_of_a_function():
    assert witnesses("package/other.py", "sign", "return STEP + a") == [("other", 3)]


def test_kernel_as_plain_python():
    lines = witnesses("package/kernels.py", "comparison", "return a < 1", compiled=False)
    assert lines == [("kernels", 5)]


def test_compiled_kernel_is_met_by_callers_of_its_callers():
    lines = witnesses("package/kernels.py", "comparison", "return a < 1")
    in_kernels = [("kernels", 10), ("kernels", 11)]
    assert lines == [("callers", 6), *in_kernels]


def test_default_is_met_by_the_body_of_its_function():
    lines = witnesses("package/kernels.py", "default", "a, size=3")
    assert lines == [("kernels", 10), ("kernels", 11)]


def test_constant_is_met_by_functions_that_import_it():
    assert witnesses("package/kernels.py", "constant", "STEP = 2") == [("callers", 4)]


def test_default_of_a_field_is_met_by_the_methods_of_its_class():
    assert witnesses("package/callers.py", "default", "width: int = 7") == [("callers", 10)]


def test_statement_with_a_body_is_met_by_its_header():
    tree = ast.parse("def f(a):\n    if (a <\n        2):\n        g()\n    return a\n")
    [comparison] = [change for change in changes(tree) if change.kind == "comparison"]
    lines = Package({"f.py": tree}).witnesses("f.py", comparison, compiled=True)
    assert lines == {("f.py", 2), ("f.py", 3)}
