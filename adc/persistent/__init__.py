"""What was compiled, kept from one process to the next: found by what it was made of, before anything is traced."""
