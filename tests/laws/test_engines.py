"""Every engine gives the same parameters: memory, a stream of chunks, Parquet files, batches of partial_fit."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

import suffice
from suffice import GenerativeClassifier
from suffice.engines import MemoryEngine, Rows, StreamEngine, base
from suffice.engines.base import CHUNKS_PER_TASK
from suffice.models.joint import learn, log_evidence, posterior
from suffice.models.schema import Encoder
from suffice.tables.conversion import as_table
from suffice.tables.labels import LabelCoder
from suffice.tables.sources import BATCH_ROWS

from .cases import CASES, Shape, assert_same_model, assert_same_statistics, each, law, parameters, shapes


def _cuts(rng, n):
    """Return random bounds of one to eight parts."""
    inner = rng.choice(np.arange(1, n), size=min(n - 1, int(rng.integers(0, 8))), replace=False)
    return list(zip([0, *sorted(inner)], [*sorted(inner), n], strict=True))


def _chunks(rng, x, y, weight):
    return [(x[a:b], y[a:b], weight[a:b]) for a, b in _cuts(rng, len(x))]


@each(CASES)
@law
@given(shape=shapes())
def test_a_stream_of_chunks_gives_the_model_of_the_whole(case, shape):
    x, y = case.table(shape)
    weight = shape.rng.uniform(0.1, 3.0, len(x))
    chunks = _chunks(shape.rng, x, y, weight)
    whole = case.model().fit(x, y, weight)
    streamed = case.model().fit(suffice.stream(chunks))
    assert_same_model(streamed, whole, x)
    apart = suffice.stream([chunk for chunk, _, _ in chunks])
    np.testing.assert_allclose(whole.predict_proba(apart), whole.predict_proba(x), rtol=0, atol=1e-12)


@each(CASES)
@law
@given(shape=shapes())
def test_batches_of_partial_fit_give_the_model_of_the_whole(case, shape):
    x, y = case.table(shape)
    weight = shape.rng.uniform(0.1, 3.0, len(x))
    batched = case.model()
    for some in _chunks(shape.rng, x, y, weight):
        batched.partial_fit(some[0], some[1], sample_weight=some[2])
    assert_same_model(batched, case.model().fit(x, y, weight), x)


@each(CASES)
@law
@given(shape=shapes())
def test_parquet_files_give_the_model_of_the_whole(case, shape, tmp_path_factory):
    x, y = case.table(shape)
    weight = shape.rng.uniform(0.1, 3.0, len(x))
    folder = tmp_path_factory.mktemp("parts")
    table = pa.table({**{f"x{j}": x[:, j] for j in range(shape.d)}, "label": y, "w": weight})
    for number, (a, b) in enumerate(_cuts(shape.rng, len(x))):
        pq.write_table(table.slice(a, b - a), folder / f"part{number}.parquet")
    scan = suffice.scan(folder, target="label", weight="w", batch_rows=int(shape.rng.integers(1, 40)))
    features = table.drop_columns(["label", "w"])
    whole = case.model().fit(x, y, weight)
    scanned = case.model().fit(scan)
    assert_same_model(scanned, case.model().fit(features, y, weight), features)
    np.testing.assert_allclose(scanned.predict_proba(features), whole.predict_proba(x), rtol=0, atol=1e-9)
    np.testing.assert_allclose(scanned.predict_proba(scan), whole.predict_proba(x), rtol=0, atol=1e-9)


# -- mixed tables with missing cells -----------------------------------------------------------------------------------


def _mixed(seed, n=120):
    """Return numbers, booleans and words, a tenth of them missing, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(["ash", "elm", "oak"], n)
    where = np.unique(labels, return_inverse=True)[1]
    columns = {
        "height": rng.normal(where, 1.0),
        "width": 1e4 + rng.normal(-where, 2.0),
        "tall": rng.random(n) < 0.2 + 0.3 * where,
        "old": rng.random(n) < 0.5,
        "soil": rng.choice(["clay", "loam", "sand", "chalk"], n),
        "side": rng.choice(["north", "south"], n),
    }
    missing = {name: rng.random(n) < 0.1 for name in columns}
    return pa.table({name: pa.array(columns[name], mask=missing[name]) for name in columns}), labels, rng


@pytest.mark.parametrize("seed", range(4))
def test_a_mixed_table_is_the_same_model_in_memory_in_a_stream_in_files_and_in_batches(seed, tmp_path):
    table, labels, rng = _mixed(seed)
    whole = GenerativeClassifier().fit(table, labels)
    cuts = _cuts(rng, len(labels))
    parts = [(table.slice(a, b - a), labels[a:b]) for a, b in cuts]
    batched = GenerativeClassifier()
    for number, (part, some) in enumerate(parts):
        batched.partial_fit(part, some)
        pq.write_table(part.append_column("tree", pa.array(some)), tmp_path / f"{number}.parquet")
    assert_same_model(batched, whole, table)
    assert_same_model(GenerativeClassifier().fit(suffice.stream(parts)), whole, table)
    scanned = GenerativeClassifier().fit(suffice.scan(tmp_path / "*.parquet", target="tree", batch_rows=17))
    assert_same_model(scanned, whole, table)


@pytest.mark.parametrize("seed", range(3))
def test_a_mixed_table_is_the_same_model_in_every_data_frame_library(seed):
    import polars as pl

    table, labels, _ = _mixed(seed)
    whole = GenerativeClassifier().fit(table, labels)
    for frame in (table.to_pandas(), pl.from_arrow(table)):
        model = GenerativeClassifier().fit(frame, labels)
        assert_same_model(model, whole, table)
        np.testing.assert_allclose(model.predict_proba(frame), whole.predict_proba(table), rtol=0, atol=1e-12)


def test_a_table_longer_than_a_batch_is_the_same_model_as_its_halves():
    table, labels, _ = _mixed(0, n=BATCH_ROWS + 1000)
    whole = GenerativeClassifier().fit(table, labels)
    half = len(labels) // 2
    halves = [(table.slice(0, half), labels[:half]), (table.slice(half), labels[half:])]
    assert_same_model(GenerativeClassifier().fit(suffice.stream(halves)), whole, table.slice(0, 500))


# -- the engines themselves -------------------------------------------------------------------------------------


def _encoded(case, x, y):
    """Return a fitted model, and the rows as its engines see them."""
    model = case.model().fit(x, y)
    blocks = Encoder(model.schema_, grow=False).encode(as_table(x))
    return model, Rows(blocks, LabelCoder(model.classes_).encode(y, None, len(x)))


@each(CASES)
def test_engines_return_the_same_sums_and_scores(case):
    x, y = case.table(Shape(11, 40, 3, 3))
    model, rows = _encoded(case, x, y)
    memory = MemoryEngine(rows, n_jobs=1)
    pieces = [
        Rows(c.blocks, c.responsibilities, c.start)
        for c in (rows.chunk(0, 7), rows.chunk(7, 40), rows.chunk(40, len(x)))
    ]
    stream = StreamEngine(lambda: iter(pieces), n_jobs=2)
    a, b = memory.reduce(learn, model.schema_), stream.reduce(learn, model.schema_)
    assert_same_statistics(a.blocks[0], b.blocks[0], scale=100.0)
    np.testing.assert_array_equal(a.class_count, b.class_count)
    for kernel in (posterior, log_evidence):
        np.testing.assert_allclose(
            memory.map(kernel, model._joint), stream.map(kernel, model._joint), rtol=1e-12, atol=1e-12
        )


@each(CASES)
def test_the_number_of_threads_changes_no_bit(case, monkeypatch):
    d, rows_per_chunk = 20, 4096
    monkeypatch.setattr(base, "CHUNK_BYTES", 8 * d * rows_per_chunk)
    y = np.random.default_rng(0).integers(0, 3, int(2.1 * CHUNKS_PER_TASK * rows_per_chunk))
    x = case.rows(np.random.default_rng(1), y, d)
    one, two = case.model(n_jobs=1).fit(x, y), case.model(n_jobs=2).fit(x, y)
    for a, b in zip(one.distributions_, two.distributions_, strict=True):
        for mine, theirs in zip(parameters(a), parameters(b), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.predict_proba(x), two.predict_proba(x))


def cells(block):
    """Return the numbers of a block of rows."""
    return block.counts.toarray() if hasattr(block, "counts") else np.array(getattr(block, "codes", block))


@each(CASES)
def test_kernels_are_pure_and_picklable(case):
    x, y = case.table(Shape(2, 20, 2, 3))
    model, rows = _encoded(case, x, y)
    chunk = rows.chunk(0, len(x))
    before = pickle.dumps([cells(block) for block in chunk.blocks])
    for kernel, params in ((learn, model.schema_), (posterior, model._joint), (log_evidence, model._joint)):
        there_kernel, there_chunk, there_params = pickle.loads(pickle.dumps((kernel, chunk, params)))
        here, there = kernel(chunk, params), there_kernel(there_chunk, there_params)
        again = kernel(chunk, params)
        for other in (there, again):
            if kernel is learn:
                assert_same_statistics(other.blocks[0], here.blocks[0], rtol=0)
            else:
                np.testing.assert_array_equal(other, here)
    assert pickle.dumps([cells(block) for block in chunk.blocks]) == before


@each(CASES)
def test_a_fitted_model_can_be_pickled(case):
    x, y = case.table(Shape(3, 20, 2, 3))
    model = case.model().fit(x, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(x), model.predict_proba(x))


@each(CASES)
@law
@given(shape=shapes())
def test_a_model_predicts_the_same_after_save_and_load(case, shape, tmp_path_factory):
    x, y = case.table(shape)
    model = case.model().fit(x, np.array(["a", "b", "c", "d"])[y])
    file = tmp_path_factory.mktemp("saved") / "model.suffice"
    suffice.save(model, file)
    loaded = suffice.load(file)
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    for method in ("predict", "predict_proba", "score_samples", "predict_joint_log_proba"):
        np.testing.assert_array_equal(getattr(loaded, method)(x), getattr(model, method)(x))
    more = loaded.partial_fit(x, np.array(["a", "b", "c", "d"])[y])
    np.testing.assert_allclose(more.statistics_.class_count, 2.0 * model.statistics_.class_count)


def test_a_mixed_model_and_its_statistics_survive_save_and_load(tmp_path):
    table, labels, _ = _mixed(7)
    model = GenerativeClassifier().fit(table, labels)
    suffice.save(model, tmp_path / "model.suffice")
    suffice.save(model.statistics_, tmp_path / "statistics.suffice")
    expected = model.predict_proba(table)
    np.testing.assert_array_equal(suffice.load(tmp_path / "model.suffice").predict_proba(table), expected)
    again = GenerativeClassifier.from_statistics(suffice.load(tmp_path / "statistics.suffice"))
    np.testing.assert_array_equal(again.predict_proba(table), expected)
