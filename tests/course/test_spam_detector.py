"""The course's personal spam detector: 500 mails, split into 400, 50 and 50, both event models, and a threshold."""

import math
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from suffice import NaiveBayes, PseudoCount, Text, threshold_curve
from suffice.spam import SpamFilter, mail_table, read, tokens
from suffice.spam.sample_mailbox import arriving, taught, write


@pytest.fixture(scope="module")
def mails(tmp_path_factory):
    """Return 500 mails of a synthetic mailbox as a table, the oldest first."""
    place = tmp_path_factory.mktemp("mails")
    found = [mail for seed in range(4) for mail in taught(seed)] + [
        mail for seed in range(2) for mail in arriving(seed)
    ]
    for folder in ("spam", "ham"):
        write(place / folder, [raw for raw, label in found if label == folder])
    return pd.DataFrame(mail_table(place)).sort_values("date", ignore_index=True)


@pytest.fixture(scope="module")
def parts(mails):
    """Return the parts for training, for validation and for the test."""
    return mails[:400], mails[400:450], mails[450:]


def words(text):
    """Return the words of a mail: runs of two or more letters, digits and underscores, in small letters."""
    return re.findall(r"\w\w+", text.lower())


def by_hand(train, test, counts, alpha):
    """Return the log-odds of spam of the test mails, by counting the words of the training mails."""
    spam = train["folder"] == "spam"
    seen = [[Counter(words(text)) for text in train["body"][spam == kind]] for kind in (False, True)]
    dictionary = sorted({word for kind in seen for bag in kind for word in bag})
    total = [sum(kind, Counter()) for kind in seen]
    n = [len(kind) for kind in seen]
    odds = np.full(len(test), math.log(n[1] / n[0]))
    if counts == "multinomial":
        size = [sum(kind.values()) + alpha * len(dictionary) for kind in total]
        weight = {w: math.log((total[1][w] + alpha) / size[1] * size[0] / (total[0][w] + alpha)) for w in dictionary}
        return odds + [sum(weight.get(word, 0.0) for word in words(text)) for text in test["body"]]
    within = [Counter(word for bag in kind for word in bag) for kind in seen]
    p = {w: [(within[k][w] + alpha) / (n[k] + 2 * alpha) for k in (0, 1)] for w in dictionary}
    absent = sum(math.log((1 - q[1]) / (1 - q[0])) for q in p.values())
    present = {w: math.log(q[1] / q[0]) - math.log((1 - q[1]) / (1 - q[0])) for w, q in p.items()}
    return odds + [absent + sum(present.get(word, 0.0) for word in set(words(text))) for text in test["body"]]


def test_mails_become_a_table_with_their_folder_as_class(mails):
    assert len(mails) == 500
    assert sorted(mails["folder"].unique()) == ["ham", "spam"]
    assert (mails["folder"] == "spam").sum() == 4 * 40 + 2 * 20
    assert {"subject", "body", "from"} <= set(mails.columns)


def test_the_mails_are_split_into_400_for_training_50_for_validation_and_50_for_the_test(parts):
    assert [len(part) for part in parts] == [400, 50, 50]
    train, validation, test = parts
    assert train["date"].max() <= validation["date"].min()
    assert validation["date"].max() <= test["date"].min()
    assert all(part["folder"].nunique() == 2 for part in parts)


@pytest.mark.parametrize("counts", ["bernoulli", "multinomial"])
def test_a_detector_by_naive_bayes_is_a_sum_over_words(parts, counts):
    train, _, test = parts
    model = NaiveBayes({"body": Text(counts)}, prior=PseudoCount(1)).fit(train[["body"]], train["folder"])
    log_odds = by_hand(train, test, counts, 1.0)
    assert model.decision_function(test[["body"]]) == pytest.approx(log_odds, abs=1e-8)
    assert (model.predict(test[["body"]]) == np.where(log_odds > 0, "spam", "ham")).all()


def test_smoothing_and_threshold_are_chosen_on_the_validation_part_and_tried_once_on_the_test(parts):
    train, validation, test = parts
    cost, chosen = [[0, 10], [1, 0]], []  # a good mail that is blocked costs ten times a spam that is not
    for alpha in (0.1, 1.0, 10.0):
        model = NaiveBayes({"body": Text("bernoulli")}, prior=PseudoCount(alpha)).fit(train[["body"]], train["folder"])
        curve = threshold_curve(model, validation[["body"]], validation["folder"], positive="spam", cost=cost)
        p = 1 / (1 + np.exp(-by_hand(train, validation, "bernoulli", alpha)))
        is_spam = (validation["folder"] == "spam").to_numpy()
        costs = [10 * ((p >= t) & ~is_spam).sum() + ((p < t) & is_spam).sum() for t in [*p, 1.1]]
        assert curve.cost.min() == min(costs)
        chosen.append((curve.cost.min(), alpha, curve.best, model))
    _, alpha, best, model = min(chosen, key=lambda each: each[0])
    found = model.set_params(threshold={"spam": best}).predict(test[["body"]])
    p = 1 / (1 + np.exp(-by_hand(train, test, "bernoulli", alpha)))
    assert (found == np.where(p >= best, "spam", "ham")).all()
    assert (found == test["folder"]).mean() > 0.8


MAILS = [
    (b"Subject: Prize\n\nClaim your free money now", "spam"),
    (b"Subject: Free\n\nFree money, free prize", "spam"),
    (b"Subject: Lunch\n\nShall we meet at noon", "ham"),
    (b"Subject: Notes\n\nThe notes of the meeting at noon", "ham"),
    (b"Subject: Account\n\nYour account is free now", "ham"),
]


def test_plain_naive_bayes_can_be_compared_with_the_rule_of_the_filter():
    # the filter itself has no prior odds, counts no absent words, and averages within fields
    new = b"Subject: Free lunch\n\nClaim the prize at noon"
    with SpamFilter() as spam_filter:
        for raw, label in MAILS:
            spam_filter.train(raw, label)
        plain = spam_filter.evaluate([new], ["spam"], rule="naive-bayes").probabilities[0]
        own = spam_filter.evaluate([new], ["spam"]).probabilities[0]
    seen = {kind: [set(tokens(read(raw))) for raw, label in MAILS if label == kind] for kind in ("spam", "ham")}
    log_odds = math.log(2 / 3)  # log S/H
    for token in set.union(*seen["spam"], *seen["ham"]):
        p = (sum(token in mail for mail in seen["spam"]) + 1) / (2 + 2)
        q = (sum(token in mail for mail in seen["ham"]) + 1) / (3 + 2)
        log_odds += math.log(p / q) if token in tokens(read(new)) else math.log((1 - p) / (1 - q))
    assert plain == pytest.approx(1 / (1 + math.exp(-log_odds)), abs=1e-9)
    assert own != pytest.approx(plain, abs=1e-2)


def test_plain_naive_bayes_on_the_counts_of_the_filter_is_the_bernoulli_event_model():
    raws, labels = zip(*taught(), strict=True)
    new, kinds = zip(*arriving(), strict=True)
    with SpamFilter() as spam_filter:
        spam_filter.train_many(raws, labels)
        found = spam_filter.evaluate(new, kinds, rule="naive-bayes").probabilities

    def held(raw):
        return [token for token in tokens(read(raw)) if not token.startswith(("attached:", "day:"))]

    model = NaiveBayes(Text("bernoulli", tokens=str.splitlines, lowercase=False))
    model.fit(["\n".join(held(raw)) for raw in raws], labels)
    np.testing.assert_allclose(found, model.predict_proba(["\n".join(held(raw)) for raw in new])[:, 1], rtol=1e-8)
