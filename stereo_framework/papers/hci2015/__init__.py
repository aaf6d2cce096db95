"""Honauer, Maier-Hein & Kondermann: The HCI Stereo Metrics, ICCV 2015."""
