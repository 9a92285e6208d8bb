"""The joint model p(x, y) = p(y) p(x | y): schema, kernels, statistics with names, and what a fitted model answers."""
