"""First drafts of a spec, from data or from the definition of another tool."""
