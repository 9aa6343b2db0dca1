"""What is kept for the reverse sweep, and what is recomputed."""
