"""Derivative rules given by users: the registry, the choice of one for a call, and their IR."""
