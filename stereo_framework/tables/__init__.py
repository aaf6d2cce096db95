"""Tables of results: values, means, standings, ranks, and the files that they are exchanged in."""
