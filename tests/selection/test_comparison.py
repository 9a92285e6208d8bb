"""Learning curves of two models: the same rows for both, bands, and where the curves cross."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris

import suffice
from suffice import Comparison, GaussianDiscriminant, LogisticRegression, NaiveBayes, compare

mpl.use("agg")
X, y = load_iris(return_X_y=True)


class Recorder(ClassifierMixin, BaseEstimator):
    """Notes the rows it is trained on, and answers with the shares of the classes."""

    seen: list = []

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        Recorder.seen.append(np.asarray(X).sum())
        return self

    def predict_proba(self, X):
        return np.tile(self.shares_, (len(X), 1))


def curves(first, second, sizes=(10, 20, 40, 80)):
    values = np.array([first, second], dtype=float)[:, :, None]
    return Comparison(("a", "b"), np.array(sizes), values, values)


def test_both_models_see_the_same_rows_and_all_classes_from_the_start():
    Recorder.seen.clear()
    found = compare(Recorder(), Recorder(), X, y, sizes=[3, 6, 50], n_splits=4)
    assert len(Recorder.seen) == 24
    assert Recorder.seen[0::2] == Recorder.seen[1::2]
    np.testing.assert_array_equal(found.log_loss[0], found.log_loss[1])
    assert found.log_loss[0, 0] == pytest.approx(np.log(3))  # a row of each class: equal shares


def test_a_comparison_is_reproducible_and_depends_on_the_seed():
    a, b, c = (
        compare(NaiveBayes(), Recorder(), X, y, sizes=[9, 30], n_splits=2, random_state=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(a.error, b.error)
    assert (a.error != c.error).any()


def test_measures_are_those_of_the_held_out_rows():
    found = compare(GaussianDiscriminant("tied"), LogisticRegression(alpha=1.0), X, y, n_splits=5)
    assert found.sizes[0] == 6
    assert found.sizes[-1] == 105
    assert found.error.shape == found.log_loss.shape == (2, len(found.sizes), 5)
    assert np.nanmean(found.error[:, -1]) < 0.06
    mean, low, high = found.curve("log-loss")
    assert (low <= mean).all()
    assert (mean <= high).all()


def test_the_crossing_lies_between_sizes_on_a_logarithmic_scale():
    assert curves([0.2, 0.2, 0.2, 0.2], [0.4, 0.3, 0.1, 0.1]).crossing() == pytest.approx(20 * np.sqrt(2))
    assert curves([0.2] * 4, [0.3] * 4).crossing() is None
    assert curves([0.2] * 4, [0.1] * 4).crossing() == 10
    assert curves([0.2] * 4, [0.1, 0.3, 0.1, 0.1]).crossing() == pytest.approx(20 * np.sqrt(2))  # for good
    assert curves([0.2] * 4, [np.nan, 0.3, 0.1, 0.1]).crossing() == pytest.approx(20 * np.sqrt(2))


def test_sentences_say_who_wins_where():
    assert "a is better up to about 28 rows, b from there on" in str(curves([0.2] * 4, [0.4, 0.3, 0.1, 0.1]))
    assert "error: a is as good or better up to 80 rows." in str(curves([0.2] * 4, [0.3] * 4))
    assert "error: each is better at some sizes up to 80 rows." in str(curves([0.2] * 4, [0.1, 0.3, 0.3, 0.3]))
    assert "error: a could not be fitted to any" in str(curves([np.nan] * 4, [0.3] * 4))
    assert "error: b is better from 10 rows on." in str(curves([0.2] * 4, [0.1] * 4))
    assert "each is better at some sizes up to about 28 rows; b from there" in str(
        curves([0.2] * 4, [0.1, 0.3, 0.1, 0.1])
    )


def test_a_model_that_cannot_be_fitted_to_few_rows_is_left_out_there():
    class Choosy(Recorder):
        def fit(self, X, y):
            if len(y) < 20:
                raise ValueError("too few")
            return super().fit(X, y)

    found = compare(Choosy(), Recorder(), X, y, sizes=[6, 30], n_splits=2)
    assert np.isnan(found.error[0, 0]).all()
    assert np.isfinite(found.error[:, 1]).all()
    assert "nan" in str(found)
    with pytest.warns(UserWarning, match="Choosy could not be fitted to any"):
        compare(Choosy(), Recorder(), X, y, sizes=[6, 10], n_splits=2)


def test_data_frames_with_words_are_compared():
    rng = np.random.default_rng(0)
    labels = np.array(["no", "yes"])[rng.integers(0, 2, 200)]
    rows = pd.DataFrame({"word": np.where(rng.random(200) < 0.8, labels, "other"), "x": rng.normal(size=200)})
    found = compare(NaiveBayes(), NaiveBayes(prior=None), rows, labels, sizes=[20, 100], n_splits=2)
    assert found.names == ("NaiveBayes (1)", "NaiveBayes (2)")
    assert found.error[0, -1].mean() < 0.3


def test_an_interrupt_keeps_the_splits_that_are_done():
    class Impatient(Recorder):
        fits = 0

        def fit(self, X, y):
            Impatient.fits += 1
            if Impatient.fits > 5:
                raise KeyboardInterrupt
            return super().fit(X, y)

    with pytest.raises(KeyboardInterrupt, match="2 of 9 splits"):
        compare(Impatient(), Recorder(), X, y, sizes=[6, 30], n_splits=9)
    Impatient.fits = 0
    with suffice.keep_on_interrupt(), pytest.warns(UserWarning, match="2 of 9 splits are kept"):
        found = compare(Impatient(), Recorder(), X, y, sizes=[6, 30], n_splits=9)
    assert found.error.shape == (2, 2, 2)


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="between 3, a row of each class, and 105"):
        compare(NaiveBayes(), NaiveBayes(), X, y, sizes=[2, 50])
    with pytest.raises(ValueError, match="150 rows and y 10 labels"):
        compare(NaiveBayes(), NaiveBayes(), X, y[:10])
    for missing in (None, np.nan):
        with pytest.raises(ValueError, match=r"y is missing \(NaN or None\) in 2 of 150 rows \(first: row 3\)"):
            compare(NaiveBayes(), NaiveBayes(), X, [missing if row in (3, 7) else c for row, c in enumerate(y)])
    with pytest.raises(ValueError, match="test_size"):
        compare(NaiveBayes(), NaiveBayes(), X, y, test_size=1.5)
    with pytest.raises(ValueError, match="'error', 'log-loss'"):
        curves([1], [1], (10,)).crossing("brier")


def test_the_plot_has_a_curve_and_a_band_a_model_and_the_crossing():
    axes = curves([0.2] * 4, [0.4, 0.3, 0.1, 0.1]).plot()
    assert [axis.get_ylabel() for axis in axes] == ["error", "log-loss"]
    assert [line.get_label() for line in axes[0].lines[:2]] == ["a", "b"]
    assert len(axes[0].collections) == 2
    assert axes[0].texts[0].get_text() == "28 rows"
