"""Terms that parallel loops add to memory: strategies for summing them, and the choice between these."""
