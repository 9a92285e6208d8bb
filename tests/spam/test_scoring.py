"""What the tokens say: additive, symmetric, bounded, and silent about what is not known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import Bernoulli, PseudoCount
from suffice.spam import Scoring, score
from suffice.spam.scoring import FIELD_NAMES, field_of

COUNTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 80)), min_size=1, max_size=30)
KINDS = ["word", "two words", "subject:a", "from:b", "url:c", "received:d"]


def named(count):
    return [f"{KINDS[i % len(KINDS)]}{i}" for i in range(count)]


@given(COUNTS)
def test_evidence_adds_up_to_the_log_odds(counts):
    spam, ham = np.array(counts).T
    result = score(named(len(counts)), spam, ham, 50, 80)
    assert result.log_odds == pytest.approx(result.evidence.sum(), abs=1e-12)
    assert 0.0 <= result.probability <= 1.0
    assert np.isfinite(result.evidence).all()


@given(COUNTS)
def test_exchanging_the_classes_changes_the_sign(counts):
    spam, ham = np.array(counts).T
    there = score(named(len(counts)), spam, ham, 50, 80)
    back = score(named(len(counts)), ham, spam, 80, 50)
    np.testing.assert_allclose(there.evidence, -back.evidence, atol=1e-12)


@given(COUNTS, st.integers(1, 50))
def test_a_token_that_more_spams_hold_never_speaks_less_for_spam(counts, more):
    spam, ham = np.array(counts, dtype=float).T
    alone = [score(["word"], [spam[0] + extra], [ham[0]], 200, 80).log_odds for extra in (0, more)]
    assert alone[1] >= alone[0] - 1e-12


def test_the_weight_of_a_token_is_the_log_ratio_of_two_bernoulli_estimates():
    s, h, S, H, alpha = 7, 2, 40, 60, 0.01
    plain = Scoring(
        pseudo_count=alpha, common=0.0, doubt=0.0, temper=1e-12
    )  # one token, no tempering: the evidence is its weight
    # the same prior rate in both classes: α messages for every (S + H)/2
    p = []
    for seen, total in ((s, S), (h, H)):
        column = np.repeat([1.0, 0.0], [seen, total - seen])[:, None]
        p.append(Bernoulli().fit(column, prior=PseudoCount(alpha * 2 * total / (S + H))).probability[0])
    assert score(["word"], [s], [h], S, H, plain).log_odds == pytest.approx(np.log(p[0] / p[1]))


def test_a_token_seen_once_is_doubted():
    once = [score(["word"], [1], [0], 1000, 1000, Scoring(doubt=doubt)).log_odds for doubt in (0.0, 0.3, 3.0)]
    often = [score(["word"], [100], [0], 1000, 1000, Scoring(doubt=doubt)).log_odds for doubt in (0.0, 3.0)]
    assert once[0] > once[1] > once[2]
    assert often[1] > 0.9 * often[0]


def test_unknown_tokens_and_untaught_classes_say_nothing():
    assert score(["new", "words"], [0, 0], [0, 0], 10, 10).log_odds == 0.0
    assert score(["word"], [5], [0], 5, 0).log_odds == 0.0
    assert score(["word"], [5], [0], 5, 0).probability == 0.5
    assert score([], [], [], 10, 10).log_odds == 0.0


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r"temper must be positive.*0\.0"):
        Scoring(temper=0.0)


def test_repeating_a_verdict_within_a_field_does_not_shout_and_another_field_counts():
    one = score(["a"], [40], [1], 50, 50).log_odds
    many = score([f"a{i}" for i in range(300)], [40] * 300, [1] * 300, 50, 50).log_odds
    weight = np.log(40 / 1)
    assert one < many < weight
    both = score([f"a{i}" for i in range(300)] + ["subject:a"], [40] * 301, [1] * 301, 50, 50).log_odds
    assert both > many + 0.9 * one


def test_two_hundred_good_words_do_not_outweigh_the_other_fields():
    tokens = [f"from:{i}" for i in range(3)] + [
        "subject:pills",
        "url:pills.example",
        "received:x.example",
        "buy pills",
        "pills",
    ]
    spam = score(tokens, [30] * 8, [0] * 8, 100, 100).log_odds
    padded = score(
        tokens + [f"w{i}" for i in range(200)], [30] * 8 + [0] * 200, [0] * 8 + [30] * 200, 100, 100
    ).log_odds
    assert spam > padded > 0.4 * spam


def test_every_kind_of_token_has_its_field():
    kinds = {"a": "words", "a b": "pairs", "long:x 20": "words", "subject:a b": "subject", "received:a": "route",
    "to:a": "recipients",
             "id:a": "sender", "type:a": "header", "hidden:a": "html", "path:a": "links", "shape:id a": "shape",
             "other:a": "words"}  # fmt: skip
    assert {token: FIELD_NAMES[field_of(token)] for token in kinds} == kinds
