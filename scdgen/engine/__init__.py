"""What runs in a SparkSession: sessions, settings, statements, and errors of the engine in one line."""
