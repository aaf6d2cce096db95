"""Random numbers for kernels, computed from a counter and two keys.

A random number depends only on its counter and keys. Therefore results do not depend on
the number and order of threads.
"""

from stereo_framework.kernels.decorator import kernel


@kernel(inline="always")
def random_number(counter: int, first_key: int, second_key: int) -> int:
    """Return a random number from 0 to 2**32 - 1.

    The result is a hash of the counter and both keys. The counter must be below 2**32.
    """
    for key in (first_key, second_key):
        counter = (counter ^ int(key)) & 0xFFFFFFFF
        counter ^= counter >> 17
        counter = (counter * 0xED5AD4BB) & 0xFFFFFFFF
        counter ^= counter >> 11
        counter = (counter * 0xAC4C1B51) & 0xFFFFFFFF
        counter ^= counter >> 15
        counter = (counter * 0x31848BAB) & 0xFFFFFFFF
        counter ^= counter >> 14
    return counter
