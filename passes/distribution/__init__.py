"""Loop distribution: what one loop does is done by several, with buffers for the values that cross."""
