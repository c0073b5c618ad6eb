"""What a change of a spec means for a table that exists."""
