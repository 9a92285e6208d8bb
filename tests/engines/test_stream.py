"""Rows that come batch by batch: from files, from generators."""

import itertools
import threading
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mixed import mixed_columns

import suffice
from suffice import GaussianDiscriminant, NaiveBayes
from suffice.engines.base import Rows
from suffice.engines.stream import StreamEngine, read_ahead


@pytest.fixture
def folder(tmp_path):
    """Three Parquet files whose categories come in different orders, with target and weight."""
    columns, y = mixed_columns(n=3000)
    frame = pd.DataFrame(columns).assign(y=y, w=np.arange(3000.0) % 4)
    for number, rows in enumerate(np.array_split(np.arange(3000), 3)):
        part = frame.iloc[rows[::-1]]
        table = pa.Table.from_pandas(part, preserve_index=False)
        if number != 1:
            place = table.schema.get_field_index("city")
            table = table.set_column(place, "city", table.column("city").dictionary_encode())
        pq.write_table(table, tmp_path / f"part{number}.parquet", row_group_size=400)
    return tmp_path, frame


def features(frame):
    return frame[["height", "smoker", "city", "visits"]]


@pytest.mark.parametrize("how", ["pattern", "folder", "list"])
def test_a_scan_fits_just_as_an_array_does(folder, how):
    path, frame = folder
    where = {
        "pattern": str(path / "*.parquet"),
        "folder": path,
        "list": [path / f"part{i}.parquet" for i in range(3)],
    }[how]
    scanned = NaiveBayes().fit(suffice.scan(where, target="y", weight="w", batch_rows=170))
    whole = NaiveBayes().fit(features(frame), frame["y"], frame["w"])
    np.testing.assert_allclose(scanned.predict_proba(features(frame)), whole.predict_proba(features(frame)), rtol=1e-9)
    assert scanned.schema_.categories == whole.schema_.categories


def test_a_scan_can_be_predicted_on_in_the_order_of_its_rows(folder):
    path, frame = folder
    model = NaiveBayes().fit(features(frame), frame["y"])
    scan = suffice.scan(path, target="y", weight="w", batch_rows=333)
    rows = pq.read_table([str(path / f"part{i}.parquet") for i in range(3)])
    expected = model.predict_proba(rows.select(["height", "smoker", "city", "visits"]))
    np.testing.assert_allclose(model.predict_proba(scan), expected, rtol=1e-12)


def test_only_the_chosen_columns_are_read(folder):
    path, _ = folder
    model = NaiveBayes().fit(suffice.scan(path, target="y", columns=["city", "height"]))
    assert model.feature_names_in_.tolist() == ["city", "height"]


def test_scans_say_what_is_not_there(folder, tmp_path_factory):
    path, _ = folder
    with pytest.raises(FileNotFoundError, match="no Parquet file"):
        suffice.scan(path / "*.csv")
    with pytest.raises(ValueError, match=r"no column 'label' in .*its columns are 'height'"):
        suffice.scan(path, target="label")
    with pytest.raises(ValueError, match=r"name their column in suffice\.scan"):
        NaiveBayes().fit(suffice.scan(path))
    pq.write_table(pa.table({"height": [1.0], "y": ["a"]}), path / "part9.parquet")
    with pytest.raises(ValueError, match=r"part9.parquet lacks .*'smoker'"):
        NaiveBayes().fit(suffice.scan(path, target="y"))
    broken = tmp_path_factory.mktemp("broken") / "x.parquet"
    broken.write_bytes(b"not parquet at all")
    with pytest.raises(ValueError, match="not a Parquet file, or is damaged"):
        suffice.scan(broken)


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_a_generator_of_chunks_fits_just_as_an_array_does(covariance):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 6)) + 1e6, rng.integers(0, 3, 5000)
    weight = rng.random(5000)

    def chunks():
        for rows in np.array_split(np.arange(5000), 13):
            yield X[rows], y[rows], weight[rows]

    streamed = GaussianDiscriminant(covariance).fit(suffice.stream(chunks()))
    whole = GaussianDiscriminant(covariance).fit(X, y, weight)
    np.testing.assert_allclose(streamed.predict_proba(X), whole.predict_proba(X), rtol=1e-7)
    again = streamed.predict_proba(suffice.stream(lambda: (chunk[0] for chunk in chunks())))
    np.testing.assert_allclose(again, streamed.predict_proba(X), rtol=1e-12)


def test_soft_labels_stream_too():
    rng = np.random.default_rng(0)
    X, soft = rng.normal(size=(100, 2)), rng.dirichlet([1, 1, 1], 100)
    streamed = NaiveBayes().fit(suffice.stream([(X[:40], soft[:40]), (X[40:], soft[40:])]))
    np.testing.assert_allclose(streamed.predict_proba(X), NaiveBayes().fit(X, soft).predict_proba(X), rtol=1e-9)


@contextmanager
def no_reader_left():
    """Fail if a thread that reads ahead is left by what runs inside."""
    before = set(threading.enumerate())
    yield
    left = [t for t in threading.enumerate() if t.name == "suffice-reader" and t not in before]
    for thread in left:
        thread.join(5.0)
    assert not [thread for thread in left if thread.is_alive()]


@no_reader_left()
def test_an_error_while_reading_reaches_the_caller_and_ends_the_reader():
    def chunks():
        yield np.zeros((2, 1)), [0, 1]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        NaiveBayes().fit(suffice.stream(chunks))


@no_reader_left()
def test_an_error_in_a_kernel_ends_the_reader_though_the_error_is_kept():
    def fail(chunk, params):
        raise ArithmeticError

    rows = (Rows((np.zeros((10, 1)),), start=10 * i) for i in range(10**6))
    with pytest.raises(ArithmeticError) as kept:
        StreamEngine(lambda: rows).reduce(fail, None)
    assert kept.traceback


@pytest.mark.parametrize("begun", [True, False])
def test_an_interrupt_while_the_reader_starts_ends_it(monkeypatch, begun):
    def interrupted(thread, start=threading.Thread.start):
        if begun:
            start(thread)
        raise KeyboardInterrupt

    with no_reader_left():
        monkeypatch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(read_ahead(itertools.count()))
        monkeypatch.undo()


@no_reader_left()
def test_the_reader_stays_a_few_items_ahead_and_stops_when_nobody_listens():
    read = []

    def items():
        for i in range(1000):
            read.append(i)
            yield i

    ahead = read_ahead(items())
    assert [next(ahead) for _ in range(3)] == [0, 1, 2]
    ahead.close()
    assert len(read) < 10
