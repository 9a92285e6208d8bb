"""The course's mails as texts: from words to vectors, both event models, unseen words, what each word says."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from suffice import NaiveBayes, Text

MAILS = [
    "Free money! Free account, free money.",
    "money for your account, free",
    "claim the free prize",
    "The meeting is at noon",
    "thanks for the meeting notes",
    "lunch at noon? the account is free",
    "notes of the meeting",
]
KIND = np.array(["spam", "spam", "spam", "ham", "ham", "ham", "ham"])


def words(mail):
    """Return the words of a mail: runs of two or more letters, in small letters."""
    return re.findall(r"[a-z]{2,}", mail.lower())


DICTIONARY = sorted({word for mail in MAILS for word in words(mail)})
COUNTS = np.array([[words(mail).count(word) for word in DICTIONARY] for mail in MAILS], dtype=float)
PRESENT = (COUNTS > 0).astype(float)


def of_kind(table, kind):
    return table[kind == KIND]


def presence(smoothing=1):
    """Return φ of each class, (mails with the word + α) / (mails + 2α)."""
    return np.array(
        [(of_kind(PRESENT, c).sum(axis=0) + smoothing) / ((c == KIND).sum() + 2 * smoothing) for c in ("ham", "spam")]
    )


def shares(smoothing=1):
    """Return θ of each class, (occurrences of the word + α) / (words of the class + αV)."""
    totals = np.array([of_kind(COUNTS, c).sum(axis=0) + smoothing for c in ("ham", "spam")])
    return totals / totals.sum(axis=1, keepdims=True)


def test_a_mail_becomes_a_vector_over_the_words_of_the_dictionary():
    as_text = NaiveBayes(Text("bernoulli")).fit(MAILS, KIND)
    as_vectors = NaiveBayes("bernoulli").fit(PRESENT, KIND)
    assert as_text.predict_joint_log_proba(MAILS) == pytest.approx(
        as_vectors.predict_joint_log_proba(PRESENT), abs=1e-10
    )


def test_in_the_bernoulli_event_model_every_word_of_the_dictionary_speaks_present_or_absent():
    p, pi = presence(), np.array([4 / 7, 3 / 7])
    mail = "free lunch at the meeting"
    x = np.array([word in words(mail) for word in DICTIONARY])
    by_hand = np.log(pi) + np.array([np.log(np.where(x, row, 1 - row)).sum() for row in p])
    found = NaiveBayes(Text("bernoulli")).fit(MAILS, KIND).predict_joint_log_proba([mail])[0]
    assert found == pytest.approx(by_hand, abs=1e-10)


def test_the_presence_of_a_word_counts_once_however_often_it_occurs():
    model = NaiveBayes(Text("bernoulli")).fit(MAILS, KIND)
    assert model.predict_proba(["free free free"]) == pytest.approx(model.predict_proba(["free"]), abs=1e-12)


def test_in_the_multinomial_event_model_there_is_a_word_for_each_position():
    p, pi = shares(), [4 / 7, 3 / 7]
    mail = "free money, free money, meeting"
    by_hand = [math.log(pi[c]) + sum(math.log(p[c, DICTIONARY.index(word)]) for word in words(mail)) for c in (0, 1)]
    # a document is a sequence of words: unlike a row of counts, it has no multinomial coefficient
    found = NaiveBayes("text").fit(MAILS, KIND).predict_joint_log_proba([mail])[0]
    assert found == pytest.approx(by_hand, abs=1e-10)


def test_documents_and_rows_of_counts_have_the_same_posterior():
    documents = NaiveBayes("text").fit(MAILS, KIND).predict_proba(MAILS)
    counts = NaiveBayes("multinomial").fit(COUNTS, KIND).predict_proba(COUNTS)
    scores = np.log([4 / 7, 3 / 7]) + COUNTS @ np.log(shares()).T
    by_hand = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert documents == pytest.approx(by_hand, abs=1e-10)
    assert counts == pytest.approx(by_hand, abs=1e-10)


def test_documents_without_smoothing_are_counted_by_maximum_likelihood():
    (found,) = NaiveBayes("text", prior=None).fit(MAILS, KIND).distributions_
    assert sorted(found.probability[1]) == pytest.approx(sorted(shares(smoothing=0)[1]), abs=1e-12)
    assert found.probability.sum(axis=1) == pytest.approx([1.0, 1.0], abs=1e-12)


def test_a_word_that_is_not_in_the_dictionary_says_nothing():
    # the course gives it the probability 0, or 1/(n + V) after smoothing; the library leaves it out in all classes
    model = NaiveBayes("text").fit(MAILS, KIND)
    assert model.predict_proba(["free zebra"]) == pytest.approx(model.predict_proba(["free"]), abs=1e-12)


def test_a_mail_may_be_a_list_of_words_or_a_column_of_a_table():
    by_hand = NaiveBayes("text").fit(MAILS, KIND).predict_proba(MAILS)
    lists = [words(mail) for mail in MAILS]
    assert NaiveBayes("text").fit(lists, KIND).predict_proba(lists) == pytest.approx(by_hand, abs=1e-12)
    table = pd.DataFrame({"body": MAILS})
    assert NaiveBayes({"body": "text"}).fit(table, KIND).predict_proba(table) == pytest.approx(by_hand, abs=1e-12)


def test_the_words_of_a_mail_add_up_to_what_the_text_says():
    p, mail = shares(), "free money for the meeting"
    reasons = NaiveBayes("text").fit(MAILS, KIND).explain([mail], target="spam", against="ham")
    by_hand = {word: math.log(p[1, DICTIONARY.index(word)] / p[0, DICTIONARY.index(word)]) for word in words(mail)}
    found = {word: value for _, word, value in reasons.words(0)}
    assert found == pytest.approx(by_hand, abs=1e-10)
    assert reasons.contributions[0].sum() == pytest.approx(sum(by_hand.values()), abs=1e-10)
    assert reasons.log_odds[0] == pytest.approx(sum(by_hand.values()) + math.log(3 / 4), abs=1e-10)


def test_absent_words_speak_in_the_bernoulli_event_model():
    p, mail = presence(), "free money for the meeting"
    reasons = NaiveBayes(Text("bernoulli")).fit(MAILS, KIND).explain([mail], target="spam", against="ham")
    x = np.array([word in words(mail) for word in DICTIONARY])
    by_hand = np.where(x, np.log(p[1] / p[0]), np.log((1 - p[1]) / (1 - p[0])))
    assert reasons.contributions[0].sum() == pytest.approx(by_hand.sum(), abs=1e-10)
    said = {word: value for _, word, value in reasons.words(0)}
    assert said["money"] == pytest.approx(by_hand[DICTIONARY.index("money")], abs=1e-10)
    assert said["no 'account'"] == pytest.approx(by_hand[DICTIONARY.index("account")], abs=1e-10)


def test_the_words_that_are_concentrated_in_a_class_come_first():
    p = shares()
    told = NaiveBayes("text").fit(MAILS, KIND).top_words(3)
    for c, (kind, other) in enumerate((("ham", 1), ("spam", 0))):
        values = p[c] * np.log(p[c] / p[other])  # p log(p / q)
        best = np.argsort(-values)[:3]
        assert [value for _, value in told[kind]] == pytest.approx(values[best], abs=1e-10)
        assert told[kind][0][0] in {DICTIONARY[j] for j in np.flatnonzero(np.isclose(values, values.max()))}
