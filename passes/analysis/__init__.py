"""What holds of code, without changing it: effects, extents, integers, subscripts, dependences, costs."""
