"""Slow, obvious versions of ranks and dominance."""


def ranks(column):
    return [1 + sum(other < value for other in column) for value in column]


def dominates(p, q):
    return all(a <= b for a, b in zip(p, q, strict=True)) and any(
        a < b for a, b in zip(p, q, strict=True)
    )


def groups(table):
    """Take away who is dominated by nobody, again and again."""
    found = [0] * len(table)
    rest = set(range(len(table)))
    number = 0
    while rest:
        number += 1
        front = {p for p in rest if not any(dominates(table[q], table[p]) for q in rest)}
        for p in front:
            found[p] = number
        rest -= front
    return found
