"""What optimizers share that match every pixel of either image once at most."""

from stereo_framework.core.stage import ParameterError, Search


def check_whole_steps(name: str, search: Search) -> None:
    """Refuse disparities at fractions of a pixel; `name` is the stage's."""
    if search.denominator > 1:
        raise ParameterError(
            f"{name}: search.step is 1/{search.denominator} pixel; pixels match one to one at whole steps alone: use a step of 1 and refine afterwards"
        )
