"""Which buffers hold the arrays that loops over steps carry: taken in turns, made anew, or updated in place."""
