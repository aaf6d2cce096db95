"""Smoothness terms: what neighbouring pixels pay for different disparities."""
