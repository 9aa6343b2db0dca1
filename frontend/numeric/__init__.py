"""Numbers and arrays: arithmetic, promotion, broadcasting, loop nests, subscripts."""
