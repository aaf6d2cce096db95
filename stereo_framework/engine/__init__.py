"""Execution of stereo pipelines on image pairs within limited memory."""
