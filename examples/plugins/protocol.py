"""A protocol: what is measured, where, and from which error on a pixel is bad."""

import stereo_framework as sf

sf.protocol(
    "mine",
    base="taxonomy2002",
    thresholds=[1, 3],
    metrics=["bad_pixels", "rms_error"],
    regions=["nonocc", "all"],
)
