"""Digests of the code that computes disparity maps or evaluates disparity maps.

A digest covers the source files that the stages, the readers of the scene or the
metrics import, directly or indirectly. A digest also covers the versions of the
imported numerical packages. If any other source file changes, stored results stay
valid.
"""

import functools
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from stereo_framework.core.module_sources import is_in_install_folder
from stereo_framework.core.package_files import PACKAGE, package_folder
from stereo_framework.core.plugins import is_plugin_file
from stereo_framework.core.reached_sources import (
    ReachedSources,
    digest_of_data,
    sources_of_file,
    sources_of_loaded_code,
    sources_of_modules,
    versions_of_packages,
)
from stereo_framework.core.scene import Scene
from stereo_framework.engine.pipeline import Pipeline
from stereo_framework.evaluation.metrics import METRICS
from stereo_framework.evaluation.protocols import Protocol
from stereo_framework.io.registered_readers import registered_readers
from stereo_framework.sweep import pseudo_truth

_ENGINE = ("stereo_framework.engine.runner", "stereo_framework.engine.pipeline")
"""Modules that every computation of a disparity map uses."""

_EVALUATOR = ("stereo_framework.evaluation.evaluate",)
"""Module that every evaluation of a disparity map uses."""

_REGISTERED_READERS = "stereo_framework.io.registered_readers"
"""Module that reads files with the readers of plug-ins."""


class CodeReader:
    """Reader of the code of runs, which searches the sources of each stage once.

    Parameters
    ----------
    in_memory : bool
        Whether the digests cover functions that the running program or notebook
        defines. Pass False to compare digests between processes, because another
        process does not have the functions of this program.
    """

    def __init__(self, *, in_memory: bool = True):
        self._in_memory = in_memory
        self._sources: dict[int | str, tuple[object, ReachedSources]] = {}
        self._matching_digests: dict[object, str] = {}

    # --- digests ----------------------------------------------------------------------

    def matching_digest(self, pipeline: Pipeline, scene: Scene | None = None) -> str:
        """Return the digest of the code that computes a disparity map.

        Parameters
        ----------
        pipeline : Pipeline
            Method. The digest covers its stages, auxiliary methods and inner stages.
        scene : Scene, optional
            Scene. The digest covers the functions that read the files of the scene.

        Returns
        -------
        str
            Hexadecimal digest.
        """
        # Thousands of settings have the same stages, so their digest is stored.
        key = (_stage_functions(pipeline), scene)
        if key not in self._matching_digests:
            sources = self.sources_of_matching(pipeline)
            if scene is not None:
                sources |= self._sources_of_scene(scene)
            if _REGISTERED_READERS in sources.modules:
                sources |= self._sources_of_functions(registered_readers())
            self._matching_digests[key] = _digest(sources)
        return self._matching_digests[key]

    def evaluation_digest(self, protocol: Protocol) -> str:
        """Return the digest of the code that evaluates disparity maps under a protocol.

        Parameters
        ----------
        protocol : Protocol
            Protocol of the evaluation. The digest covers the metrics of the protocol.

        Returns
        -------
        str
            Hexadecimal digest.
        """
        return _digest(self._sources_of_evaluation(protocol))

    # --- sources of the parts of a run ------------------------------------------------

    def sources_of_matching(self, pipeline: Pipeline) -> ReachedSources:
        """Return the sources of the engine and of the stages of a method."""
        sources = self._sources_of_functions(_stage_functions(pipeline))
        return sources | _sources_of_package(_ENGINE)

    def _sources_of_scene(self, scene: Scene) -> ReachedSources:
        """Return the sources of the functions that read the files of a scene.

        The sources of readers that the running program defines are left out. They are
        not needed, because the identity of a run contains the content of the scene.
        """
        readers = _readers_of_scene(scene)
        installed_readers = [reader for reader in readers if not _is_in_memory(_module_of(reader))]
        return self._sources_of_functions(installed_readers)

    def _sources_of_evaluation(self, protocol: Protocol) -> ReachedSources:
        """Return the sources of the evaluator and of the metrics of a protocol."""
        sources = _sources_of_package(_EVALUATOR)
        for name in protocol.metrics:
            if METRICS.origin(name) != PACKAGE:
                sources |= self._sources_of_object(METRICS[name], METRICS.origin(name))
        if protocol.without_truth:
            sources |= self._sources_of_pseudo_truth()
        return sources

    def _sources_of_pseudo_truth(self) -> ReachedSources:
        """Return the sources of the method that computes the pseudo ground truth."""
        script_file = package_folder() / f"{pseudo_truth.SCRIPT}.yaml"
        files = (Path(pseudo_truth.__file__), script_file)
        digests = frozenset((file.name, digest_of_data(file)) for file in files)
        sources = self.sources_of_matching(pseudo_truth.pipeline_of_script())
        return sources | ReachedSources(digests)

    # --- sources of functions ---------------------------------------------------------

    def _sources_of_functions(self, functions: Iterable[Callable[..., Any]]) -> ReachedSources:
        """Return the sources of several functions."""
        sources = ReachedSources()
        for function in functions:
            sources |= self._sources_of_object(function, _module_of(function))
        return sources

    def _sources_of_object(self, value: object, module: str) -> ReachedSources:
        """Return the sources of an object.

        Parameters
        ----------
        value : object
            A function, or an object that contains functions.
        module : str
            Name of the module that defines the object.
        """
        if module.partition(".")[0] == PACKAGE:
            return _sources_of_package((module,))
        # All objects of a file have the same sources, so the name of the module is the
        # key. The key of an object in memory is its id, because the object may have no
        # hash value.
        key = id(value) if _is_in_memory(module) else module
        if key not in self._sources:
            # Python gives the id of a deleted object to a new object. The reference to
            # the value keeps the value from being deleted.
            self._sources[key] = (value, self._search_sources(value, module))
        return self._sources[key][1]

    def _search_sources(self, value: object, module: str) -> ReachedSources:
        """Search the sources of an object that another package or a program defines."""
        if not _is_in_memory(module):
            file = _source_file(module)
            assert file is not None, "a plug-in has a file"
            return sources_of_file(file)
        return sources_of_loaded_code([value]) if self._in_memory else ReachedSources()


def code_of_program(pipelines: Iterable[Pipeline], protocols: Iterable[Protocol]) -> str:
    """Return the digest of all code that a worker process must have loaded.

    A worker process computes this digest, and compares the digest with the digest that
    the main program has sent. The digest does not cover functions that the main program
    itself defines, because a worker process does not have these functions.

    Parameters
    ----------
    pipelines : iterable of Pipeline
        Methods that compute disparity maps.
    protocols : iterable of Protocol
        Protocols that evaluate the disparity maps.

    Returns
    -------
    str
        Hexadecimal digest.
    """
    reader = CodeReader(in_memory=False)
    digests = {reader.matching_digest(pipeline) for pipeline in pipelines}
    digests |= {reader.evaluation_digest(protocol) for protocol in dict.fromkeys(protocols)}
    return hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()


# --- functions and modules ----------------------------------------------------------


def _stage_functions(pipeline: Pipeline) -> tuple[Callable[..., Any], ...]:
    """Return the functions of the stages of a pipeline, without duplicates."""
    return tuple(dict.fromkeys(step.stage.function for _, step in pipeline.stages()))


def _readers_of_scene(scene: Scene) -> Iterator[Callable[..., Any]]:
    """Yield the functions that read the images, ground truth and masks of a scene."""
    for frame in scene.frames:
        yield from _functions_in(frame.load)
        yield from _functions_in(frame.valid)
    for readers in (scene.truths, scene.masks, scene.ranges):
        for reader in readers.values():
            yield from _functions_in(reader)


def _functions_in(value: object) -> Iterator[Callable[..., Any]]:
    """Yield a function, or all functions that a partial function contains."""
    if isinstance(value, functools.partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from _functions_in(part)
    elif callable(value):
        yield value


def _module_of(function: object) -> str:
    """Return the name of the module that defines a function or a callable object."""
    return str(getattr(function, "__module__", None) or type(function).__module__)


def _is_in_memory(module: str) -> bool:
    """Return whether the running program or notebook defines a module.

    A notebook may define its functions again while the program runs. Modules of this
    package, of plug-ins and of installed packages do not change while a program runs.
    """
    if module.partition(".")[0] == PACKAGE:
        return False
    # If an installed profiler runs a script, this module has the file of the profiler.
    if module == "__main__":
        return True
    file = _source_file(module)
    return file is None or not (is_plugin_file(file) or is_in_install_folder(file))


def _source_file(module: str) -> Path | None:
    """Return the file of an imported module, or None if the module is a notebook."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).resolve() if file and Path(file).is_file() else None


@functools.cache
def _sources_of_package(modules: tuple[str, ...]) -> ReachedSources:
    """Return the sources that modules of this package import directly or indirectly."""
    return sources_of_modules(modules)


# --- digests ------------------------------------------------------------------------


def _digest(sources: ReachedSources) -> str:
    """Return the digest of sources and of the versions of the imported packages."""
    digest = hashlib.sha256()
    for name, content in sorted(sources.digests):
        digest.update(hashlib.sha256(name.encode()).digest() + content)
    for version in versions_of_packages(sources.packages):
        digest.update(hashlib.sha256(version.encode()).digest())
    return digest.hexdigest()
