"""The decorator of kernels, and the digest in the key of the code that it stores.

Stored code is used only if nothing changes that the kernel was compiled from, in any
file.
"""

import enum
import json
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numba
import numpy as np
import pytest

import stereo_framework
from stereo_framework.kernels import decorator
from stereo_framework.kernels.decorator import kernel

jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="the JIT of numba is off")

CACHE_DIFFERS = "numba has another cache than before; the messages of test_internals.py tell more"

FILES = {
    "helpers.py": """
from typing import NamedTuple
from stereo_framework.kernels.decorator import kernel

SCALE = 4

@kernel(inline="always")
def inlined(x):
    return 2 * x

@kernel
def called(x):
    return 3 * x

class Old(NamedTuple):
    x: int

@kernel
def field(p):
    return p.x

field(Old(3))
""",
    "between.py": """
from stereo_framework.kernels.decorator import kernel
from made.helpers import called, inlined

@kernel
def both(x):
    return called(x) + inlined(x)
""",
    "use.py": """
import json
from stereo_framework.kernels.decorator import kernel
from made import helpers
from made.between import both
from made.helpers import SCALE, inlined

@kernel
def direct(x):
    return inlined(x)

@kernel
def indirect(x):
    return both(x)

@kernel
def constant(x):
    return x * SCALE

@kernel
def attribute(x):
    return x * helpers.SCALE

@kernel
def independent(x):
    return x + 7

kernels = direct, indirect, constant, attribute, independent
print(json.dumps({f.__name__: [f(10), sum(f.stats.cache_misses.values())] for f in kernels}))
""",
}


@pytest.fixture
def package(tmp_path):
    """Write a package with kernels that use objects of other modules."""
    folder = tmp_path / "made"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def _run_kernels(package):
    """Call the kernels of a package in a new process.

    Returns
    -------
    values : dict of str to int
        Result of each kernel for the argument 10.
    compiled : set of str
        Names of the kernels that the process compiled.
    """
    paths = [str(package.parent), str(Path(stereo_framework.__file__).parents[1])]
    # Without -B, Python would use its old bytecode of a file whose size and time have
    # not changed.
    command = [sys.executable, "-B", "-m", "made.use"]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")
    }
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    kernels = json.loads(process.stdout)
    values = {name: value for name, (value, _) in kernels.items()}
    compiled = {name for name, (_, misses) in kernels.items() if misses}
    return values, compiled


def _replace(file, old, new):
    """Change a file without changing its size and its times."""
    before = file.stat()
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


@jit
def test_only_kernels_that_use_a_changed_object_of_another_file_are_compiled_again(package):
    values = {"direct": 20, "indirect": 50, "constant": 40, "attribute": 40, "independent": 17}
    assert _run_kernels(package) == (values, set(values))

    _replace(package / "helpers.py", "2 * x", "5 * x")
    values |= {"direct": 50, "indirect": 80}
    assert _run_kernels(package) == (values, {"direct", "indirect"}), CACHE_DIFFERS

    _replace(package / "helpers.py", "SCALE = 4", "SCALE = 9")
    # The stored code of `field` names a type that no longer exists. It must not be
    # used.
    _replace(package / "helpers.py", "Old", "New")
    values |= {"constant": 90, "attribute": 90}
    assert _run_kernels(package) == (values, {"constant", "attribute"}), CACHE_DIFFERS


@jit
def test_a_kernel_without_a_file_is_compiled_but_not_stored():
    # numba treats it like a kernel for which it finds no folder to write to.
    namespace = {}
    exec(compile("def double(x): return 2 * x", "<nowhere>", "exec"), namespace)
    double = kernel(namespace["double"])
    assert double(4) == 8
    assert double.stats.cache_path is None


def test_a_kernel_is_the_function_itself_if_the_jit_is_off(monkeypatch):
    def double(x):
        return 2 * x

    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert kernel(double) is double
    assert kernel(inline="always")(double) is double


def test_only_the_module_of_the_decorator_calls_numba_directly():
    folder = Path(stereo_framework.__file__).parent
    callers = [path.name for path in folder.rglob("*.py") if "njit" in path.read_text("utf-8")]
    assert callers == ["decorator.py"]


# --- the digest -----------------------------------------------------------------------


def _function(body, **names):
    """Return a function of `x` with this body and with these global names."""
    namespace = {"__name__": "made", "np": np, **names}
    exec(f"def f(x, y=1):\n    return {body}", namespace)
    return namespace["f"]


def _digest(body, **names):
    return decorator._digest(_function(body, **names), ())


class Colour(enum.IntEnum):
    RED = 1


class Paint(enum.IntEnum):
    RED = 2


Point = namedtuple("Point", "x y")
SwappedPoint = namedtuple("SwappedPoint", "y x")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("x + 1", {}), ("x + 2", {})),
        (("x + 1", {}), ("x + 1.0", {})),
        (("x.min()", {}), ("x.max()", {})),
        (("x in {1, 2}", {}), ("x in {1, 3}", {})),
        (("[i + 1 for i in x]", {}), ("[i + 2 for i in x]", {})),
        (("A + x", {"A": 1}), ("A + x", {"A": 2})),
        (("A + x", {"A": 1}), ("A + x", {"A": True})),
        (("A + x", {"A": np.float32(1)}), ("A + x", {"A": np.float64(1)})),
        (("A[0] + x", {"A": (1, 2)}), ("A[0] + x", {"A": (2, 1)})),
        (("A[0] + x", {"A": np.array([1, 2])}), ("A[0] + x", {"A": np.array([1, 3])})),
        (("A.RED + x", {"A": Colour}), ("A.RED + x", {"A": Paint})),
        (("A(x, 1).x", {"A": Point}), ("A(x, 1).x", {"A": SwappedPoint})),
        (("A(x)", {"A": _function("x + 1")}), ("A(x)", {"A": _function("x + 2")})),
        (
            ("A(x)", {"A": _function("B(x)", B=_function("x + 1"))}),
            ("A(x)", {"A": _function("B(x)", B=_function("x + 2"))}),
        ),
        (
            ("[A(i) for i in x]", {"A": _function("x + 1")}),
            ("[A(i) for i in x]", {"A": _function("x + 2")}),
        ),
        pytest.param(
            ("A(x)", {"A": kernel(_function("x"))}),
            ("A(x)", {"A": kernel(inline="always")(_function("x"))}),
            marks=jit,
        ),
    ],
)
def test_the_digest_depends_on_the_code_and_on_the_objects_that_it_names(first, second):
    first_body, first_names = first
    second_body, second_names = second
    assert _digest(first_body, **first_names) == _digest(first_body, **first_names)
    assert _digest(first_body, **first_names) != _digest(second_body, **second_names)


def test_the_digest_does_not_depend_on_objects_that_the_code_does_not_name():
    assert _digest("x + 1", A=1, B=_function("x")) == _digest("x + 1", A=2)


def test_functions_that_call_each_other_have_a_digest():
    even = _function("x == 0 or odd(x - 1)")
    odd = _function("x != 0 and even(x - 1)")
    even.__globals__["odd"] = odd
    odd.__globals__["even"] = even
    assert len(decorator._digest(even, ())) == 64


def test_the_digest_depends_on_the_fields_of_named_tuples_in_the_signature():
    # numba distinguishes named tuples by their class. If the fields of a class are
    # edited, numba takes it for the same class.
    function = _function("x.x")
    point = numba.typeof(Point(1, 2))
    swapped_point = numba.typeof(SwappedPoint(1, 2))
    assert decorator._digest(function, (point,)) != decorator._digest(function, (swapped_point,))
