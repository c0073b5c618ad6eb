"""Compile a spec to SQL: the patterns, the facts for their templates, and the gate that checks the result."""
