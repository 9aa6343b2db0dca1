"""Lists, tuples, dicts, records and texts: how they are created, their items, and operators on them."""
