"""Terms that parallel loops add to memory: the strategies by which they are summed, and the choice between them."""
