"""From a spec to its SQL: the patterns, the facts that their templates print, and the gate that judges the result."""
