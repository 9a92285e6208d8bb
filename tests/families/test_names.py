"""Families and covariance structures have the same names everywhere."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture
from typer.testing import CliRunner

from suffice import (
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    Mixture,
    MixtureSearch,
    NaiveBayes,
    best_family,
    distribution,
)
from suffice.cli.app import app
from suffice.families import FAMILIES, as_family
from suffice.families.gaussian.covariance import CODES, STRUCTURES, as_structure
from suffice.families.names import FAMILY_ALIASES, STRUCTURE_ALIASES

X = np.random.default_rng(0).lognormal(size=(40, 2))
Y = np.arange(40) % 2


@pytest.mark.parametrize("name", [*FAMILIES, *FAMILY_ALIASES])
def test_every_name_of_a_family_is_understood_in_every_spelling(name):
    expected = as_family(FAMILY_ALIASES.get(name, name))
    for spelled in (name, name.upper(), name.title().replace("_", " "), name.replace("_", "-"), name.replace("_", "")):
        assert as_family(spelled) == expected
        assert distribution(spelled) == expected


def test_an_alias_is_never_the_name_of_something_else():
    assert not set(FAMILY_ALIASES) & set(FAMILIES)
    assert set(FAMILY_ALIASES.values()) <= set(FAMILIES)
    assert not set(STRUCTURE_ALIASES) & {*STRUCTURES, *CODES}
    assert set(STRUCTURE_ALIASES.values()) <= set(STRUCTURES)


@pytest.mark.parametrize("name", [*STRUCTURES, *CODES, *STRUCTURE_ALIASES])
def test_every_name_of_a_structure_is_understood_in_every_spelling(name):
    expected = as_structure(STRUCTURE_ALIASES.get(name, name))
    for spelled in (name, name.upper(), name.lower(), name.replace("-", "_"), name.replace("-", " ")):
        assert as_structure(spelled) is expected
        assert Gaussian(spelled) == Gaussian(expected)


def test_estimators_understand_them_alike():
    for name in ("normal", "log-normal", "Inverse-Gaussian", "wald"):
        expected = as_family(name)
        assert NaiveBayes(name).fit(X, Y).schema_.blocks[0].family == expected
        assert Mixture(1, name).fit(X).schema_.blocks[0].family == expected
        assert GenerativeClassifier({0: name, 1: "gamma"}).fit(X, Y).schema_.blocks[0].family == expected
    for name in ("diag", "Spherical", "tied_diag", "vvi"):
        expected = as_structure(name)
        assert GaussianDiscriminant(name).fit(X, Y).schema_.blocks[0].family.structure is expected
        assert Mixture(1, covariance=name).fit(X).schema_.blocks[0].family.structure is expected
        search = MixtureSearch(1, covariance=[name]).fit(X)
        assert search.best_estimator_.schema_.blocks[0].family.structure is expected


@pytest.mark.parametrize("name", ["full", "tied", "diag", "spherical"])
def test_the_names_of_scikit_learns_mixtures_mean_the_same(name):
    theirs = GaussianMixture(1, covariance_type=name).fit(X)
    ours = Mixture(1, covariance=name, prior=None).fit(X)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-4)


def test_the_best_family_is_found_by_any_of_its_names():
    ranking = best_family(X[:, 0])
    assert ranking["normal"] is ranking["gaussian"] is ranking["Gaussian"]
    assert ranking["inverse-gaussian"] is ranking["inverse_gaussian"]
    with pytest.raises(KeyError, match="did you mean 'gaussian'"):
        ranking["gausian"]


def test_the_command_line_understands_them(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(f"{x},{z},{y}\n" for (x, z), y in zip(X, Y, strict=True)))
    options = ["--family", "a=Normal", "--family", "b=log-normal", "--covariance", "diag", "-o", str(tmp_path / "m")]
    done = CliRunner().invoke(app, ["fit", str(tmp_path / "rows.csv"), "--target", "y", *options])
    assert done.exit_code == 0, done.output
    assert "1 gaussian, 1 lognormal" in done.output


@pytest.mark.parametrize(
    ("wrong", "near"), [("poison", "poisson"), ("Gausian", "gaussian"), ("inverse normal", None), (3, None)]
)
def test_an_unknown_family_is_refused_with_the_nearest_name(wrong, near):
    with pytest.raises(ValueError, match=f"unknown family {wrong!r}") as error:
        NaiveBayes(wrong).fit(X, Y)
    assert (f"did you mean {near!r}?" in str(error.value)) == (near is not None)


@pytest.mark.parametrize(
    ("wrong", "near"), [("sperical", "spherical"), ("VEVE", "VEV"), ("banana", None), (None, None)]
)
def test_an_unknown_structure_is_refused_with_the_nearest_name(wrong, near):
    with pytest.raises(ValueError, match="covariance must be one of 'full', 'tied', 'diagonal'") as error:
        GaussianDiscriminant(wrong).fit(X, Y)
    assert (f"did you mean {near!r}?" in str(error.value)) == (near is not None)
