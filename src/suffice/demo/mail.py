"""The last part of the demo: a spam filter, trained on the synthetic mail of a fictitious person."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from suffice.demo.drawing import WIDTH, bar
from suffice.spam import SpamFilter, Verdict, read
from suffice.spam.sample_mailbox import arriving, taught

if TYPE_CHECKING:
    from suffice.spam.evaluation import Evaluation
    from suffice.spam.tuning import Tuning

#: the number of tokens that an explanation names
TOKENS = 10
#: the thresholds at which the trade-off is shown
THRESHOLDS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
_SPAM, _HAM = "red", "green"


@dataclass(frozen=True)
class Post:
    """The training mail, the mail that arrived later, and the verdicts of the filter on it.

    Attributes
    ----------
    taught : Counter of labels
    messages : list of bytes
        The messages that arrived.
    labels : list of "spam" or "ham"
        The true labels, which the filter does not see.
    verdicts : list of Verdict
        The verdicts with the default thresholds.
    tuning : Tuning
        The thresholds tuned by leave-one-out over the training mail, after the verdicts.
    tuned : Evaluation
        The evaluation of the tuned filter on the messages that arrived.
    """

    taught: Counter[str]
    messages: list[bytes]
    labels: list[str]
    verdicts: list[Verdict]
    tuning: Tuning
    tuned: Evaluation

    def counts(self) -> Counter[tuple[str, str]]:
        """Return the number of messages per class and verdict."""
        return Counter(zip(self.labels, (verdict.label for verdict in self.verdicts), strict=True))

    def wrong(self) -> list[int]:
        """Return the indices of the messages whose verdict is the wrong class."""
        pairs = enumerate(zip(self.labels, self.verdicts, strict=True))
        return [i for i, (label, verdict) in pairs if verdict.label not in (label, "unsure")]

    def closest_call(self) -> int:
        """Return the index of the message whose probability is nearest to a half."""
        return min(range(len(self.verdicts)), key=lambda i: abs(self.verdicts[i].probability - 0.5))


def make_post(seed: int = 0) -> Post:
    """Train a filter in memory, and score the mail that arrives later."""
    known, new = list(taught(seed)), list(arriving(seed))
    messages, labels = [raw for raw, _ in new], [label for _, label in new]
    with SpamFilter() as spam_filter:
        spam_filter.train_many([raw for raw, _ in known], [label for _, label in known], processes=1)
        said = list(spam_filter.score_many(messages, processes=1))
        tuning = spam_filter.tune()
        tuned = spam_filter.evaluate(messages, labels, processes=1)
    return Post(Counter(label for _, label in known), messages, list(labels), said, tuning, tuned)


def verdicts(post: Post) -> Table:
    """Draw a table of the number of messages per class and verdict."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("it is", no_wrap=True)
    for name in ("called spam", "unsure", "called ham"):
        table.add_column(name, justify="right", no_wrap=True)
    counts = post.counts()
    for label, style in (("spam", _SPAM), ("ham", _HAM)):
        cells = [str(counts[label, said]) for said in ("spam", "unsure", "ham")]
        table.add_row(Text(f"{label} ({post.labels.count(label)})", style=style), *cells)
    return table


def weighed(post: Post, number: int, width: int) -> Panel:
    """Draw the contributions of a message's tokens to its log-odds: to the right for spam, to the left against."""
    verdict, message = post.verdicts[number], read(post.messages[number])
    half = 20 if width >= WIDTH else 12
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column("", no_wrap=True, min_width=30, max_width=40)
    table.add_column("", justify="right", no_wrap=True, min_width=7)
    heading = Text.assemble(("◀ ham ".rjust(half), _HAM), " ", (" spam ▶".ljust(half), _SPAM))
    table.add_column(heading, no_wrap=True)
    terms = [(token, round(value, 2)) for token, value in verdict.evidence[:TOKENS]]
    total = round(verdict.log_odds, 2)
    # the rest includes the rounding, so that the printed numbers add up
    rest = round(total - sum(value for _, value in terms), 2) + 0.0
    terms.append((f"the other {len(verdict.evidence) - len(terms)} tokens", rest))
    scale = max(abs(value) for _, value in terms) or 1.0
    for token, value in terms:
        table.add_row(Text(token), f"{value:+.2f}", bar(value / scale, half, _HAM, _SPAM))
    table.add_row("", "───────", "")
    table.add_row("sum = log-odds", f"{total:+.2f}", "", style="bold")
    return Panel(
        table,
        title=Text(
            f"“{message.header('subject')}”, the least certain: {verdict.label}, actually {post.labels[number]}"
        ),
        title_align="left",
        subtitle=Text(f"p(spam) = {verdict.probability:.3f}"),
        subtitle_align="right",
        width=width,
    )


def trade_off(post: Post) -> Table:
    """Draw the number of hams lost and of spams not caught, per threshold."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("spam from", justify="right", no_wrap=True)
    table.add_column("hams lost", no_wrap=True)
    table.add_column("spams not caught", no_wrap=True)
    pairs = [(verdict.probability, label) for verdict, label in zip(post.verdicts, post.labels, strict=True)]
    for threshold in THRESHOLDS:
        lost = sum(label == "ham" and p >= threshold for p, label in pairs)
        missed = sum(label == "spam" and p < threshold for p, label in pairs)
        table.add_row(f"{threshold:.2f}", _count(lost, _SPAM), _count(missed, "yellow"))
    return table


def _count(number: int, style: str) -> Text:
    return Text.assemble(f"{number:2} ", ("█" * number, style))
