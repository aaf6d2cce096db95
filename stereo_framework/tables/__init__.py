"""Tables of results: values, means, scores and ranks, and the file formats in which they are exchanged."""
