"""Canonicalisation: constants are folded, identities applied, loops and branches simplified, in one walk by rules."""
