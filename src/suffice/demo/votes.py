"""The first table: the votes of 435 members of the House in 1984, as strings with missing values."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from suffice.demo.contest import Contest, Entry
from suffice.estimators import NaiveBayes

#: the subjects of the votes V1 to V16
BILLS = (
    "handicapped infants",
    "water project",
    "budget resolution",
    "physician fee freeze",
    "El Salvador aid",
    "religion in schools",
    "anti-satellite ban",
    "aid to Contras",
    "MX missile",
    "immigration",
    "synfuels cutback",
    "education spending",
    "superfund to sue",
    "crime",
    "duty-free exports",
    "export to S. Africa",
)


def read_votes() -> Any:
    """Return the votes as an Arrow table: the party, and y, n or null per bill."""
    import pyarrow.csv

    with (files("suffice") / "data" / "housevotes84.csv").open("rb") as file:
        table = pyarrow.csv.read_csv(file, convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True))
    return table.rename_columns(["party", *BILLS])


def votes_contest(split: int = 0) -> Contest:
    """Train our model and scikit-learn's on the same rows, and predict the other rows."""
    table = read_votes()
    party = np.array(table["party"].to_pylist())
    table = table.drop_columns(["party"])
    train, test = train_test_split(np.arange(len(party)), test_size=0.4, stratify=party, random_state=split)
    X, new_X = table.take(train), table.take(test)

    model = NaiveBayes().fit(X, party[train])

    entries = [Entry("suffice NaiveBayes", "none: a missing vote adds nothing", model.predict_proba(new_X))]
    for name, preparation, pipeline in scikit_learn():
        pipeline.fit(as_objects(X), party[train])
        entries.append(Entry(name, preparation, pipeline.predict_proba(as_objects(new_X))))
    ones = np.ones(len(party))
    return Contest(X, new_X, party[train], party[test], ones[train], ones[test], model, tuple(entries))


def scikit_learn() -> list[tuple[str, str, Pipeline]]:
    """Return pipelines of scikit-learn's categorical naive Bayes with the two usual imputations of missing values."""
    values = [["?", "n", "y"]] * len(BILLS)
    return [
        (
            "sklearn CategoricalNB",
            "fill missing votes with the mode, encode words",
            make_pipeline(
                SimpleImputer(missing_values=None, strategy="most_frequent"), OrdinalEncoder(), CategoricalNB()
            ),
        ),
        (
            "sklearn CategoricalNB",
            "fill missing votes with a third value, encode",
            make_pipeline(
                SimpleImputer(missing_values=None, strategy="constant", fill_value="?"),
                OrdinalEncoder(categories=values),
                CategoricalNB(min_categories=3),
            ),
        ),
    ]


def as_objects(table: Any) -> Any:
    """Return an Arrow table as an array of objects, which scikit-learn's encoders read."""
    return np.array([column.to_pylist() for column in table.columns], dtype=object).T
