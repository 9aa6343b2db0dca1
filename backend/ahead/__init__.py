"""Object files and C headers."""
