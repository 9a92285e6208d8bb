"""Models on disk: the same predictions, no code run, and a clear word about files that are none."""

import json
import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import suffice
from suffice import (
    Categorical,
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    ModelFileError,
    NaiveBayes,
    NormalInverseWishart,
    PseudoCount,
)
from suffice.persistence.values import pack, unpack

X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(
    word=pd.Categorical([["x", "y", "z"][i % 3] for i in range(150)], categories=["x", "y", "z", "never"]),
    flag=[bool(i % 2) for i in range(150)],
)
MODELS = {
    "naive Bayes": lambda: NaiveBayes().fit(FRAME, Y),
    "everything set": lambda: GenerativeClassifier(
        families={("a", "b"): Gaussian("full"), "word": Categorical("missing"), "c": "poisson"},
        covariance="tied",
        prior=[PseudoCount(0.5), NormalInverseWishart(2.0, scatter=np.ones(2))],
        class_prior={0: 0.2, 1: 0.3, 2: 0.5},
        threshold={0: 0.1, 1: 0.4, 2: 0.5},
    ).fit(FRAME[["a", "b", "c", "word", "flag"]], Y),
    "costs, words as labels": lambda: GaussianDiscriminant("full", cost=1 - np.eye(3), prior=None).fit(
        X, np.array(["p", "q", "r"])[Y]
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_predicts_the_same(name, tmp_path):
    model = MODELS[name]()
    table = FRAME[model.feature_names_in_] if hasattr(model, "feature_names_in_") else X
    suffice.save(model, tmp_path / "model.suffice")
    loaded = suffice.load(tmp_path / "model.suffice")
    assert type(loaded) is type(model)
    for method in ("predict", "predict_proba", "score_samples"):
        np.testing.assert_array_equal(getattr(loaded, method)(table), getattr(model, method)(table))
    assert loaded.classes_.dtype == model.classes_.dtype
    # and it goes on learning as if nothing had happened
    np.testing.assert_array_equal(
        loaded.partial_fit(table[:9], model.classes_[Y[:9]]).predict_proba(table),
        model.partial_fit(table[:9], model.classes_[Y[:9]]).predict_proba(table),
    )


def test_statistics_are_saved_and_loaded_too(tmp_path):
    statistics = NaiveBayes().fit(FRAME, Y).statistics_
    suffice.save(statistics, tmp_path / "sums")
    loaded = suffice.load(tmp_path / "sums")
    np.testing.assert_array_equal(
        NaiveBayes.from_statistics(loaded + statistics).class_prior_,
        NaiveBayes.from_statistics(statistics).class_prior_,
    )


def test_every_truncation_of_a_model_file_is_refused(tmp_path):
    whole, part = tmp_path / "whole", tmp_path / "part"
    suffice.save(NaiveBayes().fit(FRAME, Y), whole)
    content = whole.read_bytes()
    for length in [*range(0, len(content), 211), len(content) - 1]:
        part.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"not a Suffice model file, or is damaged or cut short"):
            suffice.load(part)


def test_a_damaged_byte_is_noticed_or_does_not_matter(tmp_path):
    file = tmp_path / "model"
    model = NaiveBayes().fit(X, Y)
    suffice.save(model, file)
    content = file.read_bytes()
    refused = 0
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        file.write_bytes(damaged)
        try:
            loaded = suffice.load(file)
        except ModelFileError:
            refused += 1
        else:  # the byte was a date or a comment of the archive
            np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert refused > len(content) // 14


def test_foreign_files_are_refused(tmp_path):
    file = tmp_path / "model"
    file.write_bytes(pickle.dumps({"hello": 1}))
    with pytest.raises(ModelFileError, match="not a Suffice model file"):
        suffice.load(file)
    np.savez(tmp_path / "arrays.npz", x=X)
    with pytest.raises(ModelFileError, match="zip file, but not a Suffice model"):
        suffice.load(tmp_path / "arrays.npz")
    with pytest.raises(FileNotFoundError):
        suffice.load(tmp_path / "nothing")


def rewrite(source, target, change):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "suffice.json":
                header = json.loads(data)
                change(header)
                data = json.dumps(header).encode()
            new.writestr(name, data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header.update(version=99), "format version 99.*update suffice"),
        (lambda header: header.update(format="other"), "not a Suffice model file"),
        (lambda header: header.update(model="os.system"), "unknown kind 'os.system'"),
        (lambda header: header["params"].update(prior={"prior": "eval", "config": {}}), "do not fit together"),
        (lambda header: header["statistics"].update(n_columns=7, blocks=[]), "do not fit together"),
        (lambda header: header.pop("statistics"), "do not fit together"),
    ],
)
def test_headers_that_do_not_fit_are_refused(change, message, tmp_path):
    suffice.save(NaiveBayes().fit(X, Y), tmp_path / "good")
    rewrite(tmp_path / "good", tmp_path / "bad", change)
    with pytest.raises(ModelFileError, match=message):
        suffice.load(tmp_path / "bad")


def test_a_pickle_hidden_in_a_model_file_is_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("code in the file was run",))

    suffice.save(NaiveBayes().fit(X, Y), tmp_path / "good")
    with zipfile.ZipFile(tmp_path / "good") as old, zipfile.ZipFile(tmp_path / "bad", "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "class_count.npy":
                with (tmp_path / "bomb.npy").open("wb") as file:
                    np.lib.format.write_array(file, np.array([Bomb()], dtype=object), allow_pickle=True)
                data = (tmp_path / "bomb.npy").read_bytes()
            new.writestr(name, data)
    with pytest.raises(ModelFileError):
        suffice.load(tmp_path / "bad")


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "model"
    suffice.save(NaiveBayes().fit(X, Y), file)
    before = file.read_bytes()
    strange = NaiveBayes().fit(X, np.array([("a", 1), ("b", 2), ("c", 3)], dtype="U1,i4").astype(object)[Y])
    strange.statistics_.classes.flags.writeable = True
    strange.statistics_.classes[0] = object()
    with pytest.raises(TypeError, match="cannot be saved without pickle"):
        suffice.save(strange, file)
    with pytest.raises(ValueError, match="fitted"):
        suffice.save(NaiveBayes(), file)
    with pytest.raises(TypeError, match="only Suffice's models"):
        suffice.save({"a": 1}, file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_is_no_file_is_not_replaced_by_a_model(tmp_path):
    """Root could put a model in the place of /dev/null."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OSError, match="cannot be replaced"):
        suffice.save(NaiveBayes().fit(X, Y), path)
    assert path.is_fifo()
    assert list(tmp_path.iterdir()) == [path]


def test_mixtures_without_statistics_come_back(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"a": rng.normal(size=200), "b": rng.normal(size=200), "word": rng.choice(["x", "y", "z"], size=200)}
    )
    whole = suffice.Mixture(2, random_state=0).fit(table)
    given = suffice.Mixture.from_parameters([0.4, 0.6], [[0.0, 1.0], [3.0, 4.0]], np.ones((2, 2)))
    cells = table[["a", "b"]].to_numpy()
    for mixture, rows in (
        (whole.marginal(["word", "a"]), table[["word", "a"]]),
        (whole.condition({"word": "y"}), table[["a", "b"]]),
        (given, cells),
    ):
        suffice.save(mixture, tmp_path / "m")
        loaded = suffice.load(tmp_path / "m")
        np.testing.assert_array_equal(loaded.score_samples(rows), mixture.score_samples(rows))
        assert hasattr(loaded, "statistics_") == hasattr(mixture, "statistics_")


@pytest.mark.parametrize("stiffness", [None, 0.7])
def test_soft_k_means_comes_back(tmp_path, stiffness):
    rows = np.random.default_rng(0).normal(size=(100, 2)) + np.repeat([[0], [4]], 50, axis=0)
    model = suffice.SoftKMeans(2, stiffness, random_state=0).fit(rows)
    suffice.save(model, tmp_path / "m")
    loaded = suffice.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)
    assert loaded.stiffness_ == model.stiffness_
    assert loaded.n_parameters_ == model.n_parameters_
    assert type(loaded) is suffice.SoftKMeans


@pytest.mark.parametrize(
    "model",
    [
        suffice.Mixture(2, random_state=0),
        suffice.SoftKMeans(2, random_state=0),
        suffice.MixtureSearch(2, ["EII", "VVV"]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_mixtures_with_a_constant_column_are_loaded_again(model, tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(120, 2)), np.ones(120)])
    fitted = model.fit(X, sample_weight=np.where(np.arange(120) < 5, 0.0, 1.0))
    suffice.save(fitted, tmp_path / "model")
    np.testing.assert_allclose(suffice.load(tmp_path / "model").predict_proba(X), fitted.predict_proba(X), rtol=1e-9)


COUNTS = np.random.default_rng(0).poisson(2.0, 150)
REGRESSIONS = {
    "poisson": lambda: suffice.GLM("poisson").fit(FRAME[["a", "b", "word"]], COUNTS),
    "no intercept": lambda: suffice.GLM("gaussian", fit_intercept=False).fit(X, COUNTS),
    "negative binomial": lambda: suffice.GLM("nb", shape=2.0).fit(X, COUNTS),
    "bernoulli": lambda: suffice.GLM("bernoulli").fit(X, COUNTS > 2),
    "logistic": lambda: suffice.LogisticRegression(alpha=1.0).fit(FRAME[["a", "b", "word"]], Y),
    "two classes": lambda: suffice.LogisticRegression().fit(X, np.where(COUNTS > 2, "p", "q")),
    "logistic, no intercept": lambda: suffice.LogisticRegression(alpha=1.0, fit_intercept=False).fit(X, Y),
}
#: what files of version 1 said of linear models: of all, of classifiers, and of others
OF_ALL = {"design", "terms_", "n_iter_", "converged_", "log_likelihood_", "classes", "coef_", "intercept_"}
OF_CLASSIFIERS = OF_ALL | {"_center", "_theta"}
OF_OTHERS = OF_CLASSIFIERS | {
    "aliased_", "n_rows_", "df_residual_", "df_null_", "deviance_", "null_deviance_", "dispersion_", "aic_", "bic_",
    "_factor", "parameters_",
}  # fmt: skip


#: settings that came later
NEW_SETTINGS = {"formula", "positive"}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regressions_in_files_of_version_1_come_back(name, tmp_path):
    model = REGRESSIONS[name]()
    table = FRAME[model.feature_names_in_] if hasattr(model, "feature_names_in_") else X
    suffice.save(model, tmp_path / "new")
    kept = OF_CLASSIFIERS if hasattr(model, "classes_") else OF_OTHERS
    with zipfile.ZipFile(tmp_path / "new") as new, zipfile.ZipFile(tmp_path / "old", "w") as old:
        for part in new.namelist():
            data = new.read(part)
            if part == "suffice.json":
                header = json.loads(data)
                header["version"] = 1
                header["params"] = {key: value for key, value in header["params"].items() if key not in NEW_SETTINGS}
                values = unpack(header["linear"])
                header["linear"] = pack({key: value for key, value in values.items() if key in kept})
                data = json.dumps(header).encode()
            elif part.removeprefix("linear.").removesuffix(".npy") not in kept:
                continue
            old.writestr(part, data)
    loaded = suffice.load(tmp_path / "old")
    for method in {"predict", "predict_proba"} & set(dir(model)):
        np.testing.assert_array_equal(getattr(loaded, method)(table), getattr(model, method)(table))
    np.testing.assert_allclose(loaded.parameters_, model.parameters_, rtol=1e-12)
    assert loaded.deviance_ == pytest.approx(model.deviance_)
    assert str(loaded.summary()).splitlines()[2] == str(model.summary()).splitlines()[2] or hasattr(model, "classes_")
    suffice.save(loaded, tmp_path / "again")
    np.testing.assert_array_equal(suffice.load(tmp_path / "again").predict(table), model.predict(table))
