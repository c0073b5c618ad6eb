"""Runs, plans, checks and streams on a SparkSession."""
