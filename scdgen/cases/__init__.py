"""Cases of a spec: rows in, rows out; the files that hold them, and how an engine plays them."""
