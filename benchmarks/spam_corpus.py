"""Mail and SMS that spam filters are measured on, how they are cut into folds, and what is measured."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from suffice.spam import lines, read
from suffice.spam.headers import is_stamp

DATA = Path(__file__).parents[2] / "shared" / "data"


def corpus() -> tuple[list[bytes], np.ndarray]:
    """Return the raw messages of the SpamAssassin corpus and whether each is spam."""
    raws, labels = [], []
    with tarfile.open(DATA / "spamassassin" / "spamassassin_public.tar.xz") as tar:
        for member in sorted((m for m in tar.getmembers() if m.isfile()), key=lambda m: m.name):
            file = tar.extractfile(member)
            assert file is not None
            raws.append(file.read())
            labels.append("spam" in Path(member.name).parent.name)
    return raws, np.array(labels, dtype=int)


def sms() -> tuple[list[bytes], np.ndarray]:
    """Return the messages of the SMS Spam Collection and whether each is spam."""
    rows = [
        line.split(b"\t", 1) for line in (DATA / "sms_spam" / "SMSSpamCollection").read_bytes().split(b"\n") if line
    ]
    return list(lines(text for _, text in rows)), np.array([label == b"spam" for label, _ in rows], dtype=int)


def folds(y: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return the fold, 0 to 9, of each message; every fold has its share of either class."""
    rng = np.random.default_rng(seed)
    result = np.empty(len(y), dtype=int)
    for c in (0, 1):
        rows = np.flatnonzero(y == c)
        result[rng.permutation(rows)] = np.arange(len(rows)) % 10
    return result


def shuffled(count: int, seed: int) -> np.ndarray:
    """Return the order of a pass over all messages."""
    return np.random.default_rng(seed).permutation(np.arange(count))


def plain_text(raw: bytes) -> str:
    """Return headers and texts as they were decoded, HTML with its tags, without what other filters have stamped."""
    message = read(raw)
    headers = [f"{name}: {value}" for name, value in message.headers if not is_stamp(name)]
    return "\n".join([*headers, *(part.text for part in message.parts)])


def one_minus_auc(y: np.ndarray, scores: np.ndarray) -> float:
    """Return (1 − AUC) in per cent."""
    spams = y.sum()
    area = (rankdata(scores)[y == 1].sum() - spams * (spams + 1) / 2) / (spams * (len(y) - spams))
    return 100.0 * (1.0 - float(area))


def not_caught_at(y: np.ndarray, scores: np.ndarray, false_positives: int) -> int:
    """Return how many spams are at or below the lowest threshold that calls no more hams spam than given."""
    hams = np.sort(scores[y == 0])[::-1]
    return int((scores[y == 1] <= hams[false_positives]).sum())


def log_loss(y: np.ndarray, probabilities: np.ndarray, clip: float = 1e-6) -> float:
    """Return −mean log p(true class) in nats, probabilities kept between `clip` and 1 − `clip`."""
    p = np.clip(probabilities, clip, 1.0 - clip)
    return float(-np.mean(np.where(y == 1, np.log(p), np.log1p(-p))))
