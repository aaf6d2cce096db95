"""The command line, also as ``python -m stereo_framework``."""

import gc
import os
import sys


def main() -> None:
    """Entry point of the console script."""
    # Imports, compiling and thousands of results make so many objects that looking for garbage every 700 takes a tenth of their time.
    gc.set_threshold(100_000, 50, 100)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever calls
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  for as long as the program runs
    try:
        from stereo_framework.cli.main import main as command
    except KeyboardInterrupt:  # before anything has begun
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
