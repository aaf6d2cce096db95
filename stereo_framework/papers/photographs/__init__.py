"""The experiments of Scharstein & Szeliski 2002 asked again: of today's stages, on photographs and roads beside the scenes of 2002."""
