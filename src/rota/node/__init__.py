"""The processes: what claims tasks, runs their handlers, and keeps the store in order."""
