"""EM in pieces: the expectation step and the maximisation step of a mixture or a classifier as calls of their own."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from suffice._arrays import FloatArray
from suffice.estimators.classifier import GenerativeClassifier
from suffice.estimators.em_beginnings import Estimator, begin, first_of_mixture, is_fitted, require_estimator
from suffice.estimators.partly_labelled import Learned, Prepared
from suffice.mixtures.best_start import Start
from suffice.models.bound import bound_terms, responsibilities
from suffice.models.joint import Expectation, JointModel
from suffice.models.named_statistics import ModelStatistics
from suffice.optimize import em
from suffice.statistics.joint import JointStatistics


@dataclass(frozen=True, eq=False)
class EStep:
    """The result of an expectation step: the responsibilities under a model, what they sum to, and the bound.

    Attributes
    ----------
    q : array of shape (n, m)
        The responsibilities, p(z | x) of the components (or classes) of each row; rows sum to 1. The class of a
        labelled row is known: its responsibility is 1.
    statistics : ModelStatistics
        The expected sufficient statistics, from which the maximisation step estimates.
    Q : float
        The expected complete log-likelihood, Σ_i w_i Σ_z q_i(z) log p(x_i, z).
    H : float
        The entropy of what is not known, −Σ_i w_i Σ_z q_i(z) log q_i(z).
    log_likelihood : float
        Σ_i w_i log p(x_i), or log p(x_i, y_i) of labelled rows.
    log_prior : float
        The log-density of the prior at the parameters; 0 for maximum likelihood.
    """

    q: FloatArray
    statistics: ModelStatistics
    Q: float
    H: float
    log_likelihood: float
    log_prior: float
    _problem: _Problem
    _model: JointModel

    @property
    def bound(self) -> float:
        """The bound Q + H, which after an expectation step is the log-likelihood."""
        return self.Q + self.H

    @property
    def gap(self) -> float:
        """The log-likelihood minus the bound: 0 up to rounding."""
        return _difference(self.log_likelihood, self.bound)

    def __repr__(self) -> str:
        n, m = self.q.shape
        return f"<EStep of {n} rows, {m} components: Q {self.Q:.4f} + H {self.H:.4f} = {self.bound:.4f}>"


@dataclass(frozen=True, eq=False)
class EMStep:
    """One iteration of EM: an expectation step under the parameters `before`, and a maximisation step to `after`.

    Attributes
    ----------
    number : int
        The number of the iteration, from 1.
    before, after : Mixture or classifier
        Fitted models with the parameters before and after the iteration.
    e : EStep
        The expectation step; `q`, `Q`, `H`, `bound`, `log_likelihood`, `gap` and `log_prior` are those of `e`.
    Q_after, log_likelihood_after, log_prior_after : float
        The same under the parameters `after`, with the responsibilities q of this iteration.
    """

    number: int
    before: Any
    after: Any
    e: EStep
    Q_after: float
    log_likelihood_after: float
    log_prior_after: float

    @property
    def q(self) -> FloatArray:
        """The responsibilities, n×m."""
        return self.e.q

    @property
    def Q(self) -> float:  # noqa: N802
        """The expected complete log-likelihood under the parameters before."""
        return self.e.Q

    @property
    def H(self) -> float:  # noqa: N802
        """The entropy of the responsibilities; the maximisation step does not change it."""
        return self.e.H

    @property
    def bound(self) -> float:
        """The bound Q + H under the parameters before: the log-likelihood."""
        return self.e.bound

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the parameters before."""
        return self.e.log_likelihood

    @property
    def log_prior(self) -> float:
        """The log-density of the prior at the parameters before; log-likelihood + log-prior never falls."""
        return self.e.log_prior

    @property
    def gap(self) -> float:
        """The log-likelihood minus the bound after the expectation step: 0 up to rounding."""
        return self.e.gap

    @property
    def bound_after(self) -> float:
        """The bound Q + H under the parameters after."""
        return self.Q_after + self.H

    @property
    def gap_after(self) -> float:
        """The gap that the maximisation step opens: KL(q ‖ p(z | x)) under the parameters after, never negative."""
        return _difference(self.log_likelihood_after, self.bound_after)

    def to_dict(self) -> dict[str, float]:
        """Return the figures of the iteration, so that a list of them makes a data frame."""
        before = ["Q", "H", "bound", "log_likelihood", "gap", "log_prior"]
        names = [*before, "Q_after", "bound_after", "log_likelihood_after", "gap_after", "log_prior_after"]
        return {"iteration": self.number} | {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return (
            f"<EMStep {self.number}: Q {self.Q:.4f} + H {self.H:.4f} = log-likelihood {self.log_likelihood:.4f}; after "
            f"the M-step bound {self.bound_after:.4f}, log-likelihood {self.log_likelihood_after:.4f}, gap "
            f"{self.gap_after:.4g}>"
        )


def em_steps(model: Estimator, X: Any, y: Any = None, sample_weight: Any = None) -> Iterator[EMStep]:
    """Return an iterator over the iterations of EM, with the bound on both sides of each step.

    For responsibilities q(z) and parameters θ, log p(x | θ) ≥ Q(q, θ) + H(q). The expectation step chooses q so that
    both sides are equal; the maximisation step raises Q, and opens a gap, the divergence of q from p(z | x, θ).
    Missing cells are integrated out. The iterations are those of `fit` without extrapolation, and end as its do, by
    `tol` and `max_iter`.

    Parameters
    ----------
    model : Mixture, SoftKMeans, NaiveBayes, GaussianDiscriminant or GenerativeClassifier
        A fitted model continues from its parameters; one that is not fitted starts where `fit` starts. It is not
        changed.
    X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
        The rows; NaN, None and null mark missing cells.
    y : labels, or an n×k matrix of class probabilities, optional
        The classes of the rows of a classifier, None, NaN or `missing_label` where they are not known. None: no class
        is known, which needs a fitted classifier or its `classes`.
    sample_weight : array of shape (n,), optional
        The weight of each row.

    Returns
    -------
    iterator of EMStep
        Responsibilities, Q, H, bound, log-likelihood and gap of each iteration, and the models before and after it.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import Mixture, em_steps
    >>> start = Mixture.from_parameters([0.5, 0.5], [[-1.0], [1.0]], [[1.0], [1.0]], prior=None)
    >>> X = np.array([[-1.2], [-0.7], [0.1], [3.0], [3.6]])
    >>> step = next(em_steps(start, X))
    >>> round(step.Q, 4), round(step.H, 4), round(step.log_likelihood, 4), round(step.gap, 4)
    (-14.4972, 1.4954, -13.0018, 0.0)
    >>> round(step.bound_after, 4), round(step.log_likelihood_after, 4), step.after.means_.round(2).tolist()
    (-8.9568, -8.7585, [[-0.74], [2.27]])
    """
    problem, start = _problem(model, X, y, sample_weight)
    return _iterations(problem, start)


def e_step(model: Estimator, X: Any, y: Any = None, sample_weight: Any = None) -> EStep:
    """Return the expectation step under the parameters of a fitted model: responsibilities, statistics and the bound.

    Parameters
    ----------
    model : Mixture, SoftKMeans, NaiveBayes, GaussianDiscriminant or GenerativeClassifier
        The fitted model.
    X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
        The rows, with the columns of training.
    y : labels, or an n×k matrix of class probabilities, optional
        The known classes of the rows of a classifier, as in `em_steps`.
    sample_weight : array of shape (n,), optional
        The weight of each row.

    Examples
    --------
    >>> from suffice import Mixture, e_step
    >>> mixture = Mixture.from_parameters([0.5, 0.5], [[0.0], [2.0]], [[1.0], [1.0]], prior=None)
    >>> e_step(mixture, [[0.0], [1.0]]).q.round(4).tolist()   # 1 / (1 + exp(−2)) = 0.8808
    [[0.8808, 0.1192], [0.5, 0.5]]
    """
    require_estimator(model)
    if not is_fitted(model):
        raise ValueError(
            f"an expectation step needs parameters, but this {type(model).__name__} is not fitted; fit it, or make it "
            f"by from_parameters, or let em_steps choose where to start"
        )
    problem, start = _problem(model, X, y, sample_weight)
    return problem.expect(start)


def m_step(model: Estimator, X: Any, R: Any = None, sample_weight: Any = None) -> Any:
    """Return the model that the maximisation step estimates, from an expectation step or from given responsibilities.

    Responsibilities of 0 and 1 are complete data, and give the fit to labelled rows; others give an iteration of EM.

    Parameters
    ----------
    model : Mixture, SoftKMeans, NaiveBayes, GaussianDiscriminant or GenerativeClassifier
        The settings. If it is fitted, missing cells that covariances need are expected under its parameters.
    X : EStep, or the rows
        The result of `e_step`; or rows, to which `R` belongs.
    R : array of shape (n, k), or labels of shape (n,), optional
        The responsibilities of each row, which sum to 1; a data frame may name the classes.
    sample_weight : array of shape (n,), optional
        The weight of each row.

    Returns
    -------
    estimator
        A fitted model of the same type.

    Examples
    --------
    >>> from suffice import Mixture, m_step
    >>> X, R = [[0.0], [1.0], [4.0]], [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    >>> m_step(Mixture(2, prior=None), X, R).means_.round(4).tolist()   # (0 + 0.5) / 1.5, (0.5 + 4) / 1.5
    [[0.3333], [3.0]]
    """
    require_estimator(model)
    if isinstance(X, EStep):
        if R is not None or sample_weight is not None or type(model) is not type(X._problem.model):
            raise ValueError(
                f"m_step takes the result of e_step of the same model alone, or rows with responsibilities; this is "
                f"one of {type(X._problem.model).__name__} for {type(model).__name__}, R={R!r:.40}, "
                f"sample_weight={sample_weight!r:.40}"
            )
        return X._problem.improved(X)
    if R is None:
        raise ValueError(
            "a maximisation step needs responsibilities; pass m_step(model, X, R), or the result of e_step"
        )
    if not is_fitted(model):
        if isinstance(model, GenerativeClassifier):
            return copy.copy(model).fit(X, R, sample_weight)
        return first_of_mixture(model, X, R, sample_weight)
    problem, start = _problem(model, X, R, sample_weight, given=True)
    return problem.improved(problem.expect(start))


@dataclass(frozen=True)
class _Problem:
    """The rows of an estimator on an engine, and its two steps."""

    model: Estimator
    classes: NDArray[Any]
    begun: Prepared
    steps: em.Problem[JointModel, JointStatistics]

    def expect(self, parameters: JointModel) -> EStep:
        """Return the expectation step under these parameters."""
        expected = self.steps.expect(parameters)
        assert isinstance(expected, Expectation)
        q = self.begun.engine.map(responsibilities, parameters)
        Q, H = self.bound_terms(parameters, q)
        log_prior = self.steps.log_prior(parameters, expected.statistics)
        statistics = self._named(expected.statistics, parameters)
        return EStep(q, statistics, Q, H, expected.log_likelihood, log_prior, self, parameters)

    def bound_terms(self, parameters: JointModel, q: FloatArray) -> tuple[float, float]:
        """Return Q and H for responsibilities that need not be those of the parameters."""
        terms = self.begun.engine.map(bound_terms, (parameters, q)).sum(axis=0)
        return float(terms[0]), float(terms[1])

    def improve(self, e: EStep) -> JointModel:
        """Return the parameters estimated from an expectation step."""
        return self.steps.improve(e.statistics.joint, e._model)

    def improved(self, e: EStep) -> Estimator:
        """Return the model estimated from an expectation step."""
        return self.estimator(self.improve(e), e, [e.log_likelihood + e.log_prior])

    def estimator(self, parameters: JointModel, e: EStep, bounds: list[float], converged: bool = False) -> Estimator:
        """Return an estimator with these parameters, and the bounds of the iterations that led to them."""
        model = copy.copy(self.model)
        outcome = em.Outcome(parameters, e.statistics.joint, list(bounds), converged)
        if isinstance(model, GenerativeClassifier):
            priors = self.begun.components.priors
            return model._adopt_outcome(Learned(e.statistics, priors, outcome, self.begun.never_seen))
        model._never_seen = self.begun.never_seen if "_never_seen" not in vars(model) else model._never_seen
        return model._adopt(self.begun.components, outcome, len(e.q))

    def _named(self, statistics: JointStatistics, parameters: JointModel) -> ModelStatistics:
        schema, class_of = self.begun.components.schema, parameters.class_of
        return ModelStatistics(self.classes, schema, statistics, declared=True, class_of=class_of)


def _problem(
    model: Estimator, X: Any, y: Any, sample_weight: Any, *, given: bool = False
) -> tuple[_Problem, JointModel]:
    """Return the rows of a model with its steps, and the parameters to start from."""
    require_estimator(model)
    model = copy.copy(model)
    begun, classes = begin(model, X, y, sample_weight, given=given)
    start = begun.start.model if isinstance(begun.start, Start) else begun.start
    return _Problem(model, classes, begun, begun.components.problem(begun.engine)), start


def _iterations(problem: _Problem, start: JointModel) -> Iterator[EMStep]:
    model = problem.model
    e = problem.expect(start)
    before = problem.estimator(start, e, [])
    bounds: list[float] = []
    for number in range(1, model.max_iter + 1):
        parameters = problem.improve(e)
        following = problem.expect(parameters)
        bounds.append(e.log_likelihood + e.log_prior)
        change = bounds[-1] - bounds[-2] if number > 1 else float("inf")
        converged = em.settled(bounds[-1], change, float(e.statistics.joint.class_count.sum()), model.tol)
        after = problem.estimator(parameters, e, bounds, converged)
        Q_after, _ = problem.bound_terms(parameters, e.q)
        yield EMStep(number, before, after, e, Q_after, following.log_likelihood, following.log_prior)
        if converged:
            return
        e, before = following, after


def _difference(log_likelihood: float, bound: float) -> float:
    """Return the gap, 0 if both are −∞."""
    return 0.0 if log_likelihood == bound else log_likelihood - bound
