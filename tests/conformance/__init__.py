"""What `rota.store.base` promises, tried on both stores."""
