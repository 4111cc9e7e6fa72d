"""Tests of the benchmarks: their arithmetic, and that each of them does its work."""
