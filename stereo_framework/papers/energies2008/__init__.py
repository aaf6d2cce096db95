"""Szeliski et al.: A comparative study of energy minimization methods for Markov random fields, ECCV 2006 and PAMI 2008: the stereo problems."""
