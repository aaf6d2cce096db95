"""Random numbers that are a function of a counter and two keys.

There is no state that changes from number to number. Therefore threads may draw the
numbers in any order, and the results do not depend on the number of threads.
"""

from stereo_framework.kernels.decorator import kernel


@kernel(inline="always")
def random_number(counter: int, first_key: int, second_key: int) -> int:
    """Return a random number from 0 to 2**32 - 1.

    The number is a hash of the counter, which is below 2**32, and of the keys. Each key
    takes one round of multiplications and shifts.
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
