"""Control flow: branches, loops, jumps, exceptions, and what they carry."""
