"""The tests of Rota."""
