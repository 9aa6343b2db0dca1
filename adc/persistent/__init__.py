"""Compiled code kept for later processes: it is found by what it was made from, before anything is traced."""
