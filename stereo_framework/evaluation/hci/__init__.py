"""The HCI stereo metrics (Honauer, Maier-Hein & Kondermann, ICCV 2015): what is wrong at edges, on planes and in fine structures.

`extract_subsets` finds these parts in the truth of a scene. Nine functions measure a disparity map on them; `hci_metrics` calls them all.
"""

from stereo_framework.evaluation.hci.discontinuity_metrics import foreground_fattening, foreground_thinning, fuzziness
from stereo_framework.evaluation.hci.metrics import HCI_METRICS, HciMetric, hci_metrics
from stereo_framework.evaluation.hci.parameters import Parameters, Scaled
from stereo_framework.evaluation.hci.plane_metrics import bumpiness, misorientation, offset
from stereo_framework.evaluation.hci.planes import fit_plane
from stereo_framework.evaluation.hci.score import Score
from stereo_framework.evaluation.hci.structure_metrics import detail_fattening, fragmentation, missed_structures, porosity
from stereo_framework.evaluation.hci.subsets import Subsets, extract_subsets

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
