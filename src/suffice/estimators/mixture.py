"""Mixture models for clusters, latent classes and densities, fitted by EM with any families."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import IntArray
from suffice.diagnostics.identifiers import warn_of_identifiers
from suffice.engines.base import ONE_BLAS_THREAD
from suffice.estimators._component_answers import ComponentAnswers
from suffice.estimators.partly_labelled import Prepared, iterate, nothing_known
from suffice.estimators.settings import MixtureSettings, documented
from suffice.estimators.warn import warn_of_light_rows, warn_of_no_words, warn_of_text, warn_of_tiny_columns
from suffice.families import Gaussian, reads_documents
from suffice.families.gaussian import GaussianDistributions
from suffice.mixtures.best_start import Start, Starts, compatible
from suffice.mixtures.components import Components, shares
from suffice.mixtures.start_clusters import generator
from suffice.models import passes
from suffice.models.conditioning import conditional_model, marginal_model
from suffice.models.joint import JointModel, expect
from suffice.models.missing import first_sums
from suffice.models.named_statistics import ModelStatistics
from suffice.models.schema import Block, Schema, make_schema
from suffice.optimize import em
from suffice.optimize.extrapolation import accelerates
from suffice.optimize.interrupts import Interrupted, end_early
from suffice.priors import PriorSpec, check_prior
from suffice.statistics.joint import JointStatistics
from suffice.tables.labels import NoLabels
from suffice.tables.table import Table

#: a component with a smaller share of all rows counts as empty
_EMPTY = 1e-12


@documented
class Mixture(ComponentAnswers, MixtureSettings, DensityMixin, BaseEstimator):
    """A mixture of distributions of any family, p(x) = Σ_c π_c p(x | c), learned by EM.

    Gaussian columns make a Gaussian mixture, text and categories a latent class model, and a table of both a mixture
    over mixed columns. Missing cells are ignored if columns are independent given the component.

    Parameters
    ----------
    n_components : int, default 1
        The number of components k.
    families : "auto", Family, name of a family, or mapping, default "auto"
        The distribution of each column given the component, as in `GenerativeClassifier`: "auto" chooses by the types
        of the columns.
    covariance : str, default "full"
        The covariance structure of the automatic Gaussian block, as in `GenerativeClassifier`.
    prior : "auto", None, number, Prior or list of Priors, default "auto"
        "auto" adds a pseudo-count of 1 to discrete families, and to each Gaussian component a hundredth of a row with
        the covariance of all rows divided by k^(2/d), so that no component can collapse. None is maximum likelihood.
    {StartSettings}
    {SearchSettings}
    {CategorySettings}
    {EMSettings}

    Attributes
    ----------
    weights_ : array of shape (k,)
        The weights π_c of the components.
    distributions_ : tuple of Distributions
        The estimated distributions, one entry per block of the schema.
    means_, variances_, covariances_ : arrays of shape (k, d), (k, d) and (k, d, d)
        Of each column in each component; NaN for columns of categories. `parameters()` has all parameters.
    statistics_ : ModelStatistics
        The expected statistics of the last iteration.
    bound_history_ : list of float
        The bound of each iteration: the log-likelihood plus the log-density of the prior. An extrapolation step that
        was taken back repeats the previous bound.
    n_iter_, converged_ : int, bool
        The number of passes over the rows, with those of extrapolation steps; whether the bound stopped rising.
    n_parameters_ : int
        The number of free parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import Mixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(6, 1, (100, 2))])
    >>> mixture = Mixture(2, random_state=0).fit(X)
    >>> np.sort(mixture.weights_).round(2).tolist()
    [0.33, 0.67]
    """

    _size_name = "n_components"
    _estimated: JointModel
    _fitted_components: Components
    _batches: int
    _seen: float
    #: columns without any value in training
    _never_seen: frozenset[int]
    schema_: Schema
    statistics_: ModelStatistics
    bound_history_: list[float]
    n_iter_: int
    n_rows_: int

    # -- learning -----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the mixture by EM.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows; NaN, None and null mark missing cells. A stream is read in every iteration.
        y : ignored
            Accepted for compatibility with scikit-learn.
        sample_weight : array of shape (n,), optional
            The weight of each row.

        Returns
        -------
        self : estimator
            The fitted estimator itself.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, with the best components so far kept; see `suffice.keep_on_interrupt`.
        """
        with ONE_BLAS_THREAD:  # for small matrix products, synchronising threads costs more than they gain
            begun = self._start(X, sample_weight)
            outcome = iterate(self, begun.components, begun.engine, begun.start)
        return self._adopt(begun.components, outcome, begun.n_rows)

    def _start(self, X: Any, sample_weight: Any) -> Prepared:
        """Return the components with their priors, the rows, and the best start."""
        components, overall, n_rows = self._prepare(X, sample_weight)
        rng, schema, k = generator(self.random_state), components.schema, self._size
        engine = passes.engine(X, None, sample_weight, schema, nothing_known(k), n_jobs=self.n_jobs)
        if isinstance(self.init, Mixture):
            start: JointModel | Start = compatible(self.init._joint, schema, k)
        else:
            starts = Starts(self.init, self.n_init, k, self.max_iter, self.tol, self.n_jobs)
            try:
                start = starts.begin(components, engine, overall.joint, n_rows, rng)
            except Interrupted:  # the unfinished comparison of starts gives no model to keep
                raise KeyboardInterrupt from None
        return Prepared(components, engine, start, n_rows)

    def _prepare(self, X: Any, sample_weight: Any) -> tuple[Components, ModelStatistics, int]:
        """Return the components with their priors, the statistics of all rows as one class, and their number."""
        self._check_parameters()
        overall, n_rows, missing = self._survey(X, sample_weight)
        warn_of_identifiers(overall, X, n_rows, weighted=sample_weight is not None)
        k = self._size
        priors = [
            block.family.prior_of_components(sums, self.prior, k)
            for block, sums in zip(overall.schema.blocks, overall.joint.blocks, strict=True)
        ]
        if self.prior is not None:
            warn_of_tiny_columns(overall)
            warn_of_light_rows(float(overall.class_count.sum()), n_rows, k)
        return self._components(overall.schema, priors, missing), overall, n_rows

    def _components(self, schema: Schema, priors: Sequence[PriorSpec], missing: bool) -> Components:
        return Components(schema, priors, missing=missing)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the mixture with a batch of a stream, by stepwise EM; the first batch is fitted by `fit`.

        The statistics of each batch, scaled to all rows so far, are averaged into the running ones with a step size
        that shrinks with the number of batches, (t + 1)^−0.7, so that early estimates are forgotten.

        Parameters
        ----------
        X : array, sparse array or data frame
            The rows of the batch.
        y : ignored
            Accepted for compatibility with scikit-learn.
        sample_weight : array of shape (n,), optional
            The weight of each row.

        Returns
        -------
        self : estimator
            The fitted estimator itself.
        """
        if not hasattr(self, "_fitted_components"):
            if hasattr(self, "_estimated"):
                raise ValueError(
                    "partial_fit continues from the statistics of an earlier fit, and a mixture that was loaded, or "
                    "given its parameters, has none; fit a new one with init=this mixture"
                )
            return self.fit(X, y, sample_weight)
        schema, k = self.schema_, len(self.weights_)
        table = schema.as_table(X)
        schema.check(table, type(self).__name__)
        engine = passes.engine(X, None, sample_weight, schema, nothing_known(k), n_jobs=self.n_jobs)
        found = engine.reduce(expect, self._estimated)
        batch = float(found.statistics.class_count.sum())
        if batch == 0.0:
            raise ValueError("at least one row must have a positive weight, but all weights are zero")
        self._batches, self._seen = self._batches + 1, self._seen + batch
        step = (self._batches + 1.0) ** -0.7
        before = self.statistics_.joint
        kept = before.times((1.0 - step) * self._seen / float(before.class_count.sum()))
        statistics = kept + found.statistics.times(step * self._seen / batch)
        self._estimated = self._fitted_components.estimate(statistics, self._estimated)
        self.statistics_ = ModelStatistics(self.statistics_.classes, schema, statistics, declared=True)
        self.n_rows_ += len(table)
        self.n_iter_ += 1
        self.bound_history_ = [*self.bound_history_, found.log_likelihood]
        return self

    @property
    def _size(self) -> int:
        """The requested number of components."""
        return int(self.n_components)

    def _check_parameters(self) -> None:
        check_prior(self.prior)
        for name in (self._size_name, "n_init", "max_iter"):
            value, least = getattr(self, name), 1
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
        accelerates(self.acceleration)
        if not self.tol >= 0:
            raise ValueError(f"tol must not be negative, but is {self.tol!r}")

    def _survey(self, X: Any, sample_weight: Any) -> tuple[ModelStatistics, int, bool]:
        """Return the statistics of all rows as one class, their number, and whether covariances have missing cells."""
        known: list[Schema] = []

        def schema_of(table: Table) -> Schema:
            if not known:
                known.append(make_schema(table, self.families, self.covariance, self.unseen))
            known[0].check(table, type(self).__name__)
            return known[0]

        coder = NoLabels()
        documents = reads_documents(self.families)
        overall = passes.gather(
            X, None, sample_weight, schema_of=schema_of, coder=coder, n_jobs=self.n_jobs, documents=documents
        )
        warn_of_text(overall.schema)
        warn_of_no_words(overall)

        def again(schema: Schema) -> JointStatistics:
            return passes.gather(
                X,
                None,
                sample_weight,
                schema_of=lambda _: schema,
                coder=NoLabels(),
                n_jobs=self.n_jobs,
                documents=documents,
            ).joint

        first = first_sums(overall.schema, overall.joint, again)
        self._never_seen = first.never_seen
        if first.missing:
            overall = ModelStatistics(overall.classes, overall.schema, first.statistics, declared=True)
        return overall, coder.n_rows, first.missing

    def _adopt(self, components: Components, outcome: em.Outcome[JointModel, JointStatistics], n_rows: int) -> Self:
        model, statistics = outcome.model, outcome.statistics
        count = statistics.class_count
        alive = np.flatnonzero(count > _EMPTY * count.sum())
        if len(alive) < len(count):
            warnings.warn(
                f"{len(count) - len(alive)} of {len(count)} components were left without rows and removed; the data "
                f"has fewer clusters than n_components={self._size}",
                UserWarning,
                stacklevel=3,
            )
            statistics = statistics.only(alive)
            model = components.estimate(statistics)
        self.statistics_ = ModelStatistics(np.arange(len(alive)), components.schema, statistics, declared=True)
        self.bound_history_ = outcome.bounds
        self.n_iter_ = len(outcome.bounds)
        self.converged_ = outcome.converged
        self.n_rows_ = n_rows
        self._fitted_components = components
        self._batches, self._seen = 1, float(count.sum())
        self._set_parameters(model)
        if outcome.interrupted:
            end_early(f"the mixture is that of the best of {self.n_iter_} iterations", stacklevel=3)
        return self

    def _set_parameters(self, model: JointModel) -> Self:
        self._estimated = model
        self.schema_ = model.schema
        self.n_features_in_ = model.schema.n_columns
        self.__dict__.pop("feature_names_in_", None)
        if model.schema.names is not None:
            self.feature_names_in_ = np.array(model.schema.names, dtype=object)
        return self

    # -- the parameters -----------------------------------------------------------------------------------------

    @property
    def _joint(self) -> JointModel:
        check_is_fitted(self, "_estimated")
        return self._estimated

    @classmethod
    def from_parameters(cls, weights: Any, means: Any, covariances: Any, **params: Any) -> Self:
        """Return a Gaussian mixture with given parameters, for prediction or as the `init` of another mixture.

        Parameters
        ----------
        weights : array of shape (k,)
            The weights of the components, which sum to 1.
        means : array of shape (k, d)
            The means of the components.
        covariances : array of shape (k, d, d), or (k, d) for independent columns
            The covariances of the components, or their variances.
        **params
            Other parameters of the mixture.
        """
        shares_, centres = np.asarray(weights, dtype=np.float64), np.asarray(means, dtype=np.float64)
        matrices = np.asarray(covariances, dtype=np.float64)
        if centres.ndim != 2 or shares_.shape != centres.shape[:1] or len(matrices) not in (1, len(centres)):
            raise ValueError(
                f"there must be one weight, one mean and one covariance per component, but the shapes are "
                f"{shares_.shape}, {centres.shape} and {matrices.shape}"
            )
        if not (shares_ >= 0).all() or not np.isclose(shares_.sum(), 1.0):
            raise ValueError(f"weights must be probabilities that sum to 1, not {shares_.tolist()}")
        family = Gaussian("full" if matrices.ndim == 3 else "diagonal")
        schema = Schema(None, centres.shape[1], (Block(family, tuple(range(centres.shape[1]))),))
        distributions = GaussianDistributions(family, centres, matrices)
        mixture = cls(len(shares_), covariance=family.structure.name, **params)
        nothing = JointStatistics(np.zeros(len(shares_)), (family.empty(*centres.shape),))
        mixture.statistics_ = ModelStatistics(np.arange(len(shares_)), schema, nothing, declared=True)
        return mixture._set_parameters(JointModel(schema, shares(shares_), (distributions,)))

    # -- use ----------------------------------------------------------------------------------------------------

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> IntArray:
        """Fit the mixture and return the most probable component of each row, (n,); parameters as in `fit`.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows; NaN, None and null mark missing cells.
        y : ignored
            Accepted for compatibility with scikit-learn.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        """
        return self.fit(X, y, sample_weight).predict(X)

    def marginal(self, columns: Any) -> Mixture:
        """Return the marginal mixture of some columns, p(a) = Σ_c π_c p(a | c).

        Parameters
        ----------
        columns : list of names or positions
            The columns of the new mixture, in that order.

        Examples
        --------
        >>> mixture = Mixture.from_parameters([0.5, 0.5], [[0.0, 5.0], [2.0, 9.0]], [[1.0, 1.0], [1.0, 4.0]])
        >>> mixture.marginal([1]).means_.tolist()
        [[5.0], [9.0]]
        """
        return self._like(marginal_model(self._joint, columns))

    def condition(self, given: Mapping[Any, Any]) -> Mixture:
        """Return the conditional mixture of the other columns given some, p(a | b) = Σ_c p(c | b) p(a | b, c).

        Components keep their numbers; their weights become p(c | b).

        Parameters
        ----------
        given : mapping of column, by name or position, to its value
            The values of the given columns.

        Examples
        --------
        >>> mixture = Mixture.from_parameters([1.0], [[0.0, 5.0]], [[[1.0, 0.5], [0.5, 1.0]]])
        >>> given = mixture.condition({0: 2.0})
        >>> given.means_.round(4).tolist(), given.covariances_.round(4).tolist()
        ([[6.0]], [[[0.75]]])
        """
        return self._like(conditional_model(self._joint, given))

    def _like(self, model: JointModel) -> Mixture:
        """Return a mixture with the settings of this one and other parameters."""
        mixture = Mixture(
            len(model.log_prior),
            model.schema.families(),
            self.covariance,
            self.prior,
            n_init=self.n_init,
            unseen=self.unseen,
            **self._em_settings(),
        )
        return mixture._set_parameters(model)
