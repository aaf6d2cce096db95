"""Preprocessing stages: image to image, applied to both frames."""
