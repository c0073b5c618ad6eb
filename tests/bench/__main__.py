"""The whole bench: what is printed is also kept as tables and as a picture in .build/bench/results.

python -m tests.bench [--quick]
"""
