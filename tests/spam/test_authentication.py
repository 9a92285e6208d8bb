"""What our own mail server says of the sender, and nobody else."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mailbag import message

from suffice.spam import SpamFilter, read
from suffice.spam.authentication import authentication_tokens, checked_server

OURS = ["mx.example.org"]
FROM = "From: Ann <ann@example.net>\n\ntext"


def found(*headers, servers=OURS):
    return authentication_tokens(read("\n".join([*headers, FROM]).encode()), servers)


def results(text, server="mx.example.org"):
    return f"Authentication-Results: {server}; {text}"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("spf=pass smtp.mailfrom=ann@example.net", {"spf pass", "spf agrees", "proven", "proven @example.net"}),
        ("spf=pass smtp.mailfrom=example.net", {"spf pass", "spf agrees", "proven", "proven @example.net"}),
        ("spf=pass smtp.mailfrom=x@spam.example", {"spf pass", "spf elsewhere", "unproven", "unproven @example.net"}),
        ("spf=softfail smtp.mailfrom=ann@example.net", {"spf softfail", "unproven", "unproven @example.net"}),
        ("dkim=pass (2048-bit; ok) header.d=mail.example.net",
         {"dkim pass", "dkim agrees", "proven", "proven @example.net"}),
        ("dkim=pass header.i=@example.net header.s=k", {"dkim pass", "dkim agrees", "proven", "proven @example.net"}),
        ("dkim=fail header.d=example.net", {"dkim fail", "unproven", "unproven @example.net"}),
        ("dkim=fail header.d=a.example; dkim=pass header.d=example.net",
         {"dkim pass", "dkim agrees", "proven", "proven @example.net"}),
        ("dkim=pass header.d=badexample.net", {"dkim pass", "dkim elsewhere", "unproven", "unproven @example.net"}),
        ("dkim=pass header.d=net", {"dkim pass", "dkim elsewhere", "unproven", "unproven @example.net"}),
        ("dmarc=pass (p=reject dis=none) header.from=example.net",
         {"dmarc pass", "dmarc agrees", "proven", "proven @example.net"}),
        ("dmarc=pass", {"dmarc pass", "dmarc agrees", "proven", "proven @example.net"}),
        ("dmarc=pass header.from=other.example",
         {"dmarc pass", "dmarc elsewhere", "unproven", "unproven @example.net"}),
        ("DMARC = Fail header.from=example.net", {"dmarc fail", "unproven", "unproven @example.net"}),
        ("dkim=pass (a comment (nested; dmarc=pass) header.d=example.net) header.d=spam.example",
         {"dkim pass", "dkim elsewhere", "unproven", "unproven @example.net"}),
        ("none", {"missing"}),
        ("spf=" + "x" * 9000, {"missing"}),
        ("spf=splendid smtp.mailfrom=ann@example.net", {"missing"}),
    ],
)  # fmt: skip
def test_verdicts_and_whether_domains_agree_are_evidence(said, expected):
    assert set(found(results(said))) == {f"auth:{token}" for token in expected}
    assert set(found(results(said, "MX.Example.ORG 1"))) == {f"auth:{token}" for token in expected}


def test_other_servers_are_ignored_and_without_a_name_all_are():
    forged = results("dmarc=pass header.from=example.net", "mx.spam.example")
    assert found(forged) == ["auth:missing"]
    assert found(forged, results("dmarc=fail"))[0] == "auth:dmarc fail"
    assert found(results("dmarc=pass"), servers=[]) == []


@pytest.mark.parametrize(
    "name",
    [
        "=?utf-8?q?mx=2Eexample=2Eorg?=",
        "mx.example.org\u200b",
        "\u00a0mx.example.org",
        "mx.example.org mx.spam.example",
        'mx.example.org"x"',
        'mx.example.org"',
        "mx(.example.org",
        "mx.example.org\x00",
        "ｍx.example.org",
    ],
)
def test_what_only_looks_like_our_name_is_not_ours(name):
    """Our server removes what comes in under its own name, and so finds none of these."""
    assert found(results("dmarc=pass", name)) == ["auth:missing"]


def test_no_letter_outside_of_ascii_is_a_letter_of_our_name():
    for letter in map(chr, [*range(128, 0xD800), *range(0xE000, 0x20000)]):
        forms = {letter.lower(), letter.casefold(), unicodedata.normalize("NFKC", letter).lower()}
        for form in filter(str.isascii, filter(str.isalnum, forms)):
            said = found(results("dmarc=pass", f"m{letter}.example.org"), servers=[f"m{form}.example.org"])
            assert said == ["auth:missing"]


#: what a sender writes into the parts of a header that our own server only repeats
INJECTED = [
    "; dmarc=pass header.from=example.net",
    " header.from=example.net header.d=example.net smtp.mailfrom=example.net ",
    "; dkim=pass header.d=example.net; spf=pass smtp.mailfrom=example.net",
    "(",
    ")",
    "\\(; dmarc=pass ",
]


@pytest.mark.parametrize("injected", INJECTED)
@pytest.mark.parametrize(
    "text",
    [
        'spf=pass smtp.mailfrom="{}"@spam.example; dkim=fail header.d=spam.example; dmarc=fail header.from=example.net',
        'dkim=fail reason="{}" header.d=example.net; spf=fail; dmarc=fail',
        "spf=fail (client \\) {} \\( ) smtp.mailfrom=example.net; dkim=none; dmarc=fail",
        "dmarc=fail; dkim=none; spf=none{}",
        'dmarc=fail; dkim=none; spf=none "{}',
    ],
)
def test_what_a_sender_writes_within_our_own_header_proves_nothing(text, injected):
    if "(client" in text:
        injected = injected.replace("(", "\\(").replace(")", "\\)")
    if text.endswith("none{}"):
        injected = injected.replace("; dkim=pass header.d=example.net", "")  # no server writes that twice
    assert "auth:proven" not in found(results(text.replace("{}", injected)))


PASS, FAIL = "dmarc=pass header.from=example.net", "dmarc=fail header.from=example.net"


@pytest.mark.parametrize(
    "headers",
    [
        [results(FAIL), "Received: from spam.example by mx.example.org", results(PASS)],
        ["Received: from spam.example by mx.example.org", results(FAIL), results(PASS)],
        [results(FAIL), results("spf=none"), "Received: a", results(PASS)],
        [results(FAIL), *[results(PASS)] * 50],
        [results(FAIL + "; dkim=fail"), "Received: a", results("dkim=pass header.d=example.net")],
    ],
)
def test_a_header_in_our_name_below_our_own_proves_nothing(headers):
    assert "auth:unproven @example.net" in found(*headers)
    assert "auth:dmarc fail" in found(*headers)


def test_headers_that_several_programs_of_our_server_wrote_are_read_together():
    tokens = found(results("spf=fail"), results("dkim=pass header.d=example.net"), results(PASS), "Received: a by b")
    assert {"auth:spf fail", "auth:dkim agrees", "auth:dmarc pass", "auth:proven @example.net"} <= set(tokens)


def test_more_than_one_sender_is_proven_by_nobody():
    raw = f"{results('dkim=pass header.d=spam.example')}\nFrom: a@bank.example, b@spam.example\n\n"
    assert authentication_tokens(read(raw.encode()), OURS) == ["auth:dkim pass", "auth:dkim elsewhere", "auth:unproven"]
    twice = f"{results('dkim=pass header.d=spam.example')}\nFrom: a@bank.example\nFrom: b@spam.example\n\n"
    assert "auth:unproven @bank.example" in authentication_tokens(read(twice.encode()), OURS)


def test_headers_of_messages_within_prove_nothing():
    inner = f"Content-Type: message/rfc822\n\n{results(PASS)}\n\n"
    assert authentication_tokens(read(f"From: a@example.net\n{inner}".encode()), OURS) == ["auth:missing"]


@given(st.text(st.sampled_from('();="\\ ,.@abspf=dkim/1pass\n\t;')))
def test_any_value_is_read(text):
    assert found(results(text)) is not None


def test_a_filter_learns_what_its_server_says_and_knows_a_forged_sender():
    def mail(number, said, kind="ham"):
        return f"{results(said)}\nFrom: bank@example.net\n".encode() + message(number, kind).partition(b"\n")[2]

    hams = [mail(i, PASS) for i in range(30)]
    spams = [mail(i, FAIL, "spam") for i in range(30)]
    asked = message(90).partition(b"\n")[2]
    true, forged = (f"{results(said)}\nFrom: bank@example.net\n".encode() + asked for said in (PASS, FAIL))
    with SpamFilter() as plain, SpamFilter() as told:
        told.servers = ["MX.example.org"]
        assert told.servers == ("mx.example.org",)
        for spam_filter in (plain, told):
            spam_filter.train_many(hams, "ham", processes=1)
            spam_filter.train_many(spams, "spam")
        assert plain.score(true).log_odds == plain.score(forged).log_odds
        assert told.score(forged).log_odds > told.score(true).log_odds + 2.0
        assert [verdict.log_odds for verdict in told.score_many([true, forged])] == [
            told.score(true).log_odds,
            told.score(forged).log_odds,
        ]
        assert told.evaluate([true], ["ham"]).probabilities == (told.score(true).probability,)
        assert told.train(forged, "spam")
        told.train_unlabeled([true])
        learned = {token for token, *_ in told._store._connection.execute("SELECT token FROM tokens")}
        assert {"auth:proven @example.net", "auth:dmarc fail"} <= learned
        told.servers = []
        assert told.servers == ()
        assert told.score(true).log_odds == told.score(forged).log_odds


def test_the_names_of_servers_are_kept_and_checked(tmp_path):
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        spam_filter.servers = ["mx.example.org", "mx2.example.org"]
        for wrong in ("", "two words", "a;b", "x" * 300, "é"):
            with pytest.raises(ValueError, match="authserv-id"):
                spam_filter.servers = [wrong]
        with pytest.raises(TypeError, match="list of names"):
            spam_filter.servers = "mx.example.org"
    with SpamFilter.open(tmp_path / "store") as spam_filter:
        assert spam_filter.servers == ("mx.example.org", "mx2.example.org")
    assert checked_server("MX.Example.org") == "mx.example.org"
