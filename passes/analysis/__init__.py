"""Facts about code, found without changing it: effects, extents, integers, subscripts, dependences, costs."""
