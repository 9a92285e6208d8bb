"""Methods of fitted classifiers that score the rows of training by models without them."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from suffice._arrays import FloatArray
from suffice.engines import Engine, MemoryEngine
from suffice.errors import IdentifierWarning, MissingLabelsWarning, TextColumnWarning
from suffice.estimators.class_prior import log_prior_of_classes
from suffice.models import passes
from suffice.models.folds import Folds, fold_log_posterior, learn_folds
from suffice.models.joint import JointModel
from suffice.models.leave_one_out import LeaveOneOut, loo_evidence, loo_log_posterior
from suffice.models.named_statistics import ModelStatistics
from suffice.models.predictive import prior_of_blocks
from suffice.models.schema import Schema
from suffice.priors import PriorSpec
from suffice.statistics.joint import JointStatistics
from suffice.statistics.responsibilities import PartialLabels
from suffice.tables.labels import LabelCoder, class_list, row_weights
from suffice.tables.sources import Source


class HeldOutAnswers:
    """Mixin for classifiers with statistics: leave-one-out, and k folds."""

    classes_: Any
    schema_: Schema
    statistics_: ModelStatistics
    class_prior: Any
    missing_label: Any
    estimate: str
    prior: PriorSpec
    n_jobs: int | None
    _priors: Any

    @property
    @abstractmethod
    def _joint(self) -> JointModel:
        """The fitted model."""

    @property
    @abstractmethod
    def _prior(self) -> PriorSpec:
        """The prior in use; None for maximum likelihood."""

    @property
    @abstractmethod
    def _counted_before(self) -> float:
        """The rows that each class has before the data, in the probabilities of the classes."""

    @abstractmethod
    def _at_mode(self, schema: Schema, joint: JointStatistics, priors: Sequence[PriorSpec]) -> Sequence[PriorSpec]:
        """Return the priors under which an estimate is the posterior mode, if that is what `estimate` asks for."""

    @abstractmethod
    def _model_of(self, statistics: ModelStatistics, priors: Sequence[PriorSpec] | None) -> JointModel:
        """Return the model estimated from statistics."""

    def loo_log_proba(self, X: Any, y: Any = None, sample_weight: Any = None) -> FloatArray:
        """Return log p(c | x_i) of each row of training by the model fitted to all rows but this one, n×k.

        It costs about as much as a prediction: the sums without a row are those of all rows minus the row. The model
        without a row has class probabilities, means, variances and shares without it. These stay as they are for all
        rows: what the prior takes from the data, the values of categories and words, and which columns are constant.
        By maximum likelihood a class that has no estimate without the row rules the row out.

        Covariances that classes share in part, such as "VEI", are estimated again for each row, which takes long. A
        model that was fitted by EM has no sums to subtract from; use `kfold_log_proba`.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            Rows of training, all or some of them.
        y : array of shape (n,)
            Their labels. Rows without one are scored by the model of all rows.
        sample_weight : array of shape (n,), optional
            Their weights in training; a row is taken out with its weight.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import NaiveBayes
        >>> X, y = [["sun"], ["sun"], ["sun"], ["rain"]], ["play", "play", "stay", "stay"]
        >>> model = NaiveBayes().fit(X, y)
        >>> np.exp(model.loo_log_proba(X, y)[0]).round(4)  # without the row: 2/3 · 1/3 and 1/2 · 2/3
        array([0.4, 0.6])
        >>> np.allclose(model.loo_log_proba(X, y)[0], NaiveBayes().fit(X[1:], y[1:]).predict_log_proba(X[:1]))
        True
        """
        engine, model = self._left_out(X, y, sample_weight)
        return engine.map(loo_log_posterior, model)

    def loo_evidence(self, X: Any, y: Any = None, sample_weight: Any = None) -> FloatArray:
        """Return log p(x_i | c) by the model without row i, for each column or block, n×b×k.

        There is one entry per column where columns are independent given the class, and else one per block, in the
        order of `evidence_columns_`. Missing cells have 0. The sum over the entries and log p(c) without the row give,
        after normalising, `loo_log_proba`, where no entry is −∞ in every class.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            Rows of training, all or some of them.
        y : array of shape (n,)
            Their labels. Rows without one are scored by the model of all rows.
        sample_weight : array of shape (n,), optional
            Their weights in training.
        """
        engine, model = self._left_out(X, y, sample_weight)
        return engine.map(loo_evidence, model)

    @property
    def evidence_columns_(self) -> list[tuple[str | int, ...]]:
        """The columns of each entry of `loo_evidence`, by name or position."""
        check_is_fitted(self, "classes_")
        labels = self.schema_.column_labels
        return [tuple(labels[column] for column in columns) for columns in self._leave_one_out().columns()]

    def loo_score(self, X: Any, y: Any = None, sample_weight: Any = None, *, scoring: str = "log_proba") -> float:
        """Return the mean of log p(y_i | x_i) by the models without each row: minus the log-loss of leave-one-out.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            Rows of training, all or some of them.
        y : array of shape (n,)
            Their labels; rows without one do not count.
        sample_weight : array of shape (n,), optional
            Their weights in training, with which they count in the mean.
        scoring : "log_proba" or "accuracy", default "log_proba"
            The mean log-probability of the true class, or the share of rows whose most probable class is the true one.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianDiscriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> lda = GaussianDiscriminant().fit(X, y)
        >>> round(lda.loo_score(X, y), 4), round(lda.loo_score(X, y, scoring="accuracy"), 4)
        (-0.054, 0.98)
        """
        if scoring not in ("log_proba", "accuracy"):
            raise ValueError(f"scoring must be 'log_proba' or 'accuracy', not {scoring!r}")
        engine, model = self._left_out(X, y, sample_weight)
        sums = engine.reduce(_scored, (model, scoring))
        if not sums[1] > 0:
            raise ValueError("a score needs labelled rows with a positive weight, but there are none; pass y")
        return float(sums[0] / sums[1])

    def kfold_log_proba(self, X: Any, y: Any = None, sample_weight: Any = None, *, folds: Any = 10) -> FloatArray:
        """Return log p(c | x_i) of each row by the model fitted to the rows of the other folds, n×k.

        The sums of each fold are kept apart in one pass, and those of the others added up, so that ten folds cost no
        more than one fit and a prediction. The models have the settings of this one, and its classes, categories and
        words. A model that was fitted by EM is fitted again for each fold, to a table in memory.

        Parameters
        ----------
        X : array, sparse array, data frame, `suffice.scan(...)` or `suffice.stream(...)`
            The rows.
        y : labels, or an n×k matrix (or data frame) of class probabilities
            The classes of the rows. Rows without a label are scored and, unless the model needs EM, not learned from.
        sample_weight : array of shape (n,), optional
            The weight of each row.
        folds : int or array of shape (n,), default 10
            The number of folds, to which the rows are dealt out in turn, or the number of the fold of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianDiscriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> logs = GaussianDiscriminant("full").fit(X, y).kfold_log_proba(X, y, folds=5)
        >>> (logs.argmax(axis=1) == y).mean().round(4).item()
        0.9733
        """
        check_is_fitted(self, "classes_")
        self._require_statistics("k folds are learned with the settings of a fit")
        n_rows = None if isinstance(X, Source) else len(self.schema_.as_table(X))
        given = Folds.of(folds, n_rows)
        if self._priors is not None or self.statistics_.class_of is not None:
            return self._refitted_folds(X, y, sample_weight, given)
        coder = LabelCoder(self.classes_, declared=True, missing_label=self.missing_label)
        engine = passes.engine(
            X, y, sample_weight, self.schema_, coder.partial, n_jobs=self.n_jobs, estimator=type(self).__name__
        )
        models = []
        for joint in engine.reduce(learn_folds, (self.schema_, given)).without_each():
            if joint is None or joint.class_count.sum() <= 0:
                raise ValueError("every fold needs labelled rows in the other folds, but one has all of them")
            models.append(self._model_of(replace(self.statistics_, joint=joint), None))
        return engine.map(fold_log_posterior, (models, given))

    def _refitted_folds(self, X: Any, y: Any, sample_weight: Any, folds: Folds) -> FloatArray:
        """Return the posteriors by models that were fitted by EM to the other folds: rows of a fold weigh nothing."""
        if isinstance(X, Source):
            raise ValueError(
                "a model that was fitted by EM is fitted again for each fold, which needs a table in memory, but X is "
                "a stream or a scan; pass the table itself"
            )
        n = len(self.schema_.as_table(X))
        weight = row_weights(sample_weight, n)
        numbers = np.arange(n) % folds.n_folds if folds.of_rows is None else folds.of_rows
        found = np.full((n, len(self.classes_)), -np.inf)
        places = {label: c for c, label in enumerate(class_list(self.classes_))}
        for fold in range(folds.n_folds):
            here = numbers == fold
            with warnings.catch_warnings():
                for category in (MissingLabelsWarning, TextColumnWarning, IdentifierWarning):
                    warnings.simplefilter("ignore", category)
                model = clone(self).fit(X, y, np.where(here, 0.0, weight))
            columns = [places[label] for label in class_list(model.classes_)]
            found[np.ix_(here, columns)] = model.predict_log_proba(X)[here]
        return found

    def _require_statistics(self, why: str) -> None:
        if "statistics_" not in self.__dict__:
            raise ValueError(
                f"{why}, and this {type(self).__name__} was made from parameters and has no statistics; fit it to rows "
                f"first"
            )

    def _left_out(self, X: Any, y: Any, sample_weight: Any) -> tuple[Engine, LeaveOneOut]:
        """Return the rows of training on an engine, and what leave-one-out needs of the model."""
        check_is_fitted(self, "classes_")
        if y is None and not isinstance(X, Source):
            raise ValueError("leave-one-out takes rows of training with their labels; pass y")
        model = self._leave_one_out()
        coder = LabelCoder(self.classes_, declared=True, missing_label=self.missing_label)
        engine = passes.engine(
            X, y, sample_weight, self.schema_, coder.partial, n_jobs=self.n_jobs, estimator=type(self).__name__
        )
        if isinstance(engine, MemoryEngine):
            self._require_contained(engine, model)
        return engine, model

    def _leave_one_out(self) -> LeaveOneOut:
        self._require_statistics("leave-one-out subtracts rows from the statistics of training")
        statistics = self.statistics_
        if self._priors is not None or statistics.class_of is not None:
            raise ValueError(
                "this model was fitted by EM, where every row depends on all others, so that no row can be subtracted; "
                "use kfold_log_proba(X, y)"
            )
        parts, schema = [], statistics.schema
        every = [prior_of_blocks(schema, self.prior) if self.estimate == "predictive" else self._prior]
        priors = self._at_mode(schema, statistics.joint, every * len(schema.blocks))
        blocks = zip(schema.blocks, statistics.joint.blocks, priors, self._joint.distributions, strict=True)
        for block, sums, given, found in blocks:
            if self.estimate == "predictive":
                parts.append(block.family.posterior(sums, given).left_out(found))
            else:
                parts.append(block.family.left_out(sums, given, found))
        labels = class_list(statistics.classes)

        def log_prior(count: FloatArray) -> FloatArray:
            return log_prior_of_classes(self.class_prior, count + self._counted_before, labels)

        return LeaveOneOut(schema, statistics.joint.class_count, log_prior, tuple(parts))

    def _require_contained(self, engine: MemoryEngine, model: LeaveOneOut) -> None:
        """Raise ValueError if rows in memory have more weight in some class than the rows of training."""
        known = engine.rows.responsibilities
        assert isinstance(known, PartialLabels)
        if known.codes is None:
            raise ValueError(
                "leave-one-out takes one label per row, and no class probabilities; use kfold_log_proba(X, y)"
            )
        there = np.flatnonzero(known.codes >= 0)
        weight = None if known.weight is None else known.weight[there]
        given = np.bincount(known.codes[there], weights=weight, minlength=len(model.class_count))
        over = np.flatnonzero(given > model.class_count * (1 + 1e-9))
        if len(over):
            c = int(over[0])
            raise ValueError(
                f"leave-one-out takes the rows that the model was fitted to, but those of class "
                f"{class_list(self.classes_)[c]!r} have the weight {given[c]:g} together, and {model.class_count[c]:g} "
                f"in training; pass rows of training with their labels and weights"
            )


def _scored(chunk: Any, params: tuple[LeaveOneOut, str]) -> FloatArray:
    """Kernel: the sum of the scores of the labelled rows, and their weight, (2,)."""
    model, scoring = params
    logs, own = loo_log_posterior(chunk, model), model.own(chunk)
    of_own = logs[np.arange(len(own)), own.codes]
    gained = of_own if scoring == "log_proba" else (np.argmax(logs, axis=1) == own.codes).astype(np.float64)
    there = own.weight > 0
    return np.array([gained[there] @ own.weight[there], own.weight.sum()])
