"""Cabezas, Trujillo & Florian: An evaluation methodology for stereo correspondence algorithms, VISAPP 2012: the A* groups."""
