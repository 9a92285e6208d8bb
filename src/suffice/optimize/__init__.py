"""Optimisation: EM and Newton's method, independent of families and engines."""
