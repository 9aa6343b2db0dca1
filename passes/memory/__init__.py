"""What loads and stores are needed for: dead stores, forwarding from store to load, and where memory is freed."""
