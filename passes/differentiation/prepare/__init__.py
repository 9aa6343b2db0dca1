"""What a function goes through before it is differentiated."""
