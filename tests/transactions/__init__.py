"""What is done on a caller's own connection."""
