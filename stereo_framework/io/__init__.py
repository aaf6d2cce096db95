"""Image, disparity and calibration files."""
