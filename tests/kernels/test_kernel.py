"""Compiled code is kept on disk for as long as everything it was made of stays the same, whatever file that stands in."""

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

jit = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="nothing is compiled where the JIT is off"
)

CHANGED = "numba keeps compiled kernels in another way than before: test_internals.py says what must be done"

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
def typed(p):
    return p.x

typed(Old(3))
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
def alone(x):
    return x + 7

kernels = direct, indirect, constant, attribute, alone
print(json.dumps({f.__name__: [f(10), sum(f.stats.cache_misses.values())] for f in kernels}))
""",
}


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def _use(package):
    """By kernel: its result for 10, and how often it was compiled."""
    paths = [str(package.parent), str(Path(stereo_framework.__file__).parents[1])]
    # Python itself does not notice changes that leave size and time alone: -B, no bytecode on disk.
    command = [sys.executable, "-B", "-m", "made.use"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")} | {
        "PYTHONPATH": os.pathsep.join(paths)
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return {name: value for name, (value, _) in found.items()}, {
        name for name, (_, misses) in found.items() if misses
    }


def _replace(file, old, new):
    """Change a file; its size and times stay."""
    before, text = file.stat(), file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


@jit
def test_what_other_files_change_is_compiled_again_and_nothing_else(package):
    values = {"direct": 20, "indirect": 50, "constant": 40, "attribute": 40, "alone": 17}
    assert _use(package) == (values, set(values))

    _replace(package / "helpers.py", "2 * x", "5 * x")
    values |= {"direct": 50, "indirect": 80}
    assert _use(package) == (values, {"direct", "indirect"}), CHANGED

    _replace(package / "helpers.py", "SCALE = 4", "SCALE = 9")
    # Kept code names the type that is gone: it is stale.
    _replace(package / "helpers.py", "Old", "New")
    values |= {"constant": 90, "attribute": 90}
    assert _use(package) == (values, {"constant", "attribute"}), CHANGED


@jit
def test_kernels_without_a_file_are_not_kept():
    # Nor are those of files beside which, and in the user's own cache, nothing can be written: to numba that is the same.
    names = {}
    exec(compile("def double(x): return 2 * x", "<nowhere>", "exec"), names)
    double = kernel(names["double"])
    assert double(4) == 8
    assert double.stats.cache_path is None


def test_without_the_jit_a_kernel_is_the_function(monkeypatch):
    def double(x):
        return 2 * x

    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert kernel(double) is double
    assert kernel(inline="always")(double) is double


def test_the_package_compiles_with_this_decorator_alone():
    folder = Path(stereo_framework.__file__).parent
    others = [
        p for p in folder.rglob("*.py") if "njit" in p.read_text() and p.name != "decorator.py"
    ]
    assert others == []


# --- the digest -------------------------------------------------------------------------------------------------------


def _made(body, **names):
    """A function of one argument."""
    namespace = {"__name__": "made", "np": np, **names}
    exec(f"def f(x, y=1):\n    return {body}", namespace)
    return namespace["f"]


def _digest(body, **names):
    return decorator._digest(_made(body, **names), ())


class Colour(enum.IntEnum):
    RED = 1


class Paint(enum.IntEnum):
    RED = 2


Point = namedtuple("Point", "x y")
Turned = namedtuple("Turned", "y x")


@pytest.mark.parametrize(
    ("one", "other"),
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
        (("A(x, 1).x", {"A": Point}), ("A(x, 1).x", {"A": Turned})),
        (("A(x)", {"A": _made("x + 1")}), ("A(x)", {"A": _made("x + 2")})),
        (
            ("A(x)", {"A": _made("B(x)", B=_made("x + 1"))}),
            ("A(x)", {"A": _made("B(x)", B=_made("x + 2"))}),
        ),
        (
            ("[A(i) for i in x]", {"A": _made("x + 1")}),
            ("[A(i) for i in x]", {"A": _made("x + 2")}),
        ),
        pytest.param(
            ("A(x)", {"A": kernel(_made("x"))}),
            ("A(x)", {"A": kernel(inline="always")(_made("x"))}),
            marks=jit,
        ),
    ],
)
def test_what_is_compiled_in_changes_the_digest(one, other):
    (body, names), (other_body, other_names) = one, other
    assert _digest(body, **names) == _digest(body, **names)
    assert _digest(body, **names) != _digest(other_body, **other_names)


def test_what_is_not_named_does_not_change_the_digest():
    assert _digest("x + 1", A=1, B=_made("x")) == _digest("x + 1", A=2)


def test_functions_that_call_each_other_have_a_digest():
    even, odd = _made("x == 0 or odd(x - 1)"), _made("x != 0 and even(x - 1)")
    even.__globals__["odd"], odd.__globals__["even"] = odd, even
    assert len(decorator._digest(even, ())) == 64


def test_names_of_arguments_fields_count():
    # Numba tells named tuples apart by their class, which an edit of its fields leaves the same.
    f, point, turned = _made("x.x"), numba.typeof(Point(1, 2)), numba.typeof(Turned(1, 2))
    assert decorator._digest(f, (point,)) != decorator._digest(f, (turned,))
