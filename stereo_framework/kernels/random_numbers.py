"""Random numbers that depend on nothing but their place in a sequence and its keys, so that threads may draw them in any order."""

from stereo_framework.kernels.decorator import kernel


@kernel(inline="always")
def random_number(counter: int, key: int, other: int) -> int:
    """A random number 0 <= r < 2**32 for each counter below 2**32: two rounds of a multiply-and-shift hash."""
    for word in (key, other):
        counter = (counter ^ int(word)) & 0xFFFFFFFF
        counter ^= counter >> 17
        counter = (counter * 0xED5AD4BB) & 0xFFFFFFFF
        counter ^= counter >> 11
        counter = (counter * 0xAC4C1B51) & 0xFFFFFFFF
        counter ^= counter >> 15
        counter = (counter * 0x31848BAB) & 0xFFFFFFFF
        counter ^= counter >> 14
    return counter
