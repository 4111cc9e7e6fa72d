"""Policy decides: pure functions from values to values, without a clock, chance or the store."""
