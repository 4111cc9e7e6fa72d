"""The demonstration: its input, its provider, its count, and whole runs of it."""
