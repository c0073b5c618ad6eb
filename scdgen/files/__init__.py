"""Finds and reads files instead of a spec's source, in the types that the spec needs, and locates bad values."""
