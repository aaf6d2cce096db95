"""Order of the results of several results folders that are merged.

A run computes its scripts one after the other, each script scene by scene, and each
scene method by method. The plan of several folders has the same order, so that the
merged rows of a divided sweep have the order of an undivided sweep. A results folder
does not record which script has planned a result. Therefore the scripts are found from
the names of their methods.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class MethodOnScene(NamedTuple):
    """Method and scene of a planned result.

    Parameters
    ----------
    method, scene : str
        Names of the method and of the scene.
    """

    method: str
    scene: str


@dataclass(frozen=True)
class FolderPlan:
    """Plan of a results folder.

    Parameters
    ----------
    keys : sequence of str
        Keys of the planned results in their order.
    origins : mapping of str to MethodOnScene
        Method and scene of each computed result, by the key of the result. The mapping
        lacks results that are still missing.
    scripts_of_method : mapping of str to sequence of str
        Names of the scripts in the folder that contain a method, by the name of the
        method.
    """

    keys: Sequence[str]
    origins: Mapping[str, MethodOnScene]
    scripts_of_method: Mapping[str, Sequence[str]]


class _Block(NamedTuple):
    """Script, scene and method, which decide where a result is listed.

    Parameters
    ----------
    script : str
        Name of the script. The name is empty if the folder contains no script with the
        method.
    scene, method : str
        Names of the scene and of the method.
    """

    script: str
    scene: str
    method: str


def merged_keys(plans: Sequence[FolderPlan]) -> list[str]:
    """Return the keys of the plans of several folders in a common order, each key once.

    The keys are sorted by script, then by scene, then by method, then by folder, then
    by position in the plan of the folder. Scripts, the scenes of a script, and the
    methods on a scene have the order of their first occurrence.

    Parameters
    ----------
    plans : sequence of FolderPlan
        Plans of the folders.
    """
    # A result that is missing in one folder may be computed in another folder.
    block_of_key: dict[str, _Block] = {}
    for plan in plans:
        for key, block in _blocks_of_computed_results(plan).items():
            block_of_key.setdefault(key, block)

    block_of_first_occurrence: dict[str, _Block] = {}
    for number, plan in enumerate(plans):
        known_blocks = [block_of_key.get(key) for key in plan.keys]
        blocks = _completed(known_blocks, _placeholder_block(plan, number))
        for key, block in zip(plan.keys, blocks, strict=True):
            block_of_first_occurrence.setdefault(key, block)
    return _sorted_by_block(block_of_first_occurrence)


def _sorted_by_block(block_of_key: Mapping[str, _Block]) -> list[str]:
    """Return keys sorted by their blocks, in the order of first occurrence."""
    scripts: dict[str, int] = {}
    scenes: dict[tuple[str, str], int] = {}
    methods: dict[_Block, int] = {}
    for block in block_of_key.values():
        scripts.setdefault(block.script, len(scripts))
        scenes.setdefault((block.script, block.scene), len(scenes))
        methods.setdefault(block, len(methods))

    def position(key: str) -> tuple[int, int, int]:
        """Return the numbers of the script, the scene and the method of a key."""
        block = block_of_key[key]
        return scripts[block.script], scenes[block.script, block.scene], methods[block]

    return sorted(block_of_key, key=position)


def _placeholder_block(plan: FolderPlan, number: int) -> _Block:
    """Return a placeholder block for a plan without computed results.

    Parameters
    ----------
    plan : FolderPlan
        Plan of a folder.
    number : int
        Number of the folder, so that different folders have different blocks.
    """
    names = next(iter(plan.scripts_of_method.values()), [""])
    return _Block(names[0], f"scene of folder {number}", "")


def _completed(blocks: Sequence[_Block | None], placeholder_block: _Block) -> list[_Block]:
    """Return the blocks of a plan, also for results that no folder has computed.

    Such a result belongs to the block of the result before it in the plan. Without such
    a result, it belongs to the block of the next result.

    Parameters
    ----------
    blocks : sequence of _Block or None
        Blocks of the results in the plan. None means that the block is not known.
    placeholder_block : _Block
        Block of all results if no block is known.
    """
    known_blocks = [block for block in blocks if block is not None]
    present_block = placeholder_block
    if known_blocks:
        present_block = known_blocks[0]
    completed: list[_Block] = []
    for block in blocks:
        if block is not None:
            present_block = block
        completed.append(present_block)
    return completed


# --- scripts of results ---------------------------------------------------------------


def _blocks_of_computed_results(plan: FolderPlan) -> dict[str, _Block]:
    """Return script, scene and method of each computed result of a plan, by key."""
    segments: list[_Segment] = []
    for key in plan.keys:
        origin = plan.origins.get(key)
        if origin is None:
            continue
        script_names = plan.scripts_of_method.get(origin.method, ())
        if not segments or not segments[-1].accepts(origin, script_names):
            segments.append(_Segment())
        segments[-1].add(key, origin, script_names)

    blocks: dict[str, _Block] = {}
    used_names: set[str] = set()
    for segment in segments:
        name = segment.script_name(used_names)
        used_names.add(name)
        for key, origin in segment.origins.items():
            blocks[key] = _Block(name, origin.scene, origin.method)
    return blocks


class _Segment:
    """Consecutive results of a plan that a single script may have planned.

    A script runs scene by scene, and on each scene method by method. Therefore a script
    does not return to an earlier scene, or on one scene to an earlier method.

    Attributes
    ----------
    origins : dict of str to MethodOnScene
        Methods and scenes of the results, by the keys of the results.
    """

    def __init__(self) -> None:
        self.origins: dict[str, MethodOnScene] = {}
        self._script_names: list[str] = []
        self._last: MethodOnScene | None = None
        self._earlier_scenes: set[str] = set()
        self._earlier_methods: set[str] = set()

    def accepts(self, origin: MethodOnScene, script_names: Sequence[str]) -> bool:
        """Return whether the script of this segment may have planned a further result.

        Parameters
        ----------
        origin : MethodOnScene
            Method and scene of the result.
        script_names : sequence of str
            Names of the scripts that contain the method.
        """
        has_names = bool(script_names and self._script_names)
        if has_names and not set(script_names).intersection(self._script_names):
            return False
        if origin.scene in self._earlier_scenes:
            return False
        is_same_scene = self._last is not None and origin.scene == self._last.scene
        return not (is_same_scene and origin.method in self._earlier_methods)

    def add(self, key: str, origin: MethodOnScene, script_names: Sequence[str]) -> None:
        """Add a result that the segment accepts."""
        # A script that contains all methods of the segment has planned it. If a method
        # belongs to no known script, the names found so far remain.
        common_names = [name for name in self._script_names if name in script_names]
        self._script_names = common_names or self._script_names or list(script_names)
        if self._last is not None and origin.scene != self._last.scene:
            self._earlier_scenes.add(self._last.scene)
            self._earlier_methods.clear()
        elif self._last is not None and origin.method != self._last.method:
            self._earlier_methods.add(self._last.method)
        self._last = origin
        self.origins[key] = origin

    def script_name(self, used_names: set[str]) -> str:
        """Return the name of the script, preferably a name that is not used yet."""
        for name in self._script_names:
            if name not in used_names:
                return name
        return next(iter(self._script_names), "")
