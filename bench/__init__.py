"""Measures Rota beside raw controls in the same run: `python -m bench --help`."""
