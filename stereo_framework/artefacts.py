"""What several stages take from one image: arms, segments and contrast, each computed once as long as a walk lasts."""

from __future__ import annotations

from stereo_framework.kernels.arms import arms
from stereo_framework.kernels.contrast import contrast
from stereo_framework.kernels.segments import segments
from stereo_framework.per_image import per_image

arms_of = per_image(arms)
contrast_of = per_image(contrast)
segments_of = per_image(segments)
