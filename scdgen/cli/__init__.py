"""The command line: each command parses its options, calls the same functions as Python code, and prints."""
