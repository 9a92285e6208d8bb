"""The score of a message: naive Bayes within fields, tempered so that many similar tokens do not dominate.

Each token t is a Bernoulli variable, seen in s of the S spams and in h of the H hams. With n = s + h, its rate
r = n/(S + H) among all messages and the same prior rate ε in both classes, its weight is

    w(t) = log ((s + m r)/(S + m) + ε) / ((h + m r)/(H + m) + ε) · n / (n + κ),      ε = α / ((S + H)/2),

the log-ratio of the posterior means of two Bernoulli probabilities, shrunk for tokens that were seen once or twice.
Each class starts with m pseudo-messages in which the token is as frequent as in all mail: if only twenty spams are
known, the absence of a rare ham token from them says little, and should not push verdicts to ham.
Plain naive Bayes adds these weights as if tokens were independent. They are not: a long message repeats the same
evidence hundreds of times. The tokens of one field (sender, route, subject, words, …) are therefore averaged, with more
weight on the most informative ones,

    E(f) = v(f) · Σ a w³ / Σ a w² · n / (n + c),      n = Σ w²,

and only fields are assumed independent: log-odds = Σ E(f). A logistic link turns them into a probability.

Here a = 1, unless one side outweighs the other. With n₊ = Σ w² over the tokens with evidence for spam and n₋ over the
others, a side counts at most MAJORITY times as much as the other side plus ALLOWED,

    a₊ = min(1, (MAJORITY n₋ + ALLOWED) / n₊),

and a₋ likewise: even if a message is padded with many ham words, its own words still count. Attachments and nested
messages are a separate field.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing NumPy would be too slow for a filter that is started for one message
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

#: the fields, each with the prefixes of its tokens and its weight v(f)
FIELDS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("sender", ("from", "reply-to", "sender", "return", "id"), 0.5),
    ("route", ("received",), 1.0),
    ("recipients", ("to",), 1.0),
    ("subject", ("subject",), 1.0),
    ("header", ("header", "mailer", "list", "type", "charset", "encoding", "disposition", "file"), 0.5),
    ("html", ("html", "hidden"), 0.5),
    ("words", ("long", "text"), 1.0),
    ("pairs", (), 1.0),
    ("links", ("url", "path"), 1.0),
    ("shape", ("shape",), 1.0),
    ("attached", ("attached",), 0.5),
    ("authentication", ("auth",), 1.0),
    ("day", ("day",), 0.0),  # stored with learned messages, but not evidence
)
FIELD_NAMES = tuple(name for name, _, _ in FIELDS)
_FIELD_OF_PREFIX = {prefix: number for number, (_, prefixes, _) in enumerate(FIELDS) for prefix in prefixes}
_WORDS, _PAIRS = FIELD_NAMES.index("words"), FIELD_NAMES.index("pairs")
_FIELD_WEIGHTS = [weight for _, _, weight in FIELDS]
#: limit in a field for the squared weights of one side: MAJORITY times those of the other side, plus ALLOWED
MAJORITY, ALLOWED = 2.0, 100.0


@dataclass(frozen=True)
class Scoring:
    """The settings of the score.

    Attributes
    ----------
    pseudo_count : float
        α, the pseudo-count of the prior rate of a token, in messages.
    common : float
        m, the number of pseudo-messages added to each class, with the token's rate among all messages.
    doubt : float
        κ, the number of messages that must hold a token for half of its weight to count.
    temper : float
        c, the sum of squared weights that a field must have for half of its evidence to count.
    slope, intercept : float
        The logistic link: probability = 1 / (1 + exp(−slope · log-odds − intercept)).
    """

    pseudo_count: float = 0.01
    common: float = 1.0
    doubt: float = 0.3
    temper: float = 30.0
    slope: float = 0.5
    intercept: float = 0.0

    def __post_init__(self) -> None:
        if not (self.pseudo_count > 0 and self.temper > 0 and self.doubt >= 0 and self.common >= 0):
            raise ValueError(
                "pseudo_count and temper must be positive, doubt and common not negative, but they are "
                f"{self.pseudo_count!r}, {self.temper!r}, {self.doubt!r} and {self.common!r}; leave out what need not "
                "differ from the defaults"
            )


@dataclass(frozen=True)
class Score:
    """The score of a message.

    Attributes
    ----------
    log_odds : float
        The sum of all evidence; positive values are evidence for spam.
    probability : float
        The probability of spam, after the logistic link.
    evidence : array of shape (number of tokens,)
        The contribution of each token to `log_odds`; 0 for tokens that were never seen.
    """

    log_odds: float
    probability: float
    evidence: NDArray[np.float64]


def field_of(token: str) -> int:
    """Return the index in `FIELD_NAMES` of the field of a token.

    Examples
    --------
    >>> from suffice.spam.scoring import FIELD_NAMES, field_of
    >>> [FIELD_NAMES[field_of(token)] for token in ("money", "free money", "from:@example.org")]
    ['words', 'pairs', 'sender']
    """
    if ":" in token:
        return _FIELD_OF_PREFIX.get(token[: token.find(":")], _WORDS)
    return _PAIRS if " " in token else _WORDS


def score(
    tokens: Sequence[str],
    in_spam: ArrayLike,
    in_ham: ArrayLike,
    spam_messages: float,
    ham_messages: float,
    scoring: Scoring = Scoring(),
) -> Score:
    """Return log-odds, probability and evidence of a message.

    Parameters
    ----------
    tokens : sequence of str
        The distinct tokens of the message.
    in_spam, in_ham : array of shape (number of tokens,)
        Number of training spams and hams that hold each token.
    spam_messages, ham_messages : float
        Number of training spams and hams. If either is zero, the log-odds are 0 and the probability is ½.
    scoring : Scoring
        The settings.

    Examples
    --------
    >>> from suffice.spam.scoring import score
    >>> result = score(["money", "meeting", "new"], [40, 1, 0], [2, 30, 0], 50, 50)
    >>> result.evidence.round(2)
    array([ 0.46, -0.63,  0.  ])
    >>> bool(result.log_odds == result.evidence.sum())
    True
    """
    import numpy as np

    s = np.asarray(in_spam, dtype=np.float64).tolist()
    h = np.asarray(in_ham, dtype=np.float64).tolist()
    parts = evidence(tokens, s, h, spam_messages, ham_messages, scoring)
    log_odds = math.fsum(parts)
    if spam_messages <= 0 or ham_messages <= 0:
        return Score(0.0, 0.5, np.array(parts))
    return Score(log_odds, logistic(scoring.slope * log_odds + scoring.intercept), np.array(parts))


def evidence(
    tokens: Iterable[str],
    in_spam: Iterable[float],
    in_ham: Iterable[float],
    spam_messages: float,
    ham_messages: float,
    scoring: Scoring = Scoring(),
) -> list[float]:
    """Return the contribution of each token to the log-odds, its part of E(f); arguments as in `score`."""
    return tempered(weighed(tokens, in_spam, in_ham, spam_messages, ham_messages, scoring), scoring)


def weighed(
    tokens: Iterable[str],
    in_spam: Iterable[float],
    in_ham: Iterable[float],
    spam_messages: float,
    ham_messages: float,
    scoring: Scoring,
) -> list[tuple[float, int]]:
    """Return w(t) and the field of each token; arguments as in `score`."""
    if spam_messages <= 0 or ham_messages <= 0:
        return [(0.0, _WORDS) for _ in tokens]
    rate = 2.0 * scoring.pseudo_count / (spam_messages + ham_messages)
    per_spam, per_ham = 1.0 / (spam_messages + scoring.common), 1.0 / (ham_messages + scoring.common)
    common, doubt, log = scoring.common / (spam_messages + ham_messages), scoring.doubt, math.log
    field_of_prefix = _FIELD_OF_PREFIX.get
    result = []
    for token, s, h in zip(tokens, in_spam, in_ham, strict=True):
        n = s + h
        if n > 0:
            shared = common * n
            weight = log(((s + shared) * per_spam + rate) / ((h + shared) * per_ham + rate)) * (n / (n + doubt))
        else:
            weight = 0.0
        # `field_of` inlined: calling it would take a third of the time
        prefixed = ":" in token
        field = field_of_prefix(token[: token.find(":")], _WORDS) if prefixed else (_PAIRS if " " in token else _WORDS)
        result.append((weight, field))
    return result


def tempered(weights: Sequence[tuple[float, int]], scoring: Scoring) -> list[float]:
    """Return v(f) a w³ / Σ a w² · n / (n + c) of the tokens of one message, given w and the field of each."""
    against, towards = [0.0] * len(FIELDS), [0.0] * len(FIELDS)
    for weight, field in weights:
        if weight > 0.0:
            towards[field] += weight * weight
        else:
            against[field] += weight * weight
    up, down = [], []
    for share, plus, minus in zip(_FIELD_WEIGHTS, towards, against, strict=True):
        most_plus, most_minus = MAJORITY * minus + ALLOWED, MAJORITY * plus + ALLOWED
        a_plus = most_plus / plus if plus > most_plus else 1.0
        a_minus = most_minus / minus if minus > most_minus else 1.0
        energy = plus + minus
        scale = (
            share * energy / ((a_plus * plus + a_minus * minus) * (energy + scoring.temper)) if energy > 0.0 else 0.0
        )
        up.append(a_plus * scale)
        down.append(a_minus * scale)
    return [weight * weight * weight * (up if weight > 0.0 else down)[field] for weight, field in weights]


def logistic(x: float) -> float:
    """Return 1 / (1 + e^−x), without overflow."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    return math.exp(x) / (1.0 + math.exp(x))
