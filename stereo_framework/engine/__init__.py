"""Pipelines: the stages of a method, run on a pair of images within limited memory."""
