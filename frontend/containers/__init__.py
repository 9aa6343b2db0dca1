"""Lists, tuples, dicts, records and texts: how they are made, their items, and operators on them."""
