"""Six tables derived from TPC-DI: generated files, the tables by two ways, checks, and what a batch costs."""
