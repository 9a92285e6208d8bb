"""The second table: numbers, booleans and strings with missing values and weights, from a data set of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from suffice._arrays import FloatArray
from suffice.demo.contest import Contest, Entry
from suffice.estimators import NaiveBayes

SEED = 0
MISSING = 0.1
#: the columns turned into strings and booleans, of the ten means in the Wisconsin breast cancer data
WORDS = ("radius", "concavity")
BOOLEANS = ("texture", "symmetry")
SIZES = ("low", "middle", "high")


def make_mixed() -> tuple[Any, NDArray[Any], FloatArray]:
    """Return the table, the diagnoses and the weights; two columns become strings, two booleans, 10 % are missing."""
    import pyarrow as pa

    data = load_breast_cancer()
    rng = np.random.default_rng(SEED)
    columns = {}
    for j in range(10):
        name = str(data.feature_names[j]).removeprefix("mean ")
        numbers = data.data[:, j]
        lost = rng.random(len(numbers)) < MISSING
        if name in WORDS:
            thirds = np.quantile(numbers, [1 / 3, 2 / 3])
            columns[name] = pa.array(np.array(SIZES)[np.searchsorted(thirds, numbers)].tolist(), mask=lost)
        elif name in BOOLEANS:
            columns[f"high {name}"] = pa.array(numbers > np.median(numbers), mask=lost)
        else:
            columns[name] = pa.array(numbers, mask=lost)
    weight = rng.integers(1, 4, size=len(data.target)).astype(np.float64)
    return pa.table(columns), data.target_names[data.target], weight


def mixed_contest(split: int = 0) -> Contest:
    """Train our model and scikit-learn's on the same rows and weights, and predict the other rows."""
    table, diagnosis, weight = make_mixed()
    train, test = train_test_split(np.arange(len(diagnosis)), test_size=0.4, stratify=diagnosis, random_state=split)
    X, new_X = table.take(train), table.take(test)

    model = NaiveBayes().fit(X, diagnosis[train], sample_weight=weight[train])

    entries = [Entry("suffice NaiveBayes", "none: each type has its family", model.predict_proba(new_X))]
    kinds = [str(field.type) for field in table.schema]
    for preparation, pipeline in scikit_learn(kinds):
        pipeline.fit(as_objects(X), diagnosis[train], gaussiannb__sample_weight=weight[train])
        entries.append(Entry("sklearn GaussianNB", preparation, pipeline.predict_proba(as_objects(new_X))))
    return Contest(
        X,
        new_X,
        diagnosis[train],
        diagnosis[test],
        weight[train],
        weight[test],
        model,
        tuple(entries),
    )


def scikit_learn(kinds: list[str]) -> list[tuple[str, Pipeline]]:
    """Return pipelines of scikit-learn's Gaussian naive Bayes with the two usual encodings of strings."""
    numbers, words, booleans = (
        [j for j, kind in enumerate(kinds) if kind == name] for name in ("double", "string", "bool")
    )

    def pipeline(encoder: Any) -> Pipeline:
        fill = SimpleImputer(missing_values=None, strategy="most_frequent")
        return make_pipeline(
            make_column_transformer(
                (SimpleImputer(strategy="median"), numbers),
                (make_pipeline(fill, encoder), words),
                (make_pipeline(fill, OrdinalEncoder()), booleans),
            ),
            GaussianNB(),
        )

    return [
        ("fill with medians, modes; one-hot encode words", pipeline(OneHotEncoder(sparse_output=False))),
        (
            "fill with medians, modes; ordinal-encode words",
            pipeline(OrdinalEncoder(categories=[list(SIZES)] * len(words))),
        ),
    ]


def as_objects(table: Any) -> Any:
    """Return an Arrow table as an array of objects: NaN for missing numbers, None for missing strings and booleans."""
    rows = np.empty((table.num_rows, table.num_columns), dtype=object)
    for j, column in enumerate(table.columns):
        cells = column.to_pylist()
        rows[:, j] = [np.nan if cell is None else cell for cell in cells] if column.type == "double" else cells
    return rows
