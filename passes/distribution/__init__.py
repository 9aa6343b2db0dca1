"""Loop distribution: the work of one loop is done by several, with buffers for the values that cross."""
