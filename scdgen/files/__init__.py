"""Files instead of a spec's source: found, read in the types that the spec needs, and explained when wrong."""
