"""The demo from start to end; every number in it is computed while it runs."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from suffice.demo.contest import Contest, over_splits
from suffice.demo.drawing import WIDTH, columns_of, reasons, reliability, scores
from suffice.demo.mail import Post, make_post, trade_off, verdicts, weighed
from suffice.demo.mixed import MISSING, mixed_contest
from suffice.demo.votes import votes_contest
from suffice.estimators import NaiveBayes
from suffice.spam import read

CODE = """\
from suffice import NaiveBayes

# numbers, booleans and words, with missing values and weights: one call
model = NaiveBayes().fit(table, labels, sample_weight=weights)
model.predict_proba(new_rows)
model.explain(new_rows)  # adds up to the log-odds

# forget some rows: subtract their sums
NaiveBayes.from_statistics(model.statistics_ - theirs.statistics_)

# a spam filter with a store of its own; `suffice spam demo` opens its page on this mailbox
from suffice.spam import SpamFilter

spam_filter = SpamFilter.open("spam.sqlite")
spam_filter.train_many(messages, labels)
spam_filter.score(message).evidence
"""
FORGOTTEN = 50
#: the number of random splits on which all models are evaluated; explanations and calibration show the first
SPLITS = 10


def run(console: Console | None = None) -> None:
    """Show the demo on a console, the terminal by default."""
    if console is None:
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = WIDTH
    _opening(console)
    votes = [votes_contest(split) for split in range(SPLITS)]
    _votes(console, votes)
    mixed = [mixed_contest(split) for split in range(SPLITS)]
    _mixed(console, mixed)
    _why(console, votes[0], mixed[0])
    _forgetting(console, mixed[0])
    _mail(console, make_post())
    _heading(console, "6  The code")
    console.print(Syntax(CODE, "python", theme="ansi_dark", background_color="default", word_wrap=False))


def _width(console: Console) -> int:
    return min(console.width, WIDTH)


def _opening(console: Console) -> None:
    console.print()
    console.print(Text.assemble(("suffice", "bold cyan"), "  generative learning from sufficient statistics"))
    _say(
        console,
        "A generative model of each class, p(x, y) = p(y) p(x | y). One pass over a table computes sums, and the sums "
        "give predictions, explanations and the exact removal of rows.",
    )


def _heading(console: Console, title: str) -> None:
    console.print()
    console.print(Rule(Text(title, style="bold"), align="left", style="cyan"), width=_width(console))


def _say(console: Console, text: str) -> None:
    console.print(Padding(Text(text), (0, 0, 0, 2)), width=_width(console))


def _describe(contest: Contest) -> str:
    tables = (contest.train, contest.test)
    rows = sum(table.num_rows for table in tables)
    cells = sum(table.num_rows * table.num_columns for table in tables)
    missing = sum(column.null_count for table in tables for column in table.columns)
    kinds = columns_of([str(field.type) for field in contest.train.schema])
    return (
        f"{rows} rows, {contest.train.num_columns} columns ({kinds}), {missing:,} of {cells:,} cells missing. Trained "
        f"on {contest.train.num_rows} rows and measured on the other {contest.test.num_rows}, on {SPLITS} random "
        "splits that are the same for all; ± is the standard deviation over the splits."
    )


def _measured(console: Console, contests: list[Contest]) -> None:
    console.print(scores(contests, _width(console)))
    contest = contests[0]
    losses = [mean[1] for mean, _ in over_splits(contests)]
    other = 1 + int(np.argmin(losses[1:]))
    _say(
        console,
        "Calibration: how often a model was right, given the probability that it predicted. █ is the accuracy, ┃ the "
        "mean predicted probability; the expected calibration error (ECE) is the mean distance between the two. Shown "
        "are the first split, Suffice, and the pipeline of scikit-learn with the smaller log-loss "
        f"({contest.entries[other].preparation}).",
    )
    console.print(reliability(contest, other, _width(console)))


def _votes(console: Console, contests: list[Contest]) -> None:
    _heading(console, "1  Words with missing values: who is a Republican? (House of Representatives, 1984)")
    _say(console, _describe(contests[0]))
    _measured(console, contests)


def _mixed(console: Console, contests: list[Contest]) -> None:
    _heading(console, "2  Numbers, booleans and words, with missing values and weights: is the tumour benign?")
    _say(console, _describe(contests[0]))
    _say(
        console,
        "Made for this demo from scikit-learn's breast cancer data (its ten means): two columns were binned into "
        f"low/middle/high, two split at their median, cells removed with probability {MISSING:g}, and rows weighted by "
        "1, 2 or 3, with a fixed seed. All models and all measures use these weights. scikit-learn has no naive "
        "Bayes for mixed columns, so its GaussianNB treats the codes as numbers.",
    )
    _measured(console, contests)
    pair = contests[0].train.select(["perimeter", "area"]).drop_null()
    alike = np.corrcoef([column.to_numpy() for column in pair.columns])[0, 1]
    _say(
        console,
        f"Perimeter and area are nearly the same (correlation {alike:.2f}), which no naive Bayes can use: it assumes "
        "that they are independent given the class.",
    )


def _why(console: Console, votes: Contest, mixed: Contest) -> None:
    _heading(console, "3  Explanations: three predictions, each the exact sum of the contributions of its columns")
    for name, contest, row in (
        ("A vote, the most confident mistake", votes, _most_confident_mistake(votes)),
        ("A vote, with most cells missing", votes, _most_missing(votes)),
        ("A tumour, the least certain prediction", mixed, _least_certain(mixed)),
    ):
        rows = contest.test.slice(row, 1)
        explanation = contest.model.explain(rows)
        title = f"{name}: predicted {explanation.target[0]}, actually {contest.test_labels[row]}"
        console.print(reasons(title, explanation, 0, rows.to_pylist()[0], _width(console)))


def _most_confident_mistake(contest: Contest) -> int:
    ours = contest.entries[0].probabilities
    wrong = contest.model.classes_[ours.argmax(axis=1)] != contest.test_labels
    return int(np.argmax(np.where(wrong, ours.max(axis=1), 0.0)))


def _most_missing(contest: Contest) -> int:
    missing = [sum(cell is None for cell in row.values()) for row in contest.test.to_pylist()]
    return int(np.argmax(np.where(np.array(missing) < contest.test.num_columns, missing, -1)))


def _least_certain(contest: Contest) -> int:
    return int(np.argmin(contest.entries[0].probabilities.max(axis=1)))


def _forgetting(console: Console, contest: Contest) -> None:
    _heading(console, "4  Removing rows from a model without access to the others")

    def fit(rows: slice) -> NaiveBayes:
        start, stop, _ = rows.indices(contest.train.num_rows)
        return NaiveBayes().fit(
            contest.train.slice(start, stop - start), contest.train_labels[rows], contest.train_weight[rows]
        )

    theirs, others = fit(slice(FORGOTTEN)), fit(slice(FORGOTTEN, None))
    forgot = NaiveBayes.from_statistics(contest.model.statistics_ - theirs.statistics_)
    changed = _largest_difference(contest, forgot, contest.model)
    apart = _largest_difference(contest, forgot, others)
    _say(
        console,
        f"The sums of {FORGOTTEN} tumours were subtracted. Probabilities changed by up to {changed:.3f}; they differ "
        f"from those of a model that never saw these rows by at most {apart:.0e}.",
    )


def _largest_difference(contest: Contest, one: NaiveBayes, other: NaiveBayes) -> float:
    return float(np.abs(one.predict_proba(contest.test) - other.predict_proba(contest.test)).max())


def _mail(console: Console, post: Post) -> None:
    _heading(console, "5  The same sums as a spam filter: a small synthetic mailbox")
    _say(
        console,
        "The mail of a fictional person, written for this demo. The filter learns "
        f"{post.taught['ham']} hams and {post.taught['spam']} spams, and classifies {len(post.messages)} others, with "
        "other texts and partly other senders: wanted newsletters, phishing, disguised words, pictures, three "
        "languages.",
    )
    console.print(verdicts(post))
    said = ", ".join(
        f"“{read(post.messages[i]).header('subject')}” ({post.labels[i]}, called {post.verdicts[i].label})"
        for i in post.wrong()
    )
    _say(console, f"Wrong: {said or 'none'}.")
    console.print(weighed(post, post.closest_call(), _width(console)))
    _say(
        console,
        "The threshold is your choice. Errors on the new mail, by the probability from which a message is spam:",
    )
    console.print(trade_off(post))
    chosen = post.tuning.thresholds
    errors = post.tuned.errors(chosen)
    _say(
        console,
        f"`tune`, for a lost ham that costs {post.tuning.cost:g} missed spams, uses the learned messages only, by "
        f"leave-one-out, and chooses spam from {chosen.spam:.3f}, ham up to {chosen.ham:.3f}. On "
        f"the new mail this gives {errors.false_positives} hams lost, {errors.missed} spams classified as ham, and "
        f"{errors.unsure_spam + errors.unsure_ham} unsure. Each learned text occurs twice, with different names and "
        "days, so the messages that `tune` uses are easier than new mail.",
    )
