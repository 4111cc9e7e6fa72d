"""The client side of a server: clients and workers cannot tell it from a store (R8.4)."""
