"""A table with columns of every kind and missing cells in them, for many tests."""

import numpy as np


def mixed_columns(n=400, seed=0):
    """Columns of every kind with missing cells, as Python lists, and labels that depend on all of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    height = rng.normal(170 + 5 * y, 6)
    smoker = rng.random(n) < 0.2 + 0.3 * (y == 1)
    city = rng.choice(["Bern", "Oslo", "Turin"], n)
    city[y == 2] = rng.choice(["Oslo", "Turin"], (y == 2).sum())
    missing = rng.random((3, n)) < 0.1
    return {
        "height": [None if lost else float(v) for v, lost in zip(height, missing[0], strict=True)],
        "smoker": [None if lost else bool(v) for v, lost in zip(smoker, missing[1], strict=True)],
        "city": [None if lost else str(v) for v, lost in zip(city, missing[2], strict=True)],
        "visits": [int(v) for v in rng.poisson(2 + y)],
    }, np.array(["a", "b", "c"])[y]
