"""Control flow: branches, loops, jumps, and what they carry."""
