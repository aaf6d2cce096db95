"""Functions under `per_image` that several stages call: arms and segments of an image."""

from __future__ import annotations

from stereo_framework.core.per_image import per_image
from stereo_framework.kernels.arms import arms
from stereo_framework.kernels.segments import segments

arms_of = per_image(arms)
segments_of = per_image(segments)
