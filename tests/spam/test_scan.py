"""The compiled loops of the spam filter and their fallbacks in Python give the same answers."""

import math
import os
import subprocess
import sys
from array import array

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from spam.pathological import KINDS

from suffice.spam import SpamFilter, bulk, counting, html, read, reading, scan
from suffice.spam.scoring import ALLOWED, FIELD_NAMES, FIELDS, MAJORITY
from suffice.spam.store import Store

tokeniser = sys.modules["suffice.spam.tokenizing"]  # the package has a function of that name
pytestmark = pytest.mark.skipif(scan.compiled is None, reason="the loops were not built (no C compiler)")

TEXT = st.one_of(
    st.text(st.sampled_from("abz019$!%+|@.,'-_ \n\0")),
    st.text(st.sampled_from("ab0 $£€!’éß²½Ⅷ東京都民한글٣\U00020000\ud800_")),
    st.text(st.sampled_from("ab1$!, .कािनि्दीที่นี่ก東京كَتَبשָׁ\u3099がが\u0301\U0001e944𝅥")),
    st.text(st.sampled_from("abé². -_*/|1५東ि")),
    st.text(),
    st.lists(st.sampled_from(["v1agra", "fr33", "$100", "2002", "a", "b.c", "x" * 21, "free"])).map(" ".join),
).map(str.lower)
TOKEN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1)
MESSAGE = st.lists(TOKEN, unique=True, max_size=30).map(sorted).map("\n".join)


#: pieces of HTML, whole and cut
PIECES = [
    "<", "</", ">", "<!--", "-->", "--", "<!-->", "<!--->", "< p>", "</ p>", "<1>", "<?x>", "<!doctype>", "</", "\0",
    "script", "STYLE", "<template>", "<Script src=x>", "</script", "</scriptx ", "</STYLE>", "<noembed", "</noembed>",
    "<p>", "</p>", "<b>", "</B>", "<br>", "<x1y>", "<img src=a>", "<img style=color:white src='q'>", "<a\u0130>",
    "<p hidden>", "<p style='display:none'>", "<div style=display:none>", "<div>", "</div>", "<font color=white>",
    "<font color=#010101>", "</font>", "<body bgcolor=black>", "<td background=x>", "<table bgcolor='#000'>",
    "</table>", "<wbr style=color:white>", "<p bac\u212aground=q>", "<img alt=é src=q>", "<p \u017frc=x href=y>",
    "<a href=", '<a href="', "<img SRC = '", '"', "'", "=", "href", "action", "background", "hidden", "style=", "color",
    '<a href=" http://x ">', "<a href='  '>", "<a href=x href=y\\z src=&#104;>", "<a href=" + "u" * 2001 + ">",
    " ", "\t", "\n", "\x0b", "\x1c", "\x85", "\xa0", "x", "é", "東", "\U0001f600", "&amp;", "/", "!", "?", "1",
]  # fmt: skip
HTML = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def fallback_of(work, module):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "compiled", None)
        return work()


def words_of(text, prefix, limit):
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokeniser, "WORDS_LIMIT", limit)
        number = tokeniser._add_words(text, prefix, found, 2)
    return number, list(dict.fromkeys(tokeniser._each(found)))


@given(TEXT, st.sampled_from(["", "subject:"]), st.sampled_from([0, 1, 3, 30_000]))
@example("東abc defghij klmn", "", 30_000)
@example("東京,大阪!abc東ab1कि्£東€कि ที่นี่นี่", "", 30_000)
@example("ก" + "\u0e34" * 30 + "ขค", "", 30_000)
@example("1 l0ve y0u $5", "subject:", 30_000)
@example("f r e e", "", 30_000)
@example("m.o.n.e.y é/é/é/é/ ²_²_²_² 東*東*東*東 a|b|c|d a-b|c-d-e 1 2 3 4 5", "", 30_000)
@example(f"{'x' * 20} {'y' * 21} v1{'a' * 18} v1{'a' * 19} l0v3 l0v 123 1234 é0é0é", "", 30_000)
def test_words_marks_and_pairs_are_those_of_the_fallback(text, prefix, limit):
    assert words_of(text, prefix, limit) == fallback_of(lambda: words_of(text, prefix, limit), tokeniser)


@pytest.mark.parametrize("piece", ["x", "é", "a b ", "東", "東a", "£1", "a%", "$", "कि", "ก\u0e34", "\u0e34"])
def test_words_of_huge_texts_are_those_of_the_fallback(piece):
    text = piece * 80_000 + " end"
    same = words_of(text, "", 30_000) == fallback_of(lambda: words_of(text, "", 30_000), tokeniser)
    assert same  # nobody wants to read the difference


@pytest.mark.parametrize("shape", ["{}", "a{}b"])
def test_every_character_is_of_the_kind_that_the_fallback_says(shape):
    letters = [
        chr(code) for code in range(0x33480) if not 0xD800 <= code < 0xE000
    ]  # all that are assigned, but variants
    text = " ".join(shape.format(letter) for letter in letters).lower()
    same = words_of(text, "", len(text)) == fallback_of(lambda: words_of(text, "", len(text)), tokeniser)
    assert same


@given(st.one_of(HTML, st.text(st.sampled_from("<>/!-='\"&#; abps\t:"))))
@example(101 * "<p hidden><b style='color:red;background:red'>" + "x</b>y</p>z" * 150)
@example("<a href=\ud800>")
@example("<style>a</STYLEx b<p>c")
@example("")
def test_html_is_read_as_the_fallback_reads_it(source):
    assert html.read_html(source) == fallback_of(lambda: html.read_html(source), html)


def test_html_of_pathological_messages_is_read_as_the_fallback_reads_it():
    texts = [part.text for make in KINDS.values() for part in read(make(3_000)).parts]
    assert len(texts) > len(KINDS)
    found = [html.read_html(text) for text in texts]
    assert found == fallback_of(lambda: [html.read_html(text) for text in texts], html)


@pytest.mark.parametrize("kinds", [html._INLINE, html._VOID, html._UNSEEN, {"p", "title", "inline"}])
@pytest.mark.parametrize(
    "shape", ["a<{}>b<p>c</p>d</{}>e", "<{} style=display:none>a</{}>b", "<{} href=a>b</{}", "<{}x>a"]
)
def test_every_element_is_of_the_kind_that_the_fallback_says(kinds, shape):
    for name in sorted(kinds):
        source = shape.format(name.upper(), name)
        assert html.read_html(source) == fallback_of(lambda source=source: html.read_html(source), html), source


@pytest.mark.parametrize("number", [23, 24, 25, 26])
def test_colours_are_alike_up_to_the_distance_that_the_fallback_says(number):
    source = f"<p style='color:rgb({255 - number},255,255)'>a</p>b<p style='color:rgb(250,250,{265 - number})'>c</p>"
    assert html.read_html(source) == fallback_of(lambda: html.read_html(source), html)


@given(st.lists(st.one_of(TOKEN, st.text(max_size=3))))
@example(["b", "a", "b"])
@example(["a\nb", "c"])
@example(["a\ud800", "a\ud801", "é"])
@example(["", "a"])
@example(["z\0", "z", "z\0\0", "zzzzzzzz", "zzzzzzzz\0"])
@example([])
def test_lines_are_sorted_as_the_fallback_sorts_them(found):
    assert reading.sorted_lines(found) == fallback_of(lambda: reading.sorted_lines(found), reading)


@given(st.lists(st.tuples(st.sampled_from(["spam", "ham"]), MESSAGE)))
@example([("spam", "a\nb"), ("ham", "b\n\nc"), ("ham", "")])
def test_counts_are_those_of_the_fallback(messages):
    found = counting.counted_lines(messages)
    assert found == fallback_of(lambda: counting.counted_lines(messages), counting)
    for most in (1, 3, 20_000):
        assert found.packed(most) == fallback_of(lambda most=most: found.packed(most), counting)


@given(st.lists(st.tuples(st.sampled_from(["spam", "ham"]), MESSAGE), max_size=8), st.sampled_from([1, -3]))
@example([("spam", 'a "quoted" b\nback\\slash\nbell\x07\nzero\0byte\né')], 1)
def test_packed_counts_are_added_as_rows_are(messages, weight):
    counts = counting.counted_lines(messages)
    packed, plain = Store(), Store()
    for times in (9, weight):
        packed.sum_counts(counts, times)
        plain._connection.executemany(
            "INSERT INTO tokens VALUES (?, ?, ?) ON CONFLICT (token)"
            " DO UPDATE SET spam = spam + excluded.spam, ham = ham + excluded.ham",
            [(token, times * spam, times * ham) for token, spam, ham in counts.rows()],
        )
    select = "SELECT * FROM tokens ORDER BY token"
    assert packed._connection.execute(select).fetchall() == plain._connection.execute(select).fetchall()
    packed.close()
    plain.close()


def table():
    prefixes = {prefix: number for number, (_, prefixes, _) in enumerate(FIELDS) for prefix in prefixes}
    return scan.compiled.Weights(prefixes, FIELD_NAMES.index("words"), FIELD_NAMES.index("pairs"))


@given(st.lists(st.lists(MESSAGE, max_size=6), min_size=1, max_size=3), st.randoms(use_true_random=False))
@example([["from:a\nx y\nword", "subject:b\nword"], ["from:a\nnew\nodd:c"]], None)
def test_evidence_is_that_of_the_fallback_to_the_last_bit(chunks, random):
    ours, fallback = table(), bulk._Weights()
    values = [weight for _, _, weight in FIELDS]
    for chunk in chunks:
        new, number = ours.add(chunk)
        assert (bulk.json.loads(new), number) == (bulk.json.loads(fallback.add(chunk)[0]), len(fallback._new))
        choices = (
            [float("nan"), 0.0, 1.7]
            if random is None
            else [float("nan"), *(random.gauss(0, 3 + 30 * (i % 3 == 0)) for i in range(9))]
        )
        weights = array("d", [choices[i * i % len(choices)] for i in range(number)])
        ours.fill(weights)
        fallback.fill(weights)
        assert len(ours) == len(fallback)
        for lines in (lines for chunk in chunks[: chunks.index(chunk) + 1] for lines in chunk):
            seen, parts, total = ours.evidence(lines, 30.0, MAJORITY, ALLOWED, values)
            assert repr((seen, parts, bulk.certain_sum(parts, total))) == repr(fallback.evidence(lines, 30.0))
            unknown = f"{lines}\nnot a token of any message"
            assert ours.evidence(unknown, 30.0, MAJORITY, ALLOWED, values) is fallback.evidence(unknown, 30.0) is None


def test_a_token_that_is_being_looked_up_has_no_evidence():
    for weights in (table(), bulk._Weights()):
        weights.add(["new"])
        assert weights.evidence("new", 30.0, MAJORITY, ALLOWED, [1.0] * len(FIELDS)) is None
        weights.fill(array("d", [1.0]))
        assert weights.evidence("new", 30.0, MAJORITY, ALLOWED, [1.0] * len(FIELDS)) is not None


@given(st.lists(st.floats(-9.0, 9.0) | st.sampled_from([1.0, 2.0**-52, -(2.0**-53), 2.0**-54, 1e-300]), max_size=60))
@example([1.0, 2.0**-53])  # half-way between two doubles
@example([1.0, 2.0**-53, 2.0**-106])
@example([1.0, 2.0**-53, -(2.0**-106)])
@example([1.0, -1.0, 5e-324])
@example([])
def test_the_sum_of_the_evidence_is_correctly_rounded_or_nan(numbers):
    lines = "\n".join(f"{number:03}" for number in range(len(numbers)))
    weights = table()
    weights.add([lines])
    weights.fill(array("d", numbers))
    _, parts, total = weights.evidence(lines, 30.0, MAJORITY, ALLOWED, [1.0] * len(FIELDS))
    assert math.isnan(total) or total == math.fsum(array("d", parts))
    assert bulk.certain_sum(parts, total) == math.fsum(array("d", parts))


def test_the_sum_of_the_evidence_is_nearly_always_certain():
    weights = table()
    lines = "\n".join(f"{number:03}" for number in range(600))
    weights.add([lines])
    weights.fill(array("d", [math.sin(number) for number in range(600)]))
    for temper in range(1, 100):
        assert not math.isnan(weights.evidence(lines, float(temper), MAJORITY, ALLOWED, [1.0] * len(FIELDS))[2])


def test_a_look_up_that_fails_is_made_again(monkeypatch):
    raw = b"\nmoney now"
    with SpamFilter() as spam_filter:
        spam_filter.train_many([raw, b"\nlunch"], ["spam", "ham"])
        known = bulk.KnownWeights(spam_filter._store)
        with monkeypatch.context() as patch:
            patch.setattr(Store, "counts", lambda self, tokens: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                spam_filter._verdicts([reading.lines_of(raw)], known)
        assert spam_filter._verdicts([reading.lines_of(raw)], known) == [spam_filter.score(raw)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda scan: scan.words("a", "é", 3), ValueError, "prefix must be ASCII"),
        (lambda scan: scan.words(b"a", "", 3), TypeError, "str"),
        (lambda scan: scan.sorted_lines(("a",)), TypeError, "must be a list"),
        (lambda scan: scan.sorted_lines(["a", 1]), TypeError, "token 1 is of <class 'int'>"),
        (lambda scan: scan.count([(True, 1)]), TypeError, "str"),
        (lambda scan: scan.count([(True, "a\ud800")]), UnicodeEncodeError, "surrogates"),
        (lambda scan: scan.count(1 // 0 for _ in "a"), ZeroDivisionError, "zero"),
        (lambda scan: scan.json_rows("a\nb", array("I", [1]), array("I", [1]), 5), ValueError, "as many lines"),
        (lambda scan: scan.json_rows("a", array("I", [1, 2]), array("I", [1, 2]), 5), ValueError, "as many lines"),
        (lambda scan: scan.json_rows("a", array("I", [1]), array("I"), 5), ValueError, "equally long"),
        (lambda scan: scan.html(b"a", {}, str, str), TypeError, "str"),
        (lambda scan: scan.html("<p>", {"p": "x"}, str, str), TypeError, "int"),
        (lambda scan: scan.html("<p hidden>", {}, str, str), TypeError, "a tag must be a tuple"),
        (lambda scan: scan.html("<p hidden>", {}, lambda _: ((), 1), str), TypeError, "a style must be a tuple"),
        (lambda scan: scan.html("<p hidden>", {}, lambda _: ((), (0, 0, 1, 1)), str), TypeError, "a colour must be"),
        (lambda scan: scan.html("<p hidden>", {}, lambda _: 1 // 0, str), ZeroDivisionError, "zero"),
        (lambda scan: scan.html("<a href=&>", {}, str, lambda _: 1 // 0), ZeroDivisionError, "zero"),
        (lambda scan: scan.Weights({"a": 64}, 0, 0), ValueError, "numbers of fields"),
        (lambda scan: scan.Weights({"a": 1}, 99, 0), ValueError, "too many fields"),
        (lambda scan: table().add(["a", 1]), TypeError, "lines must be a str"),
        (lambda scan: table().fill(array("d", [1.0])), ValueError, "one weight for each"),
        (lambda scan: table().evidence("", 1.0, 2.0, 9.0, ["x"]), TypeError, "number"),
    ],
)
def test_bad_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(scan.compiled)


def test_no_memory_is_lost():
    raws = [b"Subject: hello\n\n" + b" ".join(b"w%d" % (i * j % 997) for j in range(500)) for i in range(20)]
    page = "".join(PIECES)

    def used():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1])

    def work(rounds):
        for _ in range(rounds):
            lines = [reading.lines_of(raw) for raw in raws]
            counting.counted_lines(("spam", each) for each in lines).packed()
            known = table()
            known.add(lines)
            known.fill(array("d", [1.0] * len(known)))
            [known.evidence(each, 30.0, MAJORITY, ALLOWED, [1.0] * len(FIELDS)) for each in lines]
            html.read_html(page)
            with pytest.raises(ZeroDivisionError):
                scan.compiled.html("<b>x<i hidden>" + page, {}, lambda _: 1 // 0, str)
            with pytest.raises(TypeError):
                known.add([1])
            with pytest.raises(UnicodeEncodeError):
                scan.compiled.count([(True, "a\ud800")])

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc")
    work(5)
    before = used()
    work(60)
    assert used() - before < 1000  # pages


def test_the_environment_switches_the_loops_off():
    code = "import suffice.spam.scan; print(suffice.spam.scan.compiled)"
    environment = {**os.environ, "SUFFICE_COMPILED": "0", "SUFFICE_REQUIRE_COMPILED": "0"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "None"


def test_loops_that_are_required_must_be_there():
    code = "import suffice.spam.scan"
    environment = {**os.environ, "SUFFICE_COMPILED": "0", "SUFFICE_REQUIRE_COMPILED": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "ImportError: the compiled loops are required" in run.stderr
