"""Text: both event models by hand, equality with scikit-learn, and what is left out, weighted or complemented."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from suffice import DirichletPrior, NaiveBayes, PseudoCount, Text
from suffice.families.text.cells import LENGTH
from suffice.statistics.responsibilities import Labels

MAILS = ["buy cheap pills now", "cheap pills", "meeting at noon", "notes of the meeting", "cheap notes"]
KINDS = ["spam", "spam", "ham", "ham", "ham"]
NEW = ["cheap meeting meeting", "pills", "nothing known", ""]


def _random_documents(seed, n=120):
    rng = np.random.default_rng(seed)
    words = np.array([f"word{number}" for number in range(40)])
    y = rng.integers(0, 3, n)
    p = rng.dirichlet(np.full(len(words), 0.3), size=3)
    return [" ".join(rng.choice(words, rng.integers(0, 30), p=p[c])) for c in y], y


def test_a_word_per_position_by_hand():
    model = NaiveBayes("text").fit(MAILS, KINDS)
    # V = 10 words; spam: buy, cheap ×2, pills ×2, now: 6 words; ham: 9 words, of which one is cheap, two are meeting
    spam = 2 / 5 * (2 + 1) / (6 + 10) * ((0 + 1) / (6 + 10)) ** 2
    ham = 3 / 5 * (1 + 1) / (9 + 10) * ((2 + 1) / (9 + 10)) ** 2
    assert model.predict_proba(["cheap meeting meeting"])[0] == pytest.approx([ham / (ham + spam), spam / (ham + spam)])
    assert model.score_samples(["cheap meeting meeting"])[0] == pytest.approx(np.log(ham + spam))  # no coefficient


def test_the_presence_of_each_word_by_hand():
    model = NaiveBayes(Text("bernoulli")).fit(["aa bb", "aa aa cc", "bb", "bb cc"], ["x", "x", "y", "y"])
    p = {"x": {"aa": 3 / 4, "bb": 2 / 4, "cc": 2 / 4}, "y": {"aa": 1 / 4, "bb": 3 / 4, "cc": 2 / 4}}
    x = 0.5 * p["x"]["aa"] * (1 - p["x"]["bb"]) * (1 - p["x"]["cc"])
    y = 0.5 * p["y"]["aa"] * (1 - p["y"]["bb"]) * (1 - p["y"]["cc"])
    assert np.exp(model.predict_joint_log_proba(["aa aa unknown"])[0]) == pytest.approx([x, y])


def test_a_missing_document_drops_out_and_an_empty_one_has_no_words():
    documents, kinds = [*MAILS, None, ""], [*KINDS, "spam", "ham"]
    plain, presence = NaiveBayes("text").fit(documents, kinds), NaiveBayes(Text("bernoulli")).fit(documents, kinds)
    np.testing.assert_array_equal(plain.statistics_.joint.blocks[0].count[:, 0], [4, 2])
    for model in (plain, presence):
        assert model.predict_proba([None])[0] == pytest.approx(model.class_prior_)
        assert model.score_samples([None]) == pytest.approx(0.0)
    assert plain.predict_proba([""])[0] == pytest.approx(plain.class_prior_)
    p = presence.distributions_[0].probability
    absent = presence.class_prior_ * (1 - p).prod(1)
    assert np.exp(presence.predict_joint_log_proba([""])[0]) == pytest.approx(absent)


def test_unknown_words_are_ignored():
    for family in (Text(), Text("bernoulli")):
        model = NaiveBayes(family).fit(MAILS, KINDS)
        np.testing.assert_allclose(model.predict_proba(["cheap xyzzy"]), model.predict_proba(["cheap"]))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_estimates_are_those_of_scikit_learn(seed, alpha):
    documents, y = _random_documents(seed)
    vectorizer = CountVectorizer(token_pattern=r"\w\w+").fit(documents)
    counts = vectorizer.transform(documents)
    for family, theirs in (
        (Text(), MultinomialNB(alpha=alpha)),
        (Text("bernoulli"), BernoulliNB(alpha=alpha)),
        (Text(complement=True), ComplementNB(alpha=alpha)),
    ):
        prior = "uniform" if family.complement else "empirical"  # ComplementNB has no class prior
        mine = NaiveBayes(family, prior=alpha, class_prior=prior).fit(documents, y)
        expected = theirs.fit(counts, y).predict_proba(counts)
        np.testing.assert_allclose(mine.predict_proba(documents), expected, rtol=1e-9, atol=1e-12)


def test_rare_and_less_frequent_words_are_left_out_of_the_estimate_but_not_of_the_statistics():
    whole = NaiveBayes("text").fit(MAILS, KINDS).statistics_
    for family, kept in ((Text(min_count=2), {"cheap", "pills", "meeting", "notes"}), (Text(max_words=1), {"cheap"})):
        model = NaiveBayes(family).fit(MAILS, KINDS)
        same = NaiveBayes.from_statistics(whole, families=family)
        only = [" ".join(word for word in mail.split() if word in kept) for mail in MAILS]
        expected = NaiveBayes("text").fit(only, KINDS).predict_proba(NEW)
        for found in (model, same):
            np.testing.assert_allclose(found.predict_proba(NEW), expected, rtol=1e-12)
        assert model.distributions_[0].n_words == len(kept)
        assert model.statistics_.joint.blocks[0].total.sum() == 15


def test_words_as_frequent_as_the_last_one_are_kept():
    model = NaiveBayes(Text(max_words=2)).fit(["aa bb", "aa cc"], [0, 1])
    assert model.distributions_[0].n_words == 3


def test_the_statistics_serve_both_event_models_but_no_other_weighting():
    statistics = NaiveBayes("text").fit(MAILS, KINDS).statistics_
    other = NaiveBayes.from_statistics(statistics, families=Text("bernoulli"))
    np.testing.assert_allclose(
        other.predict_proba(NEW), NaiveBayes(Text("bernoulli")).fit(MAILS, KINDS).predict_proba(NEW)
    )
    for family in (Text(weighting="tf-idf"), Text(ngrams=2), Text(lowercase=False)):
        with pytest.raises(ValueError, match="refit"):
            NaiveBayes.from_statistics(statistics, families=family)


def test_weights_of_words_by_hand():
    documents, y = ["aa aa bb", "bb cc", "bb"], [0, 1, 1]
    model = NaiveBayes(Text(weighting="tf-idf"), prior=1.0).fit(documents, y)
    logs = np.array([[np.log(3), np.log(2), 0], [0, np.log(2), np.log(2)], [0, np.log(2), 0]])
    cells = LENGTH * logs / logs.sum(1, keepdims=True)
    rare = np.log(3 / np.array([1, 3, 1])) ** 2  # bb is in every document
    weight = rare * cells.sum() / (cells @ rare).sum()
    sums = np.array([cells[0], cells[1:].sum(0)]) * weight
    p = (sums + (weight > 0)) / (sums + (weight > 0)).sum(1, keepdims=True)
    found = model.distributions_[0]
    np.testing.assert_allclose(found.word_weight, weight)
    np.testing.assert_allclose(found.probability, p)
    unknown = LENGTH * np.log(2) / (2 * np.log(2)) * weight[0] * np.log(p[:, 0])  # the unknown word counts as length
    np.testing.assert_allclose(model.predict_joint_log_proba(["aa zz"])[0], np.log([1 / 3, 2 / 3]) + unknown)


def test_documents_of_weighted_models_count_the_same_whatever_their_length():
    model = NaiveBayes(Text(weighting="tf-idf")).fit([*MAILS, MAILS[0] + " " + MAILS[0]], [*KINDS, "spam"])
    total = model.statistics_.joint.blocks[0].total.sum(1)
    np.testing.assert_allclose(total, LENGTH * np.array([3, 3]))


@pytest.mark.parametrize("family", [Text(), Text("bernoulli"), Text(weighting="tf-idf"), Text(ngrams=(1, 2))])
def test_batches_and_merged_parts_give_the_model_of_all_documents(family):
    documents, y = _random_documents(3)
    whole = NaiveBayes(family).fit(documents, y)
    batches = NaiveBayes(family)
    for start in range(0, len(documents), 25):
        batches.partial_fit(documents[start : start + 25], y[start : start + 25])
    parts = [NaiveBayes(family).fit(documents[i::2], y[i::2]).statistics_ for i in (0, 1)]
    merged = NaiveBayes.from_statistics(parts[1] + parts[0])
    forgotten = NaiveBayes.from_statistics(whole.statistics_ - parts[1])
    for model in (batches, merged):
        np.testing.assert_allclose(model.predict_proba(documents), whole.predict_proba(documents), rtol=1e-9)
    expected = NaiveBayes(family).fit(documents[::2], y[::2]).predict_proba(documents)
    np.testing.assert_allclose(forgotten.predict_proba(documents), expected, rtol=1e-9)


def test_maximum_likelihood_rules_out_classes_without_a_word():
    model = NaiveBayes("text", prior=None).fit(MAILS, KINDS)
    np.testing.assert_array_equal(model.predict_proba(["pills", "meeting"]), [[0, 1], [1, 0]])
    with pytest.warns(UserWarning, match="rule out every class"):
        np.testing.assert_allclose(model.predict_proba(["pills meeting"])[0], model.class_prior_)
    presence = NaiveBayes(Text("bernoulli"), prior=None).fit(["aa bb", "aa", "bb"], [0, 0, 1])
    with pytest.warns(UserWarning, match="rule out every class"):  # class 0 always has aa, class 1 never
        presence.predict_proba(["aa", "bb", ""])
    np.testing.assert_array_equal(presence.predict_proba(["aa", "bb"]), [[1, 0], [0, 1]])


def test_maximum_likelihood_needs_words_in_every_class():
    with pytest.raises(ValueError, match="prior='auto'"):
        NaiveBayes("text", prior=None).fit(["aa", ""], [0, 1])
    with pytest.raises(ValueError, match="complement=True needs a prior"):
        NaiveBayes(Text(complement=True), prior=None).fit(MAILS, KINDS)


def test_scores_of_complement_models_are_not_densities():
    model = NaiveBayes(Text(complement=True)).fit(MAILS, KINDS)
    assert model.predict(["pills"]).tolist() == ["spam"]
    for call in (model.score_samples, model.predict_joint_log_proba):
        with pytest.raises(ValueError, match="complement=False"):
            call(NEW)
    with pytest.raises(ValueError, match="rows without labels"):
        NaiveBayes(Text(complement=True), missing_label=None).fit(MAILS, ["spam", None, "ham", None, None])


def test_the_predictive_of_a_document_is_dirichlet_multinomial():
    posterior = Text().posterior(["aa bb aa"], DirichletPrior(1.0))
    np.testing.assert_allclose(posterior.mean(), [[3 / 5, 2 / 5]])
    one = posterior.predictive()
    assert one.log_prob(["aa aa"])[0] == pytest.approx(np.log(3 / 5 * 4 / 6))  # a word comes again more easily
    assert posterior.log_evidence()[0] == pytest.approx(np.log(1 / 2 * 1 / 3 * 2 / 4))
    grown = posterior.update(["cc"])
    np.testing.assert_allclose(grown.mean(), [[3 / 7, 2 / 7, 2 / 7]])
    presence = Text("bernoulli").posterior(["aa bb", "aa"], PseudoCount(1.0))
    np.testing.assert_allclose(presence.mean(), [[3 / 4, 2 / 4]])
    assert presence.predictive().log_prob(["aa"])[0] == pytest.approx(np.log(3 / 4 * 2 / 4))


@pytest.mark.parametrize("family", [Text(weighting="tf-idf"), Text(complement=True)])
def test_weighted_counts_have_no_posterior(family):
    with pytest.raises(ValueError, match="no conjugate prior"):
        NaiveBayes(family, estimate="predictive").fit(MAILS, KINDS)


def test_a_distribution_by_itself_learns_scores_and_draws_documents():
    mails = Text().fit(["buy buy now", "buy"])
    np.testing.assert_allclose(mails.probability, [0.75, 0.25])
    assert mails.log_prob(["now buy"])[0] == pytest.approx(np.log(0.75 * 0.25))
    drawn = mails.sample(200, random_state=0)
    assert set(" ".join(drawn).split()) == {"buy", "now"}
    assert np.mean([len(document.split()) for document in drawn]) == pytest.approx(2.0, abs=0.4)
    assert "Text" in repr(mails)


def test_counts_may_be_given_in_place_of_documents():
    counts = np.array([[2, 1], [0, 1]])
    for rows in (counts, csr_array(counts)):
        bags = Text().encode(rows)
        sums = Text().statistics(bags, Labels(np.array([0, 1]), None, 2))
        np.testing.assert_array_equal(sums.total, counts)
        np.testing.assert_array_equal(sums.documents, counts > 0)
    with pytest.raises(TypeError, match="fit it on documents"):
        Text().encode(["buy now"])


def test_words_are_counted_in_buckets_without_a_dictionary():
    documents, y = _random_documents(5)
    model = NaiveBayes(Text(buckets=2**12)).fit(documents, y)
    assert model.schema_.categories == {}
    np.testing.assert_allclose(
        model.predict(documents), NaiveBayes("text").fit(documents, y).predict(documents)
    )  # few collisions
    half = NaiveBayes(Text(buckets=2**12)).partial_fit(documents[:50], y[:50]).partial_fit(documents[50:], y[50:])
    np.testing.assert_allclose(half.predict_proba(documents), model.predict_proba(documents), rtol=1e-9)
    assert model.top_words(1)[0][0][0].startswith("bucket ")
    with pytest.raises(ValueError, match="documents can be drawn"):
        model.sample(1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"counts": "gaussian"}, "counts must be"),
        ({"weighting": "bm25"}, "weighting must be"),
        ({"counts": "bernoulli", "complement": True}, "counts='multinomial'"),
        ({"counts": "bernoulli", "weighting": "tf-idf"}, "counts='multinomial'"),
        ({"ngrams": 0}, "ngrams"),
        ({"ngrams": (2, 1)}, "ngrams"),
        ({"ngrams": "two"}, "ngrams"),
        ({"min_count": 0}, "min_count"),
        ({"max_words": 2.5}, "max_words"),
        ({"buckets": True}, "buckets"),
        ({"tokens": "split"}, "tokens"),
        ({"lowercase": "yes"}, "lowercase"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        Text(**settings)


def test_families_with_the_same_settings_are_equal_and_say_what_differs_from_the_defaults():
    assert Text(ngrams=2) == Text(ngrams=(1, 2))
    assert hash(Text(ngrams=2)) == hash(Text(ngrams=(1, 2)))
    assert Text() != Text("bernoulli")
    assert repr(Text("bernoulli", min_count=3)) == "Text(counts='bernoulli', min_count=3)"


def test_the_mode_of_the_posterior_adds_one_observation_less():
    plain = NaiveBayes("text", prior=2.0, estimate="map").fit(MAILS, KINDS)
    laplace = NaiveBayes("text", prior=1.0).fit(MAILS, KINDS)
    np.testing.assert_allclose(plain.distributions_[0].probability, laplace.distributions_[0].probability)
    presence = NaiveBayes(Text("bernoulli"), prior=3.0, estimate="map").fit(MAILS, KINDS)
    expected = NaiveBayes(Text("bernoulli"), prior=2.0).fit(MAILS, KINDS)
    np.testing.assert_allclose(presence.distributions_[0].probability, expected.distributions_[0].probability)
    with pytest.raises(ValueError, match="at least 1"):
        NaiveBayes("text", prior=0.5, estimate="map").fit(MAILS, KINDS)
