"""Groups of items with a common property."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


def group_items(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Group items by a key.

    Use `ResultSet.by` to group results by their values.

    Parameters
    ----------
    items : iterable
        The items, of any type.
    key : callable
        Function that returns the key of an item.

    Returns
    -------
    dict
        The items of each key, in the order of the items.

    Examples
    --------
    >>> group_items([1, 2, 3], lambda number: number % 2)
    {1: [1, 3], 0: [2]}
    """
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
