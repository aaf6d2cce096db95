"""How the stages of a method run: in order, in slabs, shared among settings, within memory."""
