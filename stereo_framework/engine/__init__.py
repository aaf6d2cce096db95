"""How the stages of a method run: step after step on both sides of a pair, in strips of rows, shared among settings, within memory."""
