"""A simulated day: many schedules, nodes that die and return, and a check of every slot."""
