"""The study of choosing without ground truth (docs/truth_free.md): ``python scripts/truth_free_study.py [ITEM] [--out DIR] [--quick] [--workers N]``.

Its page tells what every item came to; all its judgements are checks of our own.
"""

import argparse
import sys
from pathlib import Path

from truth_free import STUDY

from stereo_framework.papers.reproduce import reproduce


def main() -> int:
    """Run the study or one of its items."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("item", nargs="?", choices=[item.name for item in STUDY.items])
    parser.add_argument("--out", type=Path, default=Path("reproduction/truth_free"))
    parser.add_argument("--quick", action="store_true", help="one scene, the fast items")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    done = reproduce(STUDY, given.out, item=given.item, quick=given.quick, workers=given.workers)
    print(*done.totals, f"page: {done.page}", sep="\n")
    return done.status


if __name__ == "__main__":
    sys.exit(main())
