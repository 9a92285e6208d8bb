"""An explanation as a figure: one bar per column, from the baseline to the log-odds."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from suffice import Explanation, NaiveBayes, stream

TABLE = pd.DataFrame(
    {"sky": ["sun", "sun", "rain", None, "rain"], "wind": [3.0, 5.0, 20.0, 24.0, 18.0], "n": [1, 2, 2, 1, 9]}
)
MODEL = NaiveBayes({"n": "poisson"}).fit(TABLE, ["yes", "yes", "no", "no", "no"])


def axes():
    return Figure().add_subplot()


def bars(ax):
    return {label.get_text(): bar for label, bar in zip(ax.get_yticklabels(), ax.patches, strict=True)}


def test_the_bars_lead_from_the_baseline_to_the_log_odds():
    explanation = MODEL.explain(TABLE)
    found = bars(explanation.plot(0, ax=axes()))
    assert next(iter(found)) == "baseline"
    assert set(list(found)[1:-1]) == {"sky = sun", "wind = 3", "n = 1"}
    at = 0.0
    for bar in list(found.values())[:-1]:
        assert bar.get_x() == pytest.approx(at)
        at += bar.get_width()
    assert at == pytest.approx(explanation.log_odds[0])
    assert found["log-odds"].get_width() == pytest.approx(at)
    assert found["wind = 3"].get_width() == pytest.approx(explanation.contributions[0, 1])


def test_the_largest_come_first_and_the_others_are_summed_up():
    rows = np.random.default_rng(0).normal(size=(30, 12)) + np.arange(30)[:, None] % 2
    explanation = NaiveBayes().fit(rows, np.arange(30) % 2).explain(rows)
    found = bars(explanation.plot(3, n=4, ax=axes()))
    assert len(found) == 1 + 4 + 1 + 1
    widths = [abs(bar.get_width()) for bar in list(found.values())[1:5]]
    assert widths == sorted(widths, reverse=True)
    top = [column for column, _ in explanation.top(3, 4)]
    others = np.delete(explanation.contributions[3], top).sum()
    assert found["8 other columns"].get_width() == pytest.approx(others)
    assert "other" not in " ".join(bars(explanation.plot(3, n=12, ax=axes())))


def test_missing_cells_add_nothing_and_rows_of_streams_have_no_values():
    assert not any("sky" in name for name in bars(MODEL.explain(TABLE).plot(3, ax=axes())))
    streamed = MODEL.explain(stream(lambda: iter([TABLE])), "yes", "no")
    assert {"sky", "wind", "n"} < set(bars(streamed.plot(0, ax=axes())))


def test_colours_say_for_which_class_and_infinite_bars_are_named():
    ax = MODEL.explain(TABLE, "yes", "no").plot(2, ax=axes())
    found = bars(ax)
    assert found["log-odds"].get_width() < 0
    assert found["log-odds"].get_facecolor() == found["wind = 20"].get_facecolor()
    assert ax.get_xlabel() == "log-odds of yes (right) against no (left)"
    certain = NaiveBayes("categorical", prior=None).fit([["a"], ["b"], ["a"]], [0, 1, 0]).explain([["a"]])
    ax = certain.plot(ax=axes())
    assert [text.get_text() for text in ax.texts][-1] == "+∞"
    assert np.isfinite([bar.get_width() for bar in ax.patches]).all()
    undefined = Explanation(["x"], np.array([[np.nan]]), np.zeros(1), np.array(["a"]), np.array(["b"]))
    assert [text.get_text() for text in undefined.plot(ax=axes()).texts][-1] == "undefined"


def test_texts_take_their_colour_from_the_style_and_names_with_dollars_are_drawn():
    odd = pd.DataFrame({"a $x$ _ very long name that does not end before the figure does": ["$^", "\n\n<b>"] * 3})
    explanation = NaiveBayes().fit(odd, [0, 1] * 3).explain(odd)
    for style, colour in (("default", "black"), ("dark_background", "white")):
        with mpl.style.context(style):
            ax = explanation.plot(ax=axes())
            assert {mpl.colors.to_hex(text.get_color()) for text in ax.texts} == {mpl.colors.to_hex(colour)}
            ax.figure.canvas.draw()


def test_rows_and_numbers_of_columns_that_do_not_exist_are_refused():
    with pytest.raises(IndexError):
        MODEL.explain(TABLE).plot(5, ax=axes())
    with pytest.raises(ValueError, match="n must be a whole number of at least 1, but is 0"):
        MODEL.explain(TABLE).plot(0, n=0, ax=axes())
    assert bars(MODEL.explain(TABLE).plot(-1, ax=axes())).keys() == bars(MODEL.explain(TABLE).plot(4, ax=axes())).keys()


def test_the_error_without_matplotlib_says_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from suffice import NaiveBayes; NaiveBayes().fit([[0.0], [1.0]], [0, 1]).explain([[0.0]]).plot()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: figures need matplotlib; pip install 'suffice[plot]'" in done.stderr
