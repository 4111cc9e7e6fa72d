"""The parts of the seam (see `rota.backend`) that servers and those who run them need."""
