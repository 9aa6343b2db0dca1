"""Arrays of a small, known number of elements become scalars."""
