"""HTML as a person sees it, and what is hidden told apart."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.spam.html import read_html


@pytest.mark.parametrize(
    ("source", "visible", "hidden"),
    [
        ("plain", "plain", ""),
        ("via<!-- a comment -->gra", "viagra", "a comment"),
        ("v<b>i</b>a<font size=2>gra</font>", "viagra", ""),
        ("one<br>two<td>three</p>four", "one two three four", ""),
        ("<style>p {color: red}</style>seen", "seen", "p {color: red}"),
        ("<SCRIPT>alert(1 < 2)</SCRIPT >seen", "seen", "alert(1 < 2)"),
        ("<p style='display: none'>a<p>b</p></p>c", "c", "a b"),
        ("<div style=display:none>a<div>b</div>c</div>d", "d", "a b c"),
        ("<span style='visibility:hidden'>a</span>b", "b", "a"),
        ("<span style='font-size:0'>a</span>b", "b", "a"),
        ("<span style='font-size:1px'>a</span>b", "b", "a"),
        ("<span style='font-size:0.5pt;'>a</span>b", "b", "a"),
        ("<span style='font-size:12px'>a</span>b", "ab", ""),
        ("<span style='font-size:1em'>a</span>b", "ab", ""),
        ("<span style='opacity:0'>a</span>b", "b", "a"),
        ("<span style='opacity: 1'>a</span>b", "ab", ""),
        ("<p hidden>a</p>b", "b", "a"),
        ("<font color=white>a</font>b", "b", "a"),
        ("<font color='#FFFFFE'>a</font>b", "b", "a"),
        ("<font color=#fff>a</font>b", "b", "a"),
        ("<body bgcolor=black><font color=white>a</font>b", "ab", ""),
        ("<table bgcolor=#000000><td><font color=#ffffff>a</font></table><font color=white>b</font>", "a", "b"),
        ("<p style='color:#123456;background-color:#123457'>a</p>b", "b", "a"),
        ("<td background='x.gif'><font color=white>a</font></td>", "a", ""),
        ("<p style='color: rgb(255, 255, 255)'>a</p>b", "b", "a"),
        ("caf&eacute; &#118;iagra &lt;b&gt;", "café viagra <b>", ""),
        ("<!-- never closed", "", "never closed"),
        ("<style>never closed", "", "never closed"),
        ("<p style='display:none'>never closed", "", "never closed"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2", ""),
        ("<a <b>x", "<a x", ""),
        ("</p></b></html>x", "x", ""),
        ("<!DOCTYPE html><?xml ?>x", "x", ""),
    ],
)
def test_what_is_seen_and_what_is_hidden(source, visible, hidden):
    page = read_html(source)
    assert " ".join(page.visible.split()) == visible
    assert " ".join(page.hidden.split()) == hidden


@pytest.mark.parametrize(
    "written",
    [
        '"http&#58;//a.example/x"', "'http&#x3A;&#47;/a.example/x'", "http&colon;//a.example/x",
        '" http://a.exa\nmple/x "',
        '"http:\\\\a.example\\x"', '"http://a.example/x', '"http://a.&#x65;xample&#9;/x"',
    ],
)  # fmt: skip
def test_a_link_is_read_as_a_browser_follows_it(written):
    assert read_html(f"<a href={written}>").links == ("http://a.example/x",)


def test_links_and_elements_are_collected():
    page = read_html("<A HREF='http://a.example/x'>y</a><img src=cid:1><form action=\"http://b.example\">")
    assert page.links == ("http://a.example/x", "cid:1", "http://b.example")
    assert page.elements == {"a", "img", "form"}


@pytest.mark.parametrize(
    "piece", ["<a", "<!--", "<p style='color:red;background:red'>", "<div hidden>", "&", "<style>", "</div>", "<a b='"]
)
def test_time_is_linear_in_the_text(piece):
    def seconds(count):
        start = time.process_time()
        read_html(piece * count)
        return time.process_time() - start

    assert seconds(50_000) < 10 * max(seconds(10_000), 0.02)


@settings(max_examples=200)
@given(st.text(alphabet="<>/!-='\"&#; abps:", max_size=200))
def test_nothing_makes_it_fail(source):
    page = read_html(source)
    assert len(page.visible) + len(page.hidden) <= 2 * len(source) + 10
