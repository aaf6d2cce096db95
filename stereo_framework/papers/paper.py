"""What a paper consists of, and what its items get to work with."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from matplotlib.figure import Figure

from stereo_framework.core.errors import DataError, ParameterError, nearest
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.datasets import load_scene
from stereo_framework.figures.plots import plot_figure
from stereo_framework.figures.saving import rendered, svg_text
from stereo_framework.io.images import encode_png
from stereo_framework.page.page import Block, Picture, Statement
from stereo_framework.papers.claim import Claim, EarlierRule, Judgement
from stereo_framework.papers.comparison import Comparison, raw_table
from stereo_framework.papers.extent import Coverage
from stereo_framework.script import load
from stereo_framework.script.report import read_report
from stereo_framework.sweep import Result, ResultSet, run
from stereo_framework.tables.results import of_each_protocol


def drawn(name: str, figure: Figure, description: str, caption: str = "") -> Picture:
    """A figure as SVG, which is a file of this name too; default caption: its description."""
    return Picture(svg_text(figure), description, caption or description, f"{name}.svg")


def painted(name: str, figure: Figure, description: str, caption: str) -> Picture:
    """The same as pixels: a figure that holds images."""
    return Picture(encode_png(rendered(figure)), description, caption, f"{name}.png")


@dataclass(frozen=True)
class Outcome:
    """The result of an item.

    Parameters
    ----------
    blocks : sequence of Block
        What the page shows beside published numbers and what was run, which it shows by itself.
    comparisons : sequence of Comparison
        Published numbers and ours.
    data : mapping
        What the sentences of the item are asked of, by name; None for what could not be found.
    ours : mapping
        For sentences that are judged in print, the same of our own results.
    absent : str
        Why some of the data were not found.
    judgements : sequence of Judgement
        Sentences with their verdicts, which `Paper.build` adds.
    """

    blocks: Sequence[Block]
    comparisons: Sequence[Comparison] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    ours: Mapping[str, Any] = field(default_factory=dict)
    absent: str = "not measured"
    judgements: Sequence[Judgement] = ()

    @property
    def statements(self) -> list[Statement]:
        """The blocks of the page that show the sentences."""
        return [judgement.statement for judgement in self.judgements]


@dataclass(frozen=True)
class Item:
    """A table, a figure or an experiment of a paper.

    Parameters
    ----------
    name : str
        Its name, as in ``reproduce PAPER/NAME``.
    title : str
    build : callable
        Takes a `Context`, returns an `Outcome`.
    quick : bool
        Whether it is part of the quick reproduction.
    text : str
        How to read what it shows.
    """

    name: str
    title: str
    build: Callable[[Context], Outcome]
    quick: bool = False
    text: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper.

    Parameters
    ----------
    name, reference : str
    repeated : str
        A sentence: what of it is repeated here.
    why : str
        A sentence: the known reasons for what does not agree.
    cannot : str
        A sentence: what cannot be judged.
    items : tuple of Item
        In the paper's order.
    claims : mapping of str to Claim
        All that its items may judge, by name.
    gone : mapping of str to str
        What earlier versions judged although the paper does not say it: the sentence, and its last verdict.
    not_asked : sequence of str
        Strong sentences of the paper that are not among the claims, with their sections.
    """

    name: str
    reference: str
    repeated: str
    why: str
    cannot: str
    items: tuple[Item, ...]
    claims: Mapping[str, Claim]
    gone: Mapping[str, str] = field(default_factory=dict)
    not_asked: Sequence[str] = ()

    def item(self, name: str) -> Item:
        """The item of that name.

        Raises
        ------
        ParameterError
            There is none.
        """
        items = {item.name: item for item in self.items}
        if name not in items:
            raise ParameterError(
                f"{self.name} has no item {name!r}; {nearest(name, items, kind='items')}"
            )
        return items[name]

    def build(self, item: Item, context: Context) -> Outcome:
        """Run an item and judge the sentences that are asked of its data."""
        context.begin_item()
        outcome = item.build(context)
        claims = [claim for claim in self.claims.values() if claim.is_of(item.name)]
        if not context.coverage.complete:
            # The known reasons name scenes and settings that may not have been run.
            claims = [replace(claim, why="") for claim in claims]

        judgements = [
            claim.judgement(outcome.data, outcome.ours, outcome.absent) for claim in claims
        ]
        return replace(outcome, judgements=judgements)


def built_in_paper(name: str) -> Paper:
    """A paper of the package: the functions of its modules build the items, and judge the sentences, of their names."""
    folder = importlib.import_module(f"stereo_framework.papers.{name}")
    modules = [
        importlib.import_module(f"{folder.__name__}.{own.name}")
        for own in pkgutil.iter_modules(folder.__path__)
    ]
    return paper_of(
        name,
        raw_table(name, "paper"),
        {key: value for module in modules for key, value in vars(module).items()},
    )


def paper_of(name: str, texts: Mapping[str, Any], functions: Mapping[str, Any]) -> Paper:
    """A paper of the texts that its ``paper.yaml`` holds, and of the functions that build its items and judge its sentences.

    Each has the name of its item or sentence, or the one that stands there under ``build`` or ``judge``, and takes the parameters that stand under ``with``.
    """
    items = tuple(
        Item(item, **_bound("build", item, entry, functions))
        for item, entry in texts["items"].items()
    )
    claims = {claim: _claim(claim, entry, functions) for claim, entry in texts["claims"].items()}
    return Paper(name, **{**texts, "items": items, "claims": claims})


def _bound(
    key: str, name: str, entry: Mapping[str, Any], functions: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an entry of ``paper.yaml`` with its function under `key`, in place of name and parameters."""
    bound = dict(entry)
    function = functions[bound.get(key, name)]
    parameters = bound.pop("with", {})
    bound[key] = functools.partial(function, **parameters) if parameters else function
    return bound


def _claim(name: str, entry: Mapping[str, Any], functions: Mapping[str, Any]) -> Claim:
    """Return the sentence that an entry of ``paper.yaml`` holds."""
    fields = dict(entry)
    if fields.get("kind") != "not judged":
        fields = _bound("judge", name, entry, functions)
    fields["before"] = tuple(EarlierRule(**earlier) for earlier in entry.get("before", ()))
    return Claim(name, **fields)


_Named = TypeVar("_Named", bound=str | Scene)
"""A scene or its name."""


@dataclass
class Context:
    """What items work with: the folder of runs, the data, and the runs that earlier items asked for.

    Parameters
    ----------
    paper : str
    out : Path
    data : Path or None
        Data root.
    workers : int
        Runs at a time.
    quick : bool
        Run one scene and few settings only.
    missing : dict of str to str
        Scenes that cannot be loaded, with the reason.
    used : list of Result
        The results that the current item used.
    coverage : Coverage
        The scenes and omissions of the current item.
    """

    paper: str
    out: Path
    data: Path | None = None
    workers: int = 2
    quick: bool = False
    missing: dict[str, str] = field(default_factory=dict)
    used: list[Result] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    _runs: dict[tuple[str, ...], ResultSet] = field(default_factory=dict)

    def run(
        self,
        name: str | Mapping[str, Any],
        *,
        overrides: Sequence[str] = (),
        scenes: Sequence[str | Scene] | None = None,
        maps: bool = False,
    ) -> ResultSet:
        """Run a script of the paper on those of its scenes that are available.

        The script runs once. If the folder already has results, the run is resumed.

        Parameters
        ----------
        name : str or mapping
            Name of a script in ``configs/PAPER``, or a script as a mapping with a name.
        overrides : sequence of str
            As for ``--set``.
        scenes : sequence of str or Scene, optional
            Scenes to use instead of the script's.
        maps : bool
            Keep disparity maps.
        """
        script = load(
            f"{self.paper}/{name}" if isinstance(name, str) else name, overrides=list(overrides)
        )
        requested_scenes = script.scenes if scenes is None else scenes
        loadable_scenes = [s for s in requested_scenes if isinstance(s, Scene) or self._loaded(s)]
        available_scenes = self._counted(requested_scenes, loadable_scenes)
        names = [_name(scene) for scene in available_scenes]
        key = (script.name, *overrides, str(maps), *names)
        if key not in self._runs:
            print(
                f"{script.name}: {len(script.settings)} settings on {', '.join(names)}",
                file=sys.stderr,
                flush=True,
            )
            out = self.out / "runs" / script.name
            results = ResultSet()
            if available_scenes:
                results = run(
                    script,
                    available_scenes,
                    data=self.data,
                    out=out,
                    workers=self.workers,
                    maps=maps,
                )
            self._runs[key] = results
        self.used += self._runs[key]
        return self._runs[key]

    def plots(self, name: str, results: ResultSet) -> list[Picture]:
        """Draw the plots in the report of the script `name`. Without results, there are none."""
        if not results:
            return []
        pictures: list[Picture] = []
        for plot in read_report(load(f"{self.paper}/{name}").report).plots:
            for _, results_of_protocol in of_each_protocol(results, plot.where, plot.y):
                figure = plot_figure(plot, results_of_protocol)
                pictures.append(drawn(plot.name, figure, f"plot {plot.name}", plot.title))
        return pictures

    def _loaded(self, name: str) -> Scene | None:
        """A scene; None if it cannot be loaded, which is noted in `missing` with the reason."""
        try:
            scene = load_scene(name, data=self.data)
            scene.reference  # noqa: B018  The property loads the file.
        except DataError as error:
            self.missing[name] = str(error)
            return None
        return scene

    def loaded(self, names: Sequence[str]) -> list[Scene]:
        """Load the scenes that are available, as material for scenes of our own."""
        scenes = [self._loaded(name) for name in names]
        return [scene for scene in scenes if scene is not None]

    def scenes(self, names: Sequence[str]) -> list[Scene]:
        """Load the scenes that are available; in a quick reproduction only the first of them."""
        return self._counted(names, self.loaded(names))

    def begin_item(self) -> None:
        """Forget which results and scenes the item before used."""
        self.used.clear()
        self.coverage = Coverage()

    def request(self, names: Sequence[str]) -> None:
        """Record scenes that an item uses when everything is run, but not now."""
        self.coverage.requested.update(dict.fromkeys(map(self._full_name, names)))

    def cover(self, names: Sequence[str]) -> None:
        """Record scenes whose maps an item measures without a run."""
        self.request(names)
        self.coverage.available.update(dict.fromkeys(map(self._full_name, names)))

    def _full_name(self, name: str) -> str:
        """Return a scene's name with its data set, so that a scene is counted once."""
        try:
            return load_scene(name, data=self.data).name
        except (DataError, ParameterError):
            # A scene of our own, or one that is not available.
            return name

    def omit(self, part: str) -> None:
        """Record a part of an item that is left out; `part` is a noun phrase."""
        self.coverage.omissions[part] = None

    def _counted(
        self, requested: Sequence[str | Scene], available: Sequence[_Named]
    ) -> list[_Named]:
        """Record the scenes of an item and return those to run.

        In a quick reproduction this is the first available scene only.
        """
        scenes = list(available[:1] if self.quick else available)
        self.request([_name(scene) for scene in requested])
        self.cover([_name(scene) for scene in scenes])
        return scenes

    def truths(self, names: Sequence[str]) -> list[tuple[Scene, Disparity]]:
        """The same scenes with their true disparities; all of the papers' have them."""
        return [(scene, scene.truth) for scene in self.scenes(names) if scene.truth is not None]


def _name(scene: str | Scene) -> str:
    """Return the name of a scene."""
    return scene.name if isinstance(scene, Scene) else scene


def short(scene: str) -> str:
    """A scene's name without its data set."""
    return scene.rpartition("/")[2]
