"""Tables of results: values, means, standings and ranks, and the file formats in which they are exchanged."""
