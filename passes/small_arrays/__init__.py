"""Arrays of few elements, known in number, become scalars."""
