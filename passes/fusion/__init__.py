"""Loop fusion: loops over the same range, and branches between versions of loops, become one."""
