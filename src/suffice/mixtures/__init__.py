"""Mixtures: components, starting values and the loops of EM."""
