"""Text of mail, made harmless for terminals and pages."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from suffice.spam.headers import header_of, subject_of
from suffice.spam.plain import acts, many_lines, one_line

# all that is dangerous, often
hostile = st.text(
    st.one_of(st.characters(), st.sampled_from("\x00\x1b\x7f\x85\x9b\u200f\u202e\u2028\u2066\ud800 \t\r\n"))
)


@given(hostile, st.integers(1, 60))
@example("0 \xad", 2)
def test_a_line_is_one_line_within_its_limit_and_does_nothing(text, limit):
    line = one_line(text, limit)
    assert len(line) <= limit
    assert all(letter.isprintable() or letter in "\u200c\u200d" for letter in line)
    assert not acts(line)
    assert "  " not in line
    assert one_line(line, limit) == line


@given(hostile)
def test_text_of_many_lines_keeps_its_lines_and_tabs_and_does_nothing_else(text):
    shown = many_lines(text, len(text))
    assert not acts(shown.replace("\n", "").replace("\t", ""))
    assert shown.count("\n") == text.count("\n")
    assert shown.count("\t") == text.count("\t")


def test_what_is_hidden_is_shown():
    assert one_line("a\x00\x1b[1m\x9b\u202e\u200b\ud800z") == "a␀␛[1m�⟨RLO⟩��z"
    assert one_line(" two\r\n\tlines \u2028 here") == "two lines here"
    assert one_line("naïve 猫 👨\u200d👩 ok") == "naïve 猫 👨\u200d👩 ok"
    assert one_line("long" * 1000) == ("long" * 50)[:199] + "…"
    assert one_line("\x1b" * 10, 4) == "␛␛␛…"
    assert many_lines("a\r\nb\rc\n\td\u2069", 100) == "a\nb␍c\n\td⟨PDI⟩"


def test_every_control_character_and_every_mark_of_direction_acts():
    controls = {chr(code) for code in range(0x3000) if unicodedata.category(chr(code)) in ("Cc", "Zl", "Zp")}
    directions = {chr(code) for code in range(0x3000) if unicodedata.bidirectional(chr(code)) in
                  ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")}  # fmt: skip
    assert all(map(acts, controls | directions | {"\u200e", "\u200f", "\u061c"}))
    assert not any(map(acts, ["", "Entwürfe", "a/b c", "日本", "שלום", "👨\u200d👩"]))


def test_headers_are_found_without_the_body():
    raw = b"Subject: =?utf-8?b?G1syShtdMDtoYWNrZWQH4oCu?=\r\n\tend \xe4\x00\r\nFrom: ann\r\n\r\nTo: body" + b"x" * 1000
    assert one_line(subject_of(raw)) == "␛[2J␛]0;hacked␇⟨RLO⟩ end ä␀"
    assert (header_of(raw, "from"), header_of(raw, "to")) == ("ann", "")
    assert len(one_line(subject_of(b"Subject: " + b"y" * 70_000), 100)) == 100
    assert subject_of(b"\0\xff") == ""
