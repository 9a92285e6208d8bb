"""python -m benchmarks.spam_buckets: buckets against plain multinomial naive Bayes, and what they cost in time.

20 Newsgroups by date, one bucket per group: the training part is learned, the test part judged. SpamAssassin's ham by
mailing list, all mail without a list in no bucket: a random half is learned, the other judged. The peer is
scikit-learn's CountVectorizer with MultinomialNB on the headers and texts of the same messages.
"""

from __future__ import annotations

import json
import re
import tarfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from benchmarks.newsgroups import ARCHIVE
from benchmarks.spam_corpus import corpus, plain_text
from suffice.spam import SpamFilter

#: the smallest number of messages of a mailing list that becomes a bucket
LIST_SIZE = 30
_LIST = re.compile(rb"^list-id:[^<]{0,200}<([^>\n]{1,100})>", re.IGNORECASE | re.MULTILINE)
Mail = tuple[list[bytes], list[str]]


def newsgroups() -> tuple[Mail, Mail]:
    """Return the messages and groups of the training and the test part."""
    parts: dict[bool, Mail] = {True: ([], []), False: ([], [])}
    with tarfile.open(ARCHIVE) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            if file is not None:
                part, group = member.name.split("/")[-3:-1]
                raws, names = parts["train" in part]
                raws.append(file.read())
                names.append(group)
    return parts[True], parts[False]


def mailing_lists(seed: int = 0) -> tuple[Mail, Mail]:
    """Return two random halves of SpamAssassin's ham with the mailing lists, "" for mail of none or of a small one."""
    raws, is_spam = corpus()
    hams = [raw for raw, spam in zip(raws, is_spam, strict=True) if not spam]
    found = [_LIST.search(raw.partition(b"\n\n")[0]) for raw in hams]
    lists = ["" if match is None else match[1].decode() for match in found]
    sizes = Counter(lists)
    names = [name if sizes[name] >= LIST_SIZE else "" for name in lists]
    order = np.random.default_rng(seed).permutation(len(hams))
    halves = np.array_split(order, 2)
    one, other = (([hams[i] for i in half], [names[i] for i in half]) for half in halves)
    return one, other


def trained(spam_filter: SpamFilter, mail: Mail) -> None:
    """Train messages to their buckets."""
    raws, names = mail
    for name in sorted(set(names)):
        chosen = [raw for raw, own in zip(raws, names, strict=True) if own == name]
        spam_filter.train_many(chosen, "ham", bucket=name)


def ours(train: Mail, test: Mail) -> dict[str, float]:
    """Return how buckets fare."""
    with SpamFilter() as spam_filter:
        began = time.perf_counter()
        trained(spam_filter, train)
        seconds = time.perf_counter() - began
        verdicts = list(spam_filter.score_many(test[0]))
    said = [verdict.bucket for verdict in verdicts]
    names = test[1]
    clear = [(word, own) for word, own in zip(said, names, strict=True) if word]
    return {
        **judged([verdict.buckets for verdict in verdicts], names),
        "clear": len(clear) / len(names),
        "clear and wrong": sum(word != own for word, own in clear) / max(1, len(clear)),
        "trained per second": len(train[0]) / seconds,
    }


def peer(train: Mail, test: Mail, alpha: float) -> dict[str, float]:
    """Return how multinomial naive Bayes fares."""
    words = CountVectorizer()
    counts = words.fit_transform(map(plain_text, train[0]))
    model = MultinomialNB(alpha=alpha).fit(counts, train[1])
    found = model.predict_proba(words.transform(map(plain_text, test[0])))
    return judged([dict(zip(model.classes_, row, strict=True)) for row in found], test[1])


def judged(probabilities: Sequence[dict[str, float]], names: Sequence[str]) -> dict[str, float]:
    """Return the accuracy and the log-loss of probabilities."""
    right = [max(each, key=lambda name: each[name]) == own for each, own in zip(probabilities, names, strict=True)]
    losses = [-np.log(max(each.get(own, 0.0), 1e-15)) for each, own in zip(probabilities, names, strict=True)]
    return {"accuracy": float(np.mean(right)), "log-loss": float(np.mean(losses))}


def rates(repeats: int = 3) -> dict[str, float]:
    """Return how many messages are scored per second, in one process, with as many buckets; medians."""
    raws, is_spam = corpus()
    (hams, names), _ = mailing_lists()
    spams = [raw for raw, spam in zip(raws, is_spam, strict=True) if spam]
    counts = (0, 3, 10, 100)
    filters: dict[int, SpamFilter] = {}
    for count in counts:
        filters[count] = SpamFilter()
        filters[count].train_many(spams[::2], "spam")
        if count:
            kinds = names if count == 10 else [f"bucket {i % count}" for i in range(len(hams))]
            trained(filters[count], (hams, kinds))
        else:
            filters[count].train_many(hams, "ham")
    mail = list(chain.from_iterable(zip(hams[:500], spams[:500], strict=False)))
    times: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(repeats):
        for count in counts:
            began = time.perf_counter()
            for _ in filters[count].score_many(mail, processes=1):
                pass
            times[count].append(len(mail) / (time.perf_counter() - began))
    for spam_filter in filters.values():
        spam_filter.close()
    return {f"{len(set(names) - {''}) if c == 10 else c} buckets": float(np.median(times[c])) for c in counts}


def main() -> None:
    """Print a line of JSON for each measurement."""
    for what, (train, test) in (("20 newsgroups", newsgroups()), ("mailing lists", mailing_lists())):
        kinds = len(set(train[1]))
        print(json.dumps({"data": what, "kinds": kinds, "train": len(train[0]), "test": len(test[0])}), flush=True)
        print(json.dumps({"suffice": ours(train, test)}), flush=True)
        for alpha in (1.0, 0.01):
            print(json.dumps({f"MultinomialNB(alpha={alpha:g})": peer(train, test, alpha)}), flush=True)
    print(json.dumps({"scored per second": rates()}), flush=True)


if __name__ == "__main__":
    main()
