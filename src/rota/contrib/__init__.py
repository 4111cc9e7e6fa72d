"""Optional parts: each needs an extra of its own and is imported by name."""
