"""A damaged model file is a ModelFileError, whatever is wrong with it and whatever kind of model it holds."""

import io
import json
import random
import re
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice import (
    GLM,
    Gaussian,
    GaussianDiscriminant,
    GenerativeClassifier,
    LogisticRegression,
    Mixture,
    ModelFileError,
    ModelStatistics,
    NaiveBayes,
    NormalInverseWishart,
    PseudoCount,
    SoftKMeans,
)

rng = np.random.default_rng(0)
Y = np.arange(40) % 3
X = np.ceil(rng.gamma(3.0, 1.0 + Y[:, None], (40, 4)))
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    word=pd.Categorical(np.array(["x", "y", "z"])[rng.integers(0, 3, 40)], categories=["x", "y", "z", "never"]),
    flag=rng.random(40) < 0.5,
)
INCOMPLETE = np.where(rng.random(X.shape) < 0.1, np.nan, X)
MODELS = {
    "naive Bayes": (lambda: NaiveBayes().fit(FRAME, Y), FRAME),
    "everything set": (
        lambda: GenerativeClassifier(
            {("a", "b"): Gaussian("full"), "c": "poisson", "d": "gamma"},
            "tied",
            [PseudoCount(0.5), NormalInverseWishart(2.0, scatter=np.ones(2))],
            {0: 0.2, 1: 0.3, 2: 0.5},
            threshold={0: 0.1, 1: 0.4, 2: 0.5},
        ).fit(FRAME, Y),
        FRAME,
    ),
    "words as labels": (
        lambda: GaussianDiscriminant("full", cost=1.0 - np.eye(3)).fit(X, np.array(["p", "q", "r"])[Y]),
        X,
    ),
    "missing cells": (lambda: GaussianDiscriminant("tied").fit(INCOMPLETE, Y), X),
    "components of classes": (lambda: NaiveBayes(n_components={0: 2}, random_state=0).fit(X, Y), X),
    "columnwise families": (
        lambda: GenerativeClassifier({0: "gamma", 1: "inverse_gaussian", 2: "geometric", 3: "exponential"}).fit(X, Y),
        X,
    ),
    "predictive": (lambda: NaiveBayes("multinomial", estimate="predictive").fit(X, Y), X),
    "mixture": (lambda: Mixture(2, random_state=0).fit(FRAME), FRAME),
    "part of a mixture": (lambda: Mixture(2, random_state=0).fit(X).condition({0: 5.0}), X[:, 1:]),
    "soft k-means": (lambda: SoftKMeans(2, random_state=0).fit(X), X),
    "GLM": (lambda: GLM("poisson", alpha=0.1).fit(FRAME, Y), FRAME),
    "logistic regression": (lambda: LogisticRegression(0.1).fit(FRAME, Y > 0), FRAME),
    "softmax": (lambda: LogisticRegression(0.1).fit(X, np.array(["p", "q", "r"])[Y]), X),
    "statistics": (lambda: NaiveBayes().fit(FRAME, Y).statistics_, FRAME),
}
#: what stands in a header in place of something else
ODD = [
    None, -1, 0, 1, 10**30, 1.5, -0.5, 1e308, float("nan"), float("inf"), True, "", "x", "<f8", [], [None], [[1]], {},
    {"family": "gaussian"}, {"tuple": [1]}, {"array": [[1]]}, {"mapping": [[[], 1]]},
]  # fmt: skip
#: what the description of an array says in place of something else
DESCRIPTIONS = [
    (b"<f8", b"|O"), (b"<f8", b"<f4"), (b"<f8", b"<i8"), (b"<f8", b">f8"), (b"<f8", b"<c16"), (b"<f8", b"<M8[s]"),
    (b"<f8", b"|V8"), (b"False", b"True"), (b"(", b"(-"), (b"(", b"(9999999999, "), (b"(", b"(0, "), (b"(", b"(1, "),
    (b", }", b", 'x': 1}"), (b"{", b"["), (b"}", b""), (b")", b""), (b"'", b'"'), (b"'shape'", b"__import__('os')"),
]  # fmt: skip


def entries(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def zipped(parts):
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")  # a name that is there twice
        for name, data in parts:
            archive.writestr(name, data)
    return file.getvalue()


def places(node, path=()):
    """Yield the way to every value of a header."""
    for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield (*path, key)
        yield from places(node[key], (*path, key))


def bytes_changed(content, seed):
    damaged = bytearray(content)
    for _ in range(seed.choice([1, 2, 10])):
        damaged[seed.randrange(len(damaged))] = seed.randrange(256)
    return bytes(damaged)


def bytes_left_out(content, seed):
    start = seed.randrange(len(content))
    return content[:start] + content[start + seed.randrange(1, 100) :]


def cut_short(content, seed):
    return content[: seed.randrange(len(content))]


def header_changed(content, seed):
    (name, text), *arrays = entries(content)
    header = json.loads(text)
    *path, last = seed.choice(list(places(header)))
    node = header
    for key in path:
        node = node[key]
    how = seed.randrange(5)
    if how == 0:
        del node[last]
    elif how == 1 and isinstance(node, list):
        node.insert(last, node[last])
    else:
        node[last] = seed.choice(ODD)
    return zipped([(name, json.dumps(header)), *arrays])


def header_bytes_changed(content, seed):
    (name, text), *arrays = entries(content)
    return zipped([(name, bytes_changed(text, seed)), *arrays])


def array_changed(content, seed):
    header, *arrays = entries(content)
    place = seed.randrange(len(arrays))
    name, data = arrays[place]
    begin = 10 + int.from_bytes(data[8:10], "little")
    how = seed.randrange(4)
    if how == 0:
        data = bytes_changed(data[:begin], seed) + data[begin:]
    elif how == 1:
        described = data[10:begin].replace(*seed.choice(DESCRIPTIONS), 1)
        data = data[:8] + len(described).to_bytes(2, "little") + described + data[begin:]
    elif how == 2:
        data = data[: seed.randrange(len(data))]
    else:
        number = begin + 8 * seed.randrange(max((len(data) - begin) // 8, 1))
        odd = seed.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, 1e-320])
        data = data[:number] + np.array([odd]).tobytes() + data[number + 8 :]
    arrays[place] = (name, data)
    return zipped([header, *arrays])


def entries_exchanged(content, seed):
    header, *arrays = entries(content)
    i, j = seed.randrange(len(arrays)), seed.randrange(len(arrays))
    how = seed.randrange(4)
    if how == 0:
        del arrays[i]
    elif how == 1:
        arrays.append((arrays[i][0], arrays[j][1]))
    elif how == 2:
        odd = ["x", "block9.count.npy", "log_prior.npy", "class_of.npy", "../../x.npy", "linear.coef_.npy", ".npy"]
        arrays[i] = (seed.choice(odd), arrays[i][1])
    else:
        arrays[i], arrays[j] = (arrays[i][0], arrays[j][1]), (arrays[j][0], arrays[i][1])
    return zipped([header, *arrays])


DAMAGES = [
    bytes_changed, bytes_left_out, cut_short, header_changed, header_bytes_changed, array_changed, entries_exchanged,
]  # fmt: skip


def use(model, rows):
    """Predict: a model that was loaded works, unless its settings or columns are others now, and it says so."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if isinstance(model, ModelStatistics):
                NaiveBayes.from_statistics(model)
            else:
                assert len(model.predict(rows)) == len(rows)
        except ValueError:
            pass


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    file, found = tmp_path_factory.mktemp("models") / "model", {}
    for name, (make, rows) in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make()
        suffice.save(model, file)
        found[name] = file.read_bytes()
        if not isinstance(model, ModelStatistics):
            np.testing.assert_array_equal(suffice.load(file).predict(rows), model.predict(rows))
    return found


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_damage_is_refused_or_does_no_harm(name, damage, contents, tmp_path):
    seed = random.Random(f"{name} {damage.__name__}")
    file, refused = tmp_path / "model", 0
    for _ in range(8):
        file.write_bytes(damage(contents[name], seed))
        try:
            model = suffice.load(file)
        except ModelFileError:
            refused += 1
        else:
            use(model, MODELS[name][1])
    assert refused


def rewritten(content, change):
    """Return the file with its entries changed: a function of the name and the bytes of each."""
    return zipped([(name, change(name, data)) for name, data in entries(content)])


def test_an_array_that_claims_to_be_huge_is_refused_without_memory_for_it(contents, tmp_path):
    def huge(name, data):
        return re.sub(rb"'shape': \(\d+,", b"'shape': (900000000000000,", data) if name.endswith(".npy") else data

    (tmp_path / "model").write_bytes(rewritten(contents["mixture"], huge))
    with pytest.raises(ModelFileError, match="damaged"):
        suffice.load(tmp_path / "model")


def test_a_key_that_is_there_twice_is_refused(contents, tmp_path):
    def twice(name, data):
        return data.replace(b'"params"', b'"model": "NaiveBayes", "params"', 1)

    (tmp_path / "model").write_bytes(rewritten(contents["naive Bayes"], twice))
    with pytest.raises(ModelFileError, match="a key twice"):
        suffice.load(tmp_path / "model")


def test_a_header_that_is_nested_too_deeply_is_refused(contents, tmp_path):
    def deep(name, data):
        return data.replace(b'"declared"', b'"x": ' + b"[" * 100_000 + b"]" * 100_000 + b', "declared"', 1)

    (tmp_path / "model").write_bytes(rewritten(contents["naive Bayes"], deep))
    with pytest.raises(ModelFileError):
        suffice.load(tmp_path / "model")
