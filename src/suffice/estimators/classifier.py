"""The generative classifier: scikit-learn's interface to p(x, y) = p(y) p(x | y)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray, IntArray
from suffice.diagnostics.identifiers import warn_of_identifiers
from suffice.errors import EstimateError
from suffice.estimators._class_answers import ClassAnswers
from suffice.estimators._from_parameters import FromParameters
from suffice.estimators._held_out_answers import HeldOutAnswers
from suffice.estimators.class_prior import log_prior_of_classes
from suffice.estimators.families_of_statistics import families_of_statistics
from suffice.estimators.partly_labelled import (
    Learned,
    find_classes,
    fit_partly_labelled,
    named_classes,
    require_classes,
)
from suffice.estimators.settings import ClassifierSettings, documented
from suffice.estimators.subclasses import (
    components_of_classes,
    fit_components_of_classes,
    log_prior_of_components,
    require_single,
)
from suffice.estimators.warn import (
    warn_of_incomplete_rows,
    warn_of_light_rows,
    warn_of_missing_labels,
    warn_of_no_words,
    warn_of_text,
    warn_of_tiny_columns,
)
from suffice.families import reads_documents
from suffice.mixtures.components import Components
from suffice.models import passes
from suffice.models.joint import (
    JointModel,
)
from suffice.models.missing import has_missing_cells
from suffice.models.named_statistics import ModelStatistics
from suffice.models.predictive import check_estimate, predictive_model
from suffice.models.schema import Schema, make_schema
from suffice.optimize.interrupts import end_early
from suffice.priors import PriorSpec
from suffice.statistics.joint import JointStatistics
from suffice.tables.labels import LabelCoder, as_objects_if_mixed, class_list, sorted_order
from suffice.tables.table import Table


@documented
class GenerativeClassifier(
    FromParameters, HeldOutAnswers, ClassAnswers, ClassifierSettings, ClassifierMixin, BaseEstimator
):
    """A generative classifier: it models the distribution of the rows of each class.

    Each block of columns has a family of distributions given the class; blocks are independent given the class. One
    pass over the data computes the sufficient statistics, and everything else follows from these.

    Parameters
    ----------
    families : "auto", Family, name of a family, or mapping, default "auto"
        The distribution of each column given the class. "auto" chooses by the types of the columns: numbers are
        Gaussian, booleans Bernoulli, words and categories Categorical, sentences Text. A family or its name applies to
        all columns. A mapping sets the family of columns or groups of columns, by name or position:
        ``{"city": Categorical(), ("height", "weight"): Gaussian("full")}``.
    covariance : str, default "diagonal"
        The covariance structure of the automatic Gaussian block: "full", "tied", "diagonal" (or "diag"),
        "tied-diagonal", "spherical", "tied-spherical", or one of the fourteen codes of mclust, like "VVE".
    {LabelSettings}
    {CategorySettings}
    {SearchSettings}
    {EMSettings}

    Attributes
    ----------
    classes_ : array of shape (k,)
        The classes, sorted.
    statistics_ : ModelStatistics
        All that is kept of the training rows; models can be merged, reduced and refitted from it.
    schema_ : Schema
        Which family reads which columns.
    distributions_ : tuple of Distributions
        The estimated distributions, one entry per block of the schema, each with one row per class or component.
    class_log_prior_, class_prior_ : arrays of shape (k,)
        The log-probabilities and the probabilities of the classes.
    means_, variances_, covariances_ : arrays of shape (k, d), (k, d) and (k, d, d)
        Of each column in each class or component; NaN for columns of categories. `parameters()` has all parameters.
    component_classes_, component_shares_ : arrays of shape (m,)
        The class of each component, and its share p(m | c) of that class.
    n_features_in_, feature_names_in_ : int, array of str
        The number of columns, and their names if the training table had names, as in scikit-learn.
    n_iter_ : int
        The number of EM iterations; 1 if one pass was enough.
    bound_history_, converged_ : list of float, bool
        The bound of each iteration, and whether EM converged, as in `Mixture`; only if EM was needed.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import GenerativeClassifier
    >>> X = np.array([[1.0, 2.0], [1.2, np.nan], [5.0, 6.0], [5.5, 6.5]])  # NaN is a missing cell
    >>> model = GenerativeClassifier().fit(X, ["low", "low", "high", "high"])
    >>> model.predict([[1.1, 2.2], [np.nan, 6.0]]).tolist()
    ['low', 'high']
    """

    statistics_: ModelStatistics
    schema_: Schema
    classes_: NDArray[Any]
    _estimated: JointModel | None
    #: the prior of each block, with its data-dependent parts fixed by EM; None if EM was not used
    _priors: Sequence[PriorSpec] | None = None
    #: columns that were missing in every row, if the statistics do not show it
    _never_seen: frozenset[int] = frozenset()

    # -- learning -----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to labelled rows in one pass, or by EM.

        EM is needed if labels are missing, or cells that covariances need, or if classes have several components.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows; NaN, None and null mark missing cells.
        y : labels of any type, or an n×k matrix (or data frame) of class probabilities
            None, NaN and `missing_label` mark rows without a label; so does a row of NaN among probabilities. If y is
            None, no row has a label, and `classes` has to give the classes.
        sample_weight : array of shape (n,), optional
            The weight of each row.

        Returns
        -------
        self : estimator
            The fitted estimator itself.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, with the best model of EM so far kept; see `suffice.keep_on_interrupt`.
        """
        found = self._of_labelled(X, y, sample_weight)
        if not isinstance(found, tuple):
            return self._adopt_outcome(find_classes(self, X, sample_weight, found))
        statistics, coder = found
        warn_of_missing_labels(coder, self.missing_label)
        warn_of_text(statistics.schema)
        if self._prior is not None:
            warn_of_tiny_columns(statistics)
        n_rows = coder.n_rows - coder.n_missing
        warn_of_identifiers(statistics, X, n_rows, weighted=sample_weight is not None or coder.n_missing > 0)
        sizes = components_of_classes(self.n_components, statistics.classes)
        if sizes.max() > 1:
            learned = fit_components_of_classes(self, X, y, sample_weight, statistics, sizes, coder.n_rows)
            return self._adopt_outcome(learned)
        if coder.n_missing == 0:
            warn_of_no_words(statistics)
            if not has_missing_cells(statistics.joint):
                return self._adopt(statistics)
        return self._adopt_outcome(fit_partly_labelled(self, X, y, sample_weight, statistics))

    def _of_labelled(self, X: Any, y: Any, sample_weight: Any) -> tuple[ModelStatistics, LabelCoder] | NDArray[Any]:
        """Return the statistics of the labelled rows, or the classes that were named if no row has a label."""
        check_estimate(self.estimate, self.prior)
        components_of_classes(self.n_components, None)
        named = named_classes(self.classes)
        coder = LabelCoder(named, declared=named is not None, missing_label=self.missing_label)
        try:
            statistics = self._gather(X, y, sample_weight, coder, None)
            if coder.marked_late:
                coder = LabelCoder(missing_label=-1)
                statistics = self._gather(X, y, sample_weight, coder, None)
        except passes.NoLabelsError:
            if named is None:
                raise
            require_single(self.n_components, "without any label, it is not known which components belong to one class")
            return named
        require_classes(statistics, missing=coder.n_missing > 0)
        return statistics, coder

    def _adopt_outcome(self, learned: Learned) -> Self:
        """Store the result of EM."""
        # the predictive model is computed from the expected statistics
        found = None if self.estimate == "predictive" else learned.outcome.model
        self._adopt(learned.statistics, priors=learned.priors, model=found)
        self._never_seen = learned.never_seen
        self.bound_history_ = learned.outcome.bounds
        self.n_iter_ = len(learned.outcome.bounds)
        self.converged_ = learned.outcome.converged
        if learned.outcome.interrupted:
            end_early(f"the model is that of the best of {self.n_iter_} iterations of EM", stacklevel=3)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with a batch of rows; any batches give the same result as `fit` on all rows together.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows of the batch.
        y : labels of any type, or an n×k matrix (or data frame) of class probabilities
            The classes of the rows.
        classes : list of labels, optional
            All classes, at the first call. Without it, new classes may appear in any batch. New categories may always
            appear.
        sample_weight : array of shape (n,), optional
            The weight of each row.

        Returns
        -------
        self : estimator
            The fitted estimator itself.
        """
        check_estimate(self.estimate, self.prior)
        require_single(self.n_components, "batches cannot be split into components; use fit, which reads all rows")
        if not hasattr(self, "statistics_"):
            if hasattr(self, "classes_"):
                raise ValueError(
                    f"partial_fit adds to the statistics of earlier rows, and this {type(self).__name__} was made from "
                    f"parameters and has none; fit it to rows first"
                )
            listed = None if classes is None else as_objects_if_mixed(classes)
            if listed is not None:
                listed = listed[sorted_order(listed.tolist())]
            coder = LabelCoder(listed, declared=classes is not None)
            first = self._gather(X, y, sample_weight, coder, None)
            warn_of_text(first.schema)
            warn_of_incomplete_rows(first)
            return self._adopt(first, later=True)
        known = self.statistics_
        if classes is not None and set(as_objects_if_mixed(classes).tolist()) != set(class_list(known.classes)):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known.classes!r}"
            )
        coder = LabelCoder(known.classes, declared=known.declared)
        more = self._gather(X, y, sample_weight, coder, known.schema)
        warn_of_incomplete_rows(more)
        return self._adopt(known + more, later=True)

    def _gather(self, X: Any, y: Any, sample_weight: Any, coder: LabelCoder, schema: Schema | None) -> ModelStatistics:
        known = [] if schema is None else [schema]

        def schema_of(table: Table) -> Schema:
            table.advice = self._advice
            if not known:
                known.append(make_schema(table, self.families, self.covariance, self.unseen))
            known[0].check(table, type(self).__name__)
            return known[0]

        documents = reads_documents(self.families) if schema is None else schema.of_documents
        statistics = passes.gather(
            X, y, sample_weight, schema_of=schema_of, coder=coder, n_jobs=self.n_jobs, documents=documents
        )
        if self._prior is not None:
            warn_of_light_rows(
                float(statistics.class_count.sum()), coder.n_rows - coder.n_missing, len(statistics.classes)
            )
        return statistics

    @classmethod
    def from_statistics(cls, statistics: ModelStatistics, **params: Any) -> Self:
        """Return a model estimated from statistics only: merged or reduced ones, or with another structure or prior.

        Statistics of a full covariance are sufficient for every other structure. Families stay as they were, unless
        `families` names others or `covariance` is given, which applies to all Gaussian blocks that `families` does not
        name.

        Parameters
        ----------
        statistics : ModelStatistics
            The statistics, such as `statistics_` of a fitted model.
        **params
            Parameters of the new model.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianDiscriminant
        >>> qda = GaussianDiscriminant(covariance="full").fit(*load_iris(return_X_y=True))
        >>> lda = GaussianDiscriminant.from_statistics(qda.statistics_, covariance="tied")
        >>> lda.coef_.shape
        (3, 4)
        """
        model = cls(**params)
        check_estimate(model.estimate, model.prior)
        require_single(model.n_components, "sums of classes cannot be split into components; use fit on the rows")
        statistics.require_classes()
        wanted = {"covariance", "unseen"}.intersection(params).union(cls._fixed)
        kept = families_of_statistics(statistics.schema, model.families, model.covariance, model.unseen, wanted)
        return model._adopt(statistics.for_families(kept))

    #: the remedy in the error about text among numbers; None advises to name a family
    _advice: str | None = None
    #: settings of a preset that `from_statistics` applies even if they are not passed
    _fixed: tuple[str, ...] = ()

    def _adopt(
        self,
        statistics: ModelStatistics,
        *,
        later: bool = False,
        priors: Sequence[PriorSpec] | None = None,
        model: JointModel | None = None,
    ) -> Self:
        """Store the statistics, and estimate all parameters from them if no model is given.

        The estimator is unchanged if the estimate fails. With `later`, a failed estimate is accepted and tried again
        when it is needed, because later rows may determine the parameters.
        """
        try:
            joint: JointModel | None = self._model_of(statistics, priors) if model is None else model
        except EstimateError:
            if not later:
                raise
            joint = None
        self.statistics_ = statistics
        self._priors = priors
        return self._store(statistics.classes, statistics.schema, joint)

    def _store(self, classes: NDArray[Any], schema: Schema, joint: JointModel | None) -> Self:
        """Store a model with the names of its classes and columns."""
        self._never_seen = frozenset()
        self.schema_ = schema
        self.classes_ = classes.copy()
        self.n_features_in_ = schema.n_columns
        if schema.names is not None:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._estimated = joint
        self.n_iter_ = 1
        return self

    def _model_of(self, statistics: ModelStatistics, priors: Sequence[PriorSpec] | None) -> JointModel:
        """Return the model estimated from statistics, or its average over the posterior of the parameters."""
        if priors is None:
            priors = self._at_mode(statistics.schema, statistics.joint, [self._prior] * len(statistics.schema.blocks))
        components = self._components(statistics.schema, statistics.classes, priors, statistics.class_of)
        if self.estimate != "predictive":
            return components.estimate(statistics.joint)
        count = statistics.joint.class_count
        return predictive_model(statistics, self.prior, components.log_shares(count + self._counted_before))

    @property
    def _counted_before(self) -> float:
        """The rows that each class has before the data: 1 for the posterior mean of shares under a uniform prior."""
        empirical = isinstance(self.class_prior, str) and self.class_prior == "empirical"
        return 1.0 if self.estimate == "predictive" and empirical else 0.0

    def _components(
        self,
        schema: Schema,
        classes: NDArray[Any],
        priors: Sequence[PriorSpec],
        class_of: IntArray | None = None,
        *,
        missing: bool = False,
    ) -> Components:
        """Return the `Components` that estimate models under `priors`, one per block."""
        labels = class_list(classes)

        def log_prior(count: FloatArray) -> FloatArray:
            return log_prior_of_classes(self.class_prior, count, labels)

        def log_shares(count: FloatArray) -> FloatArray:
            return log_prior_of_components(count, class_of, log_prior)

        names = labels if class_of is None else [labels[c] for c in class_of]
        return Components(schema, priors, log_shares, names, missing, class_of)

    def _at_mode(self, schema: Schema, joint: JointStatistics, priors: Sequence[PriorSpec]) -> Sequence[PriorSpec]:
        """Return the priors under which an estimate is the posterior mode, if that is what `estimate` asks for."""
        if self.estimate != "map":
            return priors
        parts = zip(schema.blocks, joint.blocks, priors, strict=True)
        return [block.family.mode_prior(sums, prior) for block, sums, prior in parts]

    @property
    def _prior(self) -> PriorSpec:
        """The prior in use; None for maximum likelihood."""
        return None if self.estimate == "mle" else self.prior

    @property
    def _joint(self) -> JointModel:
        """The fitted model; raises NotFittedError before `fit`."""
        if "classes_" not in self.__dict__:
            check_is_fitted(self, "classes_")
        if self._estimated is None:
            self._estimated = self._model_of(self.statistics_, self._priors)
        return self._estimated
