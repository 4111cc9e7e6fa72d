"""Tests of what is beside the core."""
