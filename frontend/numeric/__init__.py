"""Numbers: arithmetic, promotion; loop nests, and views of arrays."""
