"""What R says: lda and qda of MASS 7.3, naiveBayes of e1071 1.7, at full precision."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from suffice import GaussianDiscriminant, NaiveBayes, NormalInverseWishart

DATA = Path(__file__).parent / "data"
#: R divides the scatter by n − k (lda) and n_c − 1 (qda, naiveBayes) unless "mle" is asked for
UNBIASED = NormalInverseWishart(0)


def _figures(name):
    return json.loads((DATA / f"{name}.json").read_text())


def _rows(name):
    """Return the training rows and labels, and the rows that R predicted."""
    table = pd.read_csv(DATA / f"{name}.csv")
    if name == "iris":
        X, y = table.drop(columns="Species"), table["Species"]
        return X, y, X
    train = table[table["split"] == "train"]
    test = table[table["split"] == "test"]
    return (
        train.drop(columns=["type", "split"]),
        train["type"],
        test.drop(columns=["type", "split"]),
    )


def _fitted(name, model):
    X, y, predicted = _rows(name)
    model.fit(X, y)
    return model, model.predict_proba(predicted)


def _truth(name):
    if name == "iris":
        return _rows(name)[1].to_numpy()
    table = pd.read_csv(DATA / f"{name}.csv")
    return table.loc[table["split"] == "test", "type"].to_numpy()


both = pytest.mark.parametrize("name", ["iris", "pima"])


@both
def test_linear_discriminant_posteriors(name):
    figures = _figures(name)["disc"]
    model, posterior = _fitted(name, GaussianDiscriminant("tied", prior=UNBIASED))
    assert model.classes_.tolist() == figures["classes"]
    np.testing.assert_allclose(posterior, figures["lda"]["posterior"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(posterior, figures["lda"]["posterior"], rtol=1e-9)


@both
def test_linear_discriminant_means_and_class_prior(name):
    figures = _figures(name)["disc"]["lda"]
    model, _ = _fitted(name, GaussianDiscriminant("tied", prior=UNBIASED))
    np.testing.assert_allclose(model.distributions_[0].means, figures["means"], rtol=1e-13)
    np.testing.assert_allclose(model.class_prior_, list(figures["prior"].values()), rtol=1e-13)
    assert model.classes_.tolist() == list(figures["prior"])


@both
def test_linear_discriminant_singular_values(name):
    """R's svd: how far the class means are apart, in standard deviations within the classes, along each direction."""
    singular = np.atleast_1d(_figures(name)["disc"]["lda"]["svd"])
    model, _ = _fitted(name, GaussianDiscriminant("tied", prior=UNBIASED))
    n, k = model.statistics_.class_count.sum(), len(model.classes_)
    means = pd.DataFrame(model.distributions_[0].means, columns=model.feature_names_in_)
    along = model.transform(means)
    found = np.sqrt(n / (k - 1) * (model.class_prior_ @ along**2))
    np.testing.assert_allclose(found, singular, rtol=1e-11)
    np.testing.assert_allclose(model.explained_variance_ratio_, singular**2 / (singular**2).sum(), rtol=1e-11)


@both
def test_linear_discriminant_posteriors_by_maximum_likelihood(name):
    _, posterior = _fitted(name, GaussianDiscriminant("tied", prior=None))
    expected = _figures(name)["disc"]["lda_mle"]["posterior"]
    np.testing.assert_allclose(posterior, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(posterior, expected, rtol=1e-9)


@both
def test_quadratic_discriminant_posteriors(name):
    expected = _figures(name)["disc"]["qda"]["posterior"]
    _, posterior = _fitted(name, GaussianDiscriminant("full", prior=UNBIASED))
    np.testing.assert_allclose(posterior, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(posterior, expected, rtol=1e-9)


@both
def test_quadratic_discriminant_posteriors_by_maximum_likelihood(name):
    expected = _figures(name)["disc"]["qda"]["posterior_mle"]
    _, posterior = _fitted(name, GaussianDiscriminant("full", prior=None))
    np.testing.assert_allclose(posterior, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(posterior, expected, rtol=1e-9)


@both
def test_quadratic_discriminant_log_determinants(name):
    """R's ldet is log |Σ_c|, of the unbiased covariance."""
    model, _ = _fitted(name, GaussianDiscriminant("full", prior=UNBIASED))
    found = np.linalg.slogdet(model.distributions_[0].covariance())[1]
    np.testing.assert_allclose(found, _figures(name)["disc"]["qda"]["ldet"], rtol=1e-12)
    np.testing.assert_allclose(model.distributions_[0].form.log_determinants, found, rtol=1e-12)


@both
@pytest.mark.parametrize(("covariance", "r"), [("tied", "lda"), ("full", "qda")])
def test_discriminant_error_rates(name, covariance, r):
    model, _ = _fitted(name, GaussianDiscriminant(covariance, prior=UNBIASED))
    error = np.mean(model.predict(_rows(name)[2]) != _truth(name))
    assert error == pytest.approx(_figures(name)["disc"][r]["error"], rel=1e-12)


@both
def test_gaussian_naive_bayes_posteriors(name):
    figures = _figures(name)["nb"]
    model, posterior = _fitted(name, NaiveBayes(prior=UNBIASED))
    assert model.classes_.tolist() == figures["classes"]
    np.testing.assert_allclose(posterior, figures["posterior"], rtol=0, atol=1e-6)
    error = np.mean(model.predict(_rows(name)[2]) != _truth(name))
    assert error == pytest.approx(figures["error"], rel=1e-12)


@pytest.mark.parametrize(("key", "prior"), [("nb0", None), ("nb1", 1)])
def test_categorical_naive_bayes_posteriors_of_votes_with_missing_cells(key, prior):
    figures = _figures("housevotes84")[key]
    table = pd.read_csv(DATA / "housevotes84.csv")
    assert table.isna().to_numpy().sum() > 300
    model = NaiveBayes(prior=prior).fit(table.drop(columns="Class"), table["Class"])
    posterior = model.predict_proba(table.drop(columns="Class"))
    assert model.classes_.tolist() == figures["classes"]
    np.testing.assert_allclose(posterior, figures["posterior"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(posterior, figures["posterior"], rtol=1e-9)
    error = np.mean(model.predict(table.drop(columns="Class")) != table["Class"])
    assert error == pytest.approx(figures["error"], rel=1e-12)
