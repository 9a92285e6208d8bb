"""The joint model p(x, y) = p(y) p(x | y): its schema, kernels and named statistics, and queries of a fitted model."""
