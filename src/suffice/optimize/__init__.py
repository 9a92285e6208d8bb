"""Optimisation: EM and Newton's method, which know neither families nor engines."""
