"""Digests of the code that computes a disparity map, and of the code that evaluates it.

The digests cover the sources that the stages, the readers of the scene and the metrics
reach through imports, and the versions of the numerical packages among these imports. A
change of any other source has no effect on stored results.
"""

import functools
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from stereo_framework.core.module_sources import is_in_install_folder
from stereo_framework.core.package_files import package_folder
from stereo_framework.core.plugins import is_plugin_file
from stereo_framework.core.reached_sources import (
    PACKAGE,
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
from stereo_framework.script import load
from stereo_framework.sweep import pseudo_truth

_ENGINE = ("stereo_framework.engine.runner", "stereo_framework.engine.pipeline")
"""Modules that run every method."""

_EVALUATOR = ("stereo_framework.evaluation.evaluate",)
"""Module that evaluates every disparity map."""

_REGISTERED_READERS = "stereo_framework.io.registered_readers"
"""Module that reads files with the readers of plug-ins."""


class CodeReader:
    """Reader of the code of runs, which searches the sources of each stage once.

    Parameters
    ----------
    in_memory : bool
        Whether functions that the running program or notebook defines count. False for
        a comparison with another process, which lacks these functions.
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
            Method whose stages, auxiliary methods and inner stages count.
        scene : Scene, optional
            Scene whose readers count.

        Returns
        -------
        str
            Hexadecimal digest.
        """
        # Thousands of settings have the same stages.
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
            Protocol whose metrics count.

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
        """Return the sources of the readers of a scene's files.

        Readers that the running program defines do not count, because the identity of a
        run contains the content of the scene.
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
        """Return the sources of the map that stands in for missing ground truth."""
        script_file = package_folder() / f"{pseudo_truth.SCRIPT}.yaml"
        files = (Path(pseudo_truth.__file__), script_file)
        digests = frozenset((file.name, digest_of_data(file)) for file in files)
        pipeline = load(pseudo_truth.SCRIPT).only.pipeline
        return self.sources_of_matching(pipeline) | ReachedSources(digests)

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
        # A file is reached as a whole. An object in memory may have no hash value.
        key = id(value) if _is_in_memory(module) else module
        if key not in self._sources:
            # The reference to the object keeps other objects from getting its id.
            self._sources[key] = (value, self._search_sources(value, module))
        return self._sources[key][1]

    def _search_sources(self, value: object, module: str) -> ReachedSources:
        """Search the sources of an object that is not defined by this package."""
        if not _is_in_memory(module):
            file = _source_file(module)
            assert file is not None, "a plug-in has a file"
            return sources_of_file(file)
        return sources_of_loaded_code([value]) if self._in_memory else ReachedSources()


def code_of_program(pipelines: Iterable[Pipeline], protocols: Iterable[Protocol]) -> str:
    """Return the digest of the code that other processes load too.

    A worker process compares this digest with that of the program that sends its work.
    Functions that the program itself defines do not count.

    Parameters
    ----------
    pipelines : iterable of Pipeline
    protocols : iterable of Protocol

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
    """Return the functions of the stages of a pipeline, each once."""
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
    """Yield a function, and the functions among the arguments of a partial function."""
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

    Such a module may change while the program runs. Modules of this package, of
    plug-ins and of installed packages do not.
    """
    if module.partition(".")[0] == PACKAGE:
        return False
    # If an installed profiler runs a script, this module has the file of the profiler.
    if module == "__main__":
        return True
    file = _source_file(module)
    return file is None or not (is_plugin_file(file) or is_in_install_folder(file))


def _source_file(module: str) -> Path | None:
    """Return the file of an imported module, or None for a notebook."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).resolve() if file and Path(file).is_file() else None


@functools.cache
def _sources_of_package(modules: tuple[str, ...]) -> ReachedSources:
    """Return the sources that some modules of this package reach."""
    return sources_of_modules(modules)


# --- digests ------------------------------------------------------------------------


def _digest(sources: ReachedSources) -> str:
    """Return the digest of sources, and of the versions of the packages they import."""
    digest = hashlib.sha256()
    for name, content in sorted(sources.digests):
        digest.update(hashlib.sha256(name.encode()).digest() + content)
    for version in versions_of_packages(sources.packages):
        digest.update(hashlib.sha256(version.encode()).digest())
    return digest.hexdigest()
