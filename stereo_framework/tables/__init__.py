"""Tables of results: means, scores and ranks, and their file formats."""
