"""What the reverse sweep uses of the primal."""
