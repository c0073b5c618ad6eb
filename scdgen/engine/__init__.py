"""What touches a SparkSession and knows no pattern: sessions, settings, and errors of the engine in one line."""
