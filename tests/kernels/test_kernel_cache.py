"""Damaged files and full disks cost only the time of compiling a kernel again.

They never change a result, and they never raise an error.
"""

import builtins
import errno
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
import pytest

from stereo_framework.kernels import internals
from stereo_framework.kernels.decorator import kernel

pytestmark = [
    pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="the JIT of numba is off"),
    pytest.mark.skipif(os.name != "posix", reason="makes pipes and limits the size of files"),
]


def double(number):
    return 2 * number


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Let numba use an empty folder for its cache, and return the folder."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def compile_count():
    """Call the kernel as a new process does, and return how often it was compiled."""
    compiled = kernel(double)
    assert compiled(3.5) == 7
    return sum(compiled.stats.cache_misses.values())


def files(cache, suffix):
    """Return the files of the cache with a suffix.

    numba writes one index file (.nbi) and one code file (.nbc) for this kernel.
    """
    return list(cache.rglob(f"*{suffix}"))


def change_content(change):
    return lambda path: path.write_bytes(change(path.read_bytes()))


def with_valid_digest(value):
    content = pickle.dumps(value)
    return lambda path: path.write_bytes(internals._digest_of(content) + content)


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


def replace_by_pipe(path):
    path.unlink()
    os.mkfifo(path)


def replace_by_loop(path):
    path.unlink()
    path.symlink_to(path.name)


def change_bit(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE = {
    "empty": change_content(lambda content: b""),
    "shorter than a digest": change_content(lambda content: content[:9]),
    "cut in half": change_content(lambda content: content[: len(content) // 2]),
    "last byte missing": change_content(lambda content: content[:-1]),
    "one bit": change_content(change_bit),
    "zeros": change_content(lambda content: bytes(len(content))),
    "random bytes": change_content(lambda content: np.random.default_rng(0).bytes(len(content))),
    "text": change_content(lambda content: b"not a pickle\n"),
    "a pickle of numba's form": change_content(
        lambda content: pickle.dumps(numba.__version__) + pickle.dumps(({}, {}))
    ),
    "an absurd length": change_content(lambda content: b"\x80\x05\x8e" + b"\xff" * 7 + b"\x7f"),
    "missing": Path.unlink,
    "a folder": replace_by_folder,
    "a pipe": replace_by_pipe,
    "a link to itself": replace_by_loop,
    # The digest of these bytes is correct. Only a mistake of this program writes them.
    **{
        f"a valid {value!r}": with_valid_digest(value)
        for value in (None, 7, "text", [], (1, 2), ({}, {}), ((), ()))
    },
    "a missing class": lambda path: path.write_bytes(
        internals._digest_of(b"cno\nsuch\n.") + b"cno\nsuch\n."
    ),
    "no pickle": lambda path: path.write_bytes(internals._digest_of(b"text") + b"text"),
}


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_replaced_by_compiling_once(suffix, damage, cache):
    assert [compile_count(), compile_count()] == [1, 0]
    [path] = files(cache, suffix)
    DAMAGE[damage](path)
    assert [compile_count(), compile_count()] == [1, 0]


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_folder_with_files_is_not_replaced(suffix, cache):
    compile_count()
    [path] = files(cache, suffix)
    replace_by_folder(path)
    (path / "precious").touch()
    assert [compile_count(), compile_count()] == [1, 1]
    assert (path / "precious").exists()
    assert not files(cache, ".tmp.*")


def test_files_of_another_version_of_numba_are_replaced(cache, monkeypatch):
    monkeypatch.setattr(internals, "_VERSIONS", b"0.1 0.1")
    assert [compile_count(), compile_count()] == [1, 0]
    monkeypatch.undo()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(cache))
    assert [compile_count(), compile_count()] == [1, 0]


ERRORS = [
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EACCES,
    errno.EROFS,
    errno.EIO,
    errno.ESTALE,
    errno.EMFILE,
]


def raise_error(monkeypatch, module, name, number, condition=lambda *arguments: True):
    """Let a function of the system raise an error for files of the cache.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
    module, name
        Module and name of the function.
    number : int
        Number of the error.
    condition : callable
        The call fails only if this function returns True for its arguments.
    """
    call = getattr(module, name)

    def fail(*arguments, **options):
        # Parallel test processes lock files in the folder of the cache. They must not
        # fail.
        is_lock = str(arguments[0]).endswith(".lock")
        if ".nb" in str(arguments[:1]) and not is_lock and condition(*arguments):
            raise OSError(number, os.strerror(number), arguments[0])
        return call(*arguments, **options)

    monkeypatch.setattr(module, name, fail)


@pytest.mark.parametrize("number", ERRORS, ids=errno.errorcode.get)
def test_an_error_while_reading_costs_only_the_time_of_compiling(number, cache, monkeypatch):
    assert [compile_count(), compile_count()] == [1, 0]
    with monkeypatch.context() as patch:
        raise_error(patch, builtins, "open", number, lambda path, mode="r", *rest: "r" in mode)
        assert compile_count() == 1
    assert compile_count() == 0


@pytest.mark.parametrize("number", ERRORS[:6], ids=errno.errorcode.get)
@pytest.mark.parametrize("name", ["open", "replace", "makedirs", "TemporaryFile"])
def test_an_error_while_writing_costs_only_the_time_of_compiling(number, name, cache, monkeypatch):
    # numba chooses the folder here, before the disk is full.
    compiled = kernel(double)
    with monkeypatch.context() as patch:
        if name == "open":
            raise_error(patch, builtins, "open", number)
        elif name == "replace":
            raise_error(patch, os, "replace", number)
        else:
            error = OSError(number, os.strerror(number))
            module = os if name == "makedirs" else tempfile

            def fail(*arguments, **options):
                raise error

            patch.setattr(module, name, fail)
        assert compiled(3.5) == 7
    assert not files(cache, ".nbc")
    assert [compile_count(), compile_count()] == [1, 0]


PROGRAM = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from stereo_framework.kernels.decorator import kernel
from test_kernel_cache import double
compiled = kernel(double)
print(compiled(3.5), sum(compiled.stats.cache_misses.values()))
"""


def output_of_process(cache, **options):
    """Return the result of the kernel in a new process, and its compile count."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, **options
    ).stdout


def test_a_new_process_replaces_damaged_files(tmp_path):
    assert output_of_process(tmp_path) == "7.0 1\n"
    for path in [*files(tmp_path, ".nbi"), *files(tmp_path, ".nbc")]:
        path.write_bytes(b"")
    assert output_of_process(tmp_path) == "7.0 1\n"
    assert output_of_process(tmp_path) == "7.0 0\n"


def test_a_full_disk_does_not_stop_a_process(tmp_path):
    import resource

    def limit_size_of_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    assert output_of_process(tmp_path, preexec_fn=limit_size_of_files) == "7.0 1\n"
    assert not files(tmp_path, ".nbc")
    assert not files(tmp_path, ".tmp.*")
