"""Generative or discriminative: the learning curves of two models on the same data, as in Ng and Jordan (2002)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from suffice._arrays import FloatArray, IntArray
from suffice.optimize.interrupts import end_early, keep_on_interrupt
from suffice.tables.document_tables import as_document_table
from suffice.tables.factorize import factorize
from suffice.tables.labels import as_objects_if_mixed
from suffice.tables.results import result_frame

MEASURES = ("error", "log-loss")
#: probabilities are clipped to at least this in the log-loss, so that one confident mistake does not dominate
LEAST_PROBABILITY = 1e-15
#: the maximum number of test rows
_MOST_TEST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Comparison:
    """Error and log-loss of two models as the training set grows.

    Attributes
    ----------
    names : tuple of two str
        The names of the two models.
    sizes : array of shape (s,)
        The numbers of training rows.
    error, log_loss : arrays of shape (2, s, splits)
        The error rate and the log-loss on the test rows; NaN if a model could not be fitted to so few rows.
    library : str or None
        The data-frame library of the rows.
    """

    names: tuple[str, str]
    sizes: IntArray
    error: FloatArray
    log_loss: FloatArray
    library: str | None = None

    def curve(self, measure: str = "error") -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the mean of a measure over the splits, and the band of its standard error, each (2, s).

        Parameters
        ----------
        measure : "error" or "log-loss", default "error"
            Which measure to compare.
        """
        values = self._values(measure)
        mean = _mean(values)
        n = np.isfinite(values).sum(-1)
        spread = np.sqrt(_mean((values - mean[..., None]) ** 2) / np.maximum(n - 1, 1))
        return mean, mean - spread, mean + spread

    def crossing(self, measure: str = "error") -> float | None:
        """Return the number of rows from which on the second model is better, up to the largest size; None if never.

        Between two sizes the curves are interpolated linearly in the logarithm of the size. The smallest size is
        returned if the second model is better from the start.

        Parameters
        ----------
        measure : "error" or "log-loss", default "error"
            Which measure to compare.
        """
        first, second = _mean(self._values(measure))
        lead = first - second  # positive if the second model is better
        fitted = np.flatnonzero(np.isfinite(lead))
        if len(fitted) == 0 or lead[fitted[-1]] <= 0:
            return None
        behind = fitted[lead[fitted] <= 0]
        if len(behind) == 0:
            return float(self.sizes[fitted[0]])
        i = int(behind[-1])
        j = int(fitted[np.searchsorted(fitted, i) + 1])
        share = -lead[i] / (lead[j] - lead[i])
        return float(np.exp(np.log(self.sizes[i]) + share * np.log(self.sizes[j] / self.sizes[i])))

    def _values(self, measure: str) -> FloatArray:
        if measure not in MEASURES:
            raise ValueError(f"measure must be one of {', '.join(map(repr, MEASURES))}, not {measure!r}")
        return self.error if measure == "error" else self.log_loss

    def sentence(self, measure: str = "error") -> str:
        """Return a sentence on which model is better at which sizes.

        Parameters
        ----------
        measure : "error" or "log-loss", default "error"
            Which measure to compare.
        """
        first, second = self.names
        means = _mean(self._values(measure))
        for name, mean in zip(self.names, means, strict=True):
            if not np.isfinite(mean).any():
                return f"{measure}: {name} could not be fitted to any of these training sets."
        at = self.crossing(measure)
        both = np.isfinite(means).all(0)
        before = both & (self.sizes < (np.inf if at is None else at))
        turns = bool((means[0] > means[1])[before].any())
        if at is None:
            up_to = f"up to {self.sizes[-1]:,} rows"
            return (
                f"{measure}: each is better at some sizes {up_to}."
                if turns
                else f"{measure}: {first} is as good or better {up_to}."
            )
        if not before.any():
            return f"{measure}: {second} is better from {round(at):,} rows on."
        if turns:
            return f"{measure}: each is better at some sizes up to about {round(at):,} rows; {second} from there on."
        return f"{measure}: {first} is better up to about {round(at):,} rows, {second} from there on."

    def __str__(self) -> str:
        first, second = self.names
        wide = max(len(first), len(second), 8)
        head = f"{'':>8}  {'error':^{2 * wide + 2}}  {'log-loss':^{2 * wide + 2}}"
        names = f"{'rows':>8}  {first:>{wide}}  {second:>{wide}}  {first:>{wide}}  {second:>{wide}}"
        errors, losses = _mean(self.error), _mean(self.log_loss)
        lines = [
            f"{size:8,d}  {errors[0, i]:{wide}.3f}  {errors[1, i]:{wide}.3f}  {losses[0, i]:{wide}.3f}  "
            f"{losses[1, i]:{wide}.3f}"
            for i, size in enumerate(self.sizes.tolist())
        ]
        return "\n".join([head, names, *lines, *(self.sentence(measure) for measure in MEASURES)])

    def __repr__(self) -> str:
        return f"<Comparison of {self.names[0]} and {self.names[1]} at {len(self.sizes)} sizes>"

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with one row per model and size: the mean of both measures over the splits.

        Its columns are "model", "rows", "error", "error_se", "log_loss", "log_loss_se" and "splits"; the
        ones in "_se" are standard errors of the means, and "splits" is the number of splits with a fitted model.

        Parameters
        ----------
        library : "pandas", "polars" or "pyarrow", optional
            The library of the frame; by default that of the rows, or one that is installed.
        """
        columns: dict[str, Any] = {
            "model": np.repeat(self.names, len(self.sizes)),
            "rows": np.tile(self.sizes, len(self.names)),
        }
        for measure in MEASURES:
            mean, _, high = self.curve(measure)
            name = measure.replace("-", "_")
            columns |= {name: mean.ravel(), f"{name}_se": (high - mean).ravel()}
        columns["splits"] = np.isfinite(self.error).sum(-1).ravel()
        return result_frame(columns, library, known=self.library)

    def plot(self, axes: Any = None) -> Any:
        """Plot both measures against the size of the training set, with error bands and crossings; return the axes.

        Parameters
        ----------
        axes : two matplotlib Axes, optional
            The axes to plot on, one per measure; by default new ones.
        """
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
        for axis, measure in zip(np.ravel(axes), MEASURES, strict=True):
            mean, low, high = self.curve(measure)
            for i, (name, colour) in enumerate(zip(self.names, ("tab:blue", "tab:orange"), strict=True)):
                axis.plot(self.sizes, mean[i], color=colour, marker="o", markersize=3, label=name)
                axis.fill_between(self.sizes, low[i], high[i], color=colour, alpha=0.2, linewidth=0)
            at = self.crossing(measure)
            if at is not None and at > self.sizes[0]:
                axis.axvline(at, color="0.5", linestyle=":", linewidth=1)
                axis.annotate(f"{round(at):,} rows", (at, axis.get_ylim()[1]), xytext=(3, -10),
                              textcoords="offset points", fontsize=8, color="0.4")  # fmt: skip
            axis.set(xscale="log", xlabel="rows to train on", ylabel=measure)
            axis.set_ylim(bottom=0)
        np.ravel(axes)[0].legend(frameon=False)
        return axes


def _mean(values: FloatArray) -> FloatArray:
    """Return the mean over the splits with a fitted model; NaN if there is none."""
    count = np.isfinite(values).sum(-1)
    total = np.where(np.isfinite(values), values, 0.0).sum(-1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def compare(
    generative: Any,
    discriminative: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[int] | None = None,
    n_splits: int = 20,
    test_size: float = 0.3,
    names: tuple[str, str] | None = None,
    random_state: int | None = 0,
) -> Comparison:
    """Return the learning curves of two classifiers on the same growing training sets.

    Each split sets a fraction of the rows aside for testing. The other rows are put in random order, with rows of all
    classes first, and both models are trained on the first rows of this order, up to each size. Inside
    `suffice.keep_on_interrupt`, Ctrl-C keeps the finished splits.

    Parameters
    ----------
    generative, discriminative : classifiers with `predict_proba`
        The two models, which are cloned; `Comparison.crossing` is where the second becomes the better one.
    X : array, data frame or other table
        The rows.
    y : array of shape (n,)
        The labels, without missing values.
    sizes : sequence of int, optional
        The numbers of training rows; by default about ten sizes, from two rows per class to all training rows.
    n_splits : int, default 20
        The number of random splits.
    test_size : float, default 0.3
        The fraction of the rows used for testing.
    names : tuple of two str, optional
        The names of the models; by default those of their classes.
    random_state : int or None, default 0
        The seed of the splits.

    Returns
    -------
    Comparison
        The error and the log-loss of both models at each size.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from suffice import NaiveBayes, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> curves = compare(NaiveBayes(), LogisticRegression(max_iter=2000), X, y, sizes=[6, 30, 100], n_splits=3)
    >>> curves.error.shape
    (2, 3, 3)
    """
    table, labels = as_document_table(X), np.asarray(y)
    missing = factorize(as_objects_if_mixed(y)).codes < 0 if labels.ndim == 1 else np.zeros(len(labels), dtype=bool)
    unlabelled = np.flatnonzero(missing)
    if len(unlabelled):
        raise ValueError(
            f"compare needs one label per row, but y is missing (NaN or None) in {len(unlabelled)} of {len(labels)} "
            f"rows (first: row {unlabelled[0]}); drop these rows"
        )
    if len(labels) != len(table):
        raise ValueError(f"compare needs one label per row, but X has {len(table)} rows and y {len(labels)} labels")
    if not 0.0 < test_size < 1.0:
        raise ValueError(f"test_size must be a share between 0 and 1, not {test_size!r}")
    classes, codes = np.unique(labels, return_inverse=True)
    training = len(labels) - round(test_size * len(labels))
    wanted = _sizes(sizes, len(classes), training)
    rng = np.random.default_rng(random_state)
    done: list[FloatArray] = []
    try:
        with keep_on_interrupt(False):  # Ctrl-C ends the comparison, not just one of its fits
            for _ in range(n_splits):
                train, test = _split(codes, training, rng)
                done.append(_one_split((generative, discriminative), X, labels, classes, wanted, train, test))
    except KeyboardInterrupt:
        if not done:
            raise
        end_early(f"{len(done)} of {n_splits} splits are kept", stacklevel=2)
    measured = np.stack(done, axis=-1)
    for failed, model in zip(np.isnan(measured[0]).all((1, 2)), (generative, discriminative), strict=True):
        if failed:
            warnings.warn(
                f"{type(model).__name__} could not be fitted to any of the training sets; fit it once to all rows to "
                f"see why",
                UserWarning,
                stacklevel=2,
            )
    if names is None:
        first, second = type(generative).__name__, type(discriminative).__name__
        names = (first, second) if first != second else (f"{first} (1)", f"{second} (2)")
    return Comparison(names, wanted, measured[0], measured[1], table.library)


def _sizes(sizes: Sequence[int] | None, k: int, training: int) -> IntArray:
    if sizes is None:
        spread = np.geomspace(2 * k, max(training, 2 * k), 10)
        return np.unique(np.minimum(spread.round().astype(np.intp), training))
    wanted = np.unique(np.asarray(sizes, dtype=np.intp))
    if len(wanted) == 0 or wanted[0] < k or wanted[-1] > training:
        raise ValueError(
            f"sizes must lie between {k}, a row of each class, and {training}, the rows to train on, but are "
            f"{list(sizes)}"
        )
    return wanted


def _split(codes: IntArray, training: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return the training and test rows in random order, except that two rows of each class come first."""
    order = rng.permutation(len(codes))
    nth = np.empty(len(codes), dtype=np.intp)  # position within its class
    for c in range(codes.max() + 1):
        members = np.flatnonzero(codes[order] == c)
        nth[members] = np.arange(len(members))
    order = order[np.argsort(np.minimum(nth, 2), kind="stable")]
    return order[:training], order[training:][:_MOST_TEST_ROWS]


def _one_split(
    models: tuple[Any, Any], X: Any, y: Any, classes: Any, sizes: IntArray, train: IntArray, test: IntArray
) -> FloatArray:
    """Return error and log-loss of both models at every size, 2×2×s."""
    measured = np.full((2, 2, len(sizes)), np.nan)
    places = np.searchsorted(classes, y[test])
    for s, size in enumerate(sizes.tolist()):
        for m, model in enumerate(models):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # with few rows, many warnings are expected
                    fitted = clone(model).fit(_rows(X, train[:size]), y[train[:size]])
                    probability = _all_classes(fitted, fitted.predict_proba(_rows(X, test)), classes)
            except (ValueError, ArithmeticError, np.linalg.LinAlgError):
                continue  # too few rows for this model: the result stays NaN
            measured[0, m, s] = np.mean(probability.argmax(1) != places)
            own = probability[np.arange(len(test)), places]
            measured[1, m, s] = -np.log(np.maximum(own, LEAST_PROBABILITY)).mean()
    return measured


def _all_classes(model: Any, probability: FloatArray, classes: Any) -> FloatArray:
    """Return probabilities with one column per class, including classes that the model has not seen."""
    whole = np.zeros((len(probability), len(classes)))
    whole[:, np.searchsorted(classes, model.classes_)] = probability
    return whole


def _rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of a table of any library."""
    from sklearn.utils import _safe_indexing

    if type(X).__module__.startswith("pyarrow"):  # scikit-learn reads rows of Arrow from 1.7 on
        return X.take(rows)
    return _safe_indexing(X, rows)
