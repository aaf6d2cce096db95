"""Cabezas, Padilla & Trujillo: A measure for accuracy disparity maps evaluation, CIARP 2011: the Sigma-Z-Error."""
