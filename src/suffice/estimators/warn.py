"""What a person should know about the rows that a model was learned from."""

from __future__ import annotations

import warnings

from suffice.model_statistics import ModelStatistics
from suffice.statistics import DiagonalMoments, Moments


def warn_of_incomplete_rows(statistics: ModelStatistics) -> None:
    """Say how many rows could not be used where covariances need every cell."""
    weight = statistics.class_count.sum()
    for block, sums in zip(statistics.schema.blocks, statistics.joint.blocks, strict=True):
        if isinstance(sums, Moments) and not isinstance(sums, DiagonalMoments):
            left_out = weight - sums.count.sum()
            if left_out > 1e-9 * weight:
                warnings.warn(
                    f"rows with missing cells were left out of the covariances of {len(block.columns)} columns: "
                    f"{left_out:g} of {weight:g} by weight. fit uses every cell of them, by EM; batches cannot, unless "
                    f"covariance='diagonal'. Prediction uses the cells that a row has.",
                    UserWarning,
                    stacklevel=3,
                )


def warn_of_light_rows(statistics: ModelStatistics, n_rows: int) -> None:
    """Say so where weights were normalised, which makes many rows count as few."""
    weight = statistics.class_count.sum()
    if weight < 0.1 * n_rows and weight < 20 * len(statistics.classes):
        warnings.warn(
            f"the weights of {n_rows} rows sum to {weight:g}: a weight counts rows, so the prior has about as much to "
            f"say as the data. Scale the weights to a mean of 1, or pass prior=None.",
            UserWarning,
            stacklevel=5,
        )
