"""What a frame holds: objects with identity, lists that grow, and values that come together."""
