"""The HCI stereo metrics (Honauer, Maier-Hein & Kondermann, ICCV 2015): what is wrong at edges, on planes and in fine structures.

`extract_subsets` finds these parts in the truth of a scene. Nine functions measure a disparity map on them; `hci_metrics` calls them all.
"""

from stereo_framework.evaluation.hci.metrics import (
    HCI_METRICS,
    HciMetric,
    bumpiness,
    detail_fattening,
    foreground_fattening,
    foreground_thinning,
    fragmentation,
    fuzziness,
    hci_metrics,
    misorientation,
    missed_structures,
    offset,
    porosity,
)
from stereo_framework.evaluation.hci.parameters import Parameters, Scaled
from stereo_framework.evaluation.hci.planes import fit_plane
from stereo_framework.evaluation.hci.subsets import Score, Subsets, extract_subsets

__all__ = [
    "HCI_METRICS",
    "HciMetric",
    "Parameters",
    "Scaled",
    "Score",
    "Subsets",
    "bumpiness",
    "detail_fattening",
    "extract_subsets",
    "fit_plane",
    "foreground_fattening",
    "foreground_thinning",
    "fragmentation",
    "fuzziness",
    "hci_metrics",
    "misorientation",
    "missed_structures",
    "offset",
    "porosity",
]
