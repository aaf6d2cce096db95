"""Comparisons of numbers in the cells of tables."""


def is_number(value: object) -> bool:
    """Return whether a value is a number. True, False and NaN are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    is_nan = value != value
    return not is_nan


def distance_of_equal_texts(number: float) -> float:
    """Return a distance from a number beyond which no number has the same text.

    The texts are those of `cell_text`. Of thousands of numbers, only the numbers within
    this distance must be formatted to find the numbers with the same text.
    """
    size = abs(number)
    if size >= 10_000:
        return 1
    return 0.011 if size >= 0.1 else size / 8
