"""The contents of a frame: objects with identity, lists that grow, and values merged from several paths."""
