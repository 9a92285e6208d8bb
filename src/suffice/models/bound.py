"""The bound of EM, Q + H, for any responsibilities and any parameters.

With q_i(z) the responsibilities of row i, Q = Σ_i w_i Σ_z q_i(z) log p(x_i, z | θ) is the expected complete
log-likelihood, and H = −Σ_i w_i Σ_z q_i(z) log q_i(z) the entropy. Missing cells are integrated out of p.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import xlogy

from suffice._arrays import FloatArray
from suffice.engines.base import Chunk
from suffice.models.joint import JointModel, expected_classes, log_joint
from suffice.statistics.responsibilities import PartialLabels


def responsibilities(chunk: Chunk, model: JointModel) -> FloatArray:
    """Kernel: q, n×m, which sums to 1 in every row whatever its weight."""
    assert isinstance(chunk.responsibilities, PartialLabels)
    return expected_classes(chunk, replace(chunk.responsibilities, weight=None), model)[0].weights


def bound_terms(chunk: Chunk, params: tuple[JointModel, FloatArray]) -> FloatArray:
    """Kernel: what each row adds to Q and to H, n×2, for the responsibilities of all rows.

    Given class probabilities are data: only the entropy of what is not known counts, that of the components of a class.
    """
    model, of_all_rows = params
    known = chunk.responsibilities
    assert isinstance(known, PartialLabels)
    q = of_all_rows[chunk.start : chunk.start + len(chunk)]
    joint = log_joint(chunk, model.components)
    with np.errstate(invalid="ignore"):
        expected = np.where(q > 0, q * joint, 0.0).sum(axis=1)
    entropy = -xlogy(q, q).sum(axis=1)
    if known.given is not None:
        entropy += np.nan_to_num(xlogy(known.given, known.given)).sum(axis=1)
    terms = np.column_stack([expected, entropy])
    return terms if known.weight is None else np.where(known.weight[:, None] > 0, terms * known.weight[:, None], 0.0)
