"""Nothing reaches a compiled kernel that its declaration does not allow; the declarations are those of the C code."""

import ctypes
import importlib.util
import operator
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import suffice
from suffice import GaussianDiscriminant, Mixture, NaiveBayes, compiled
from suffice.compiled import boundary, loading, signatures

needs_kernels = pytest.mark.skipif(compiled.library is None, reason="the kernels were not built (no C compiler)")
native = pytest.mark.skipif("SUFFICE_EMULATED" in os.environ, reason="the kernels are run by an emulator")
C_TYPES = {"double": "double", "float": "float", "int64": "int64_t", "int32": "int32_t", "uint8": "uint8_t",
           "real": "void", "cell": "CELL"}  # fmt: skip
#: values for the integers of all kernels, with which every array has some cells
INTEGERS = {"n": 6, "d": 3, "k": 2, "D": 8, "K": 8, "size": 8, "width": 4, "height": 9, "products": 10, "forms": 2,
            "least": 2, "grouped": 1, "scaled": 0, "iterations": 3, "rate": 1, "trials": 3,
            "first": 0, "fresh": 1, "criterion": 0, "starts": 2, "more": 2, "kept": 1,
            "lowercase": 1, "most": 2, "capacity": 4, "extent": 9, "room": 5, "m": 4, "longest": 3}  # fmt: skip
#: integers that are one of several choices, and how many there are
CHOICES = {"form": 5, "mode": 4, "wide": 2, "structure": len(signatures.STRUCTURES), "begin": 3}
CASES = [(kernel, kind) for kernel, (kinds, _) in signatures.KERNELS.items() for kind in kinds]


class Recorder:
    """Stands for a function of the library."""

    def __init__(self):
        self.calls = []

    def __call__(self, *values):
        self.calls.append(values)
        return 0


def integers(kernel):
    """Yield the integers to call a kernel with, for each choice that it has."""
    names = [argument.name for argument in boundary.arguments(kernel) if argument.is_integer]
    for choice in range(max([CHOICES[name] for name in names if name in CHOICES], default=1)):
        yield {name: choice % CHOICES[name] if name in CHOICES else INTEGERS[name] for name in names}


def example(kernel, kind, numbers):
    """Return arguments that the declaration allows, by name; those that are not scratch."""
    scope = {**signatures.CONSTANTS, "CELL": 8 if kind == "double" else 4, **numbers}
    scope |= {name: boundary._size(name) for name in signatures.SIZES}
    found = {}
    for argument in boundary.arguments(kernel):
        if "scratch" in argument.words:
            continue
        if argument.is_integer:
            found[argument.name] = numbers[argument.name]
        elif argument.condition and not eval(argument.condition, scope):
            found[argument.name] = None
        else:
            cell = kind if argument.type == "cell" else "double" if argument.type == "real" else argument.type
            found[argument.name] = np.zeros(eval(f"({argument.shape},)", scope), dtype=boundary._TYPES[cell])
    return found


def spoiled(argument, value):
    """Yield arrays that the declaration of an argument does not allow, made from one that it does."""
    yield "a list", value.tolist()
    yield "another type", value.astype(np.int16)
    if value.itemsize > 1:
        yield "other byte order", value.astype(value.dtype.newbyteorder())
    yield "too short", value[:-1]
    yield "too long", np.concatenate([value, value])
    yield "one dimension more", value[None]
    if value.itemsize > 1:
        yield "not aligned", np.zeros(value.nbytes + 1, dtype=np.uint8)[1:].view(value.dtype).reshape(value.shape)
    if "strided" not in argument.words and value.shape[-1] > 1:
        yield "strided", np.repeat(value, 2, axis=-1)[..., ::2]
        if "rows" not in argument.words and len(value) > 1:
            yield "reversed", value[::-1]
    if "out" in argument.words:
        fixed = value.copy()
        fixed.flags.writeable = False
        yield "read-only", fixed
    if "optional" not in argument.words:
        yield "None", None


@pytest.mark.parametrize(("kernel", "kind"), CASES)
def test_every_argument_of_every_kernel_is_checked(kernel, kind):
    for numbers in integers(kernel):
        function = Recorder()
        call = boundary.bind(function, kernel, kind)
        values = example(kernel, kind, numbers)
        assert call(*values.values()) == 0
        assert len(function.calls) == 1
        assert len(function.calls[0]) == len(function.argtypes)
        for argument in boundary.arguments(kernel):
            value = values.get(argument.name)
            if argument.is_integer or value is None:
                continue
            for what, bad in spoiled(argument, value):
                with pytest.raises(compiled.KernelError, match=rf"{kernel}.*'{argument.name}'"):
                    call(*{**values, argument.name: bad}.values())
                assert len(function.calls) == 1, f"{kernel} was called with {what} for {argument.name}"
        assert len(function.calls) == 1


@pytest.mark.parametrize(("kernel", "kind"), CASES)
def test_arguments_that_do_not_apply_must_be_none(kernel, kind):
    for numbers in integers(kernel):
        values = example(kernel, kind, numbers)
        call = boundary.bind(Recorder(), kernel, kind)
        for argument in boundary.arguments(kernel):
            if argument.condition and "scratch" not in argument.words and values[argument.name] is None:
                with pytest.raises(compiled.KernelError, match=rf"'{argument.name}': None"):
                    call(*{**values, argument.name: np.zeros(1)}.values())


@native
def test_addresses_and_steps_are_those_of_the_arrays():
    function = Recorder()
    call = boundary.bind(function, "complete_rows", "double")
    x = np.arange(24.0).reshape(6, 4)
    for rows in (
        x,
        x[::-1],
        x[::2],
        x[:, 1:3],
        x[:0],
        np.empty((0, 4))[:, ::2],
        np.lib.stride_tricks.as_strided(x, (0, 4), (0, 0)),
    ):
        complete = np.zeros(len(rows) + 1, dtype=np.int64)
        call(rows, *rows.shape, complete)
        address, stride = function.calls[-1][:2]
        address = address if isinstance(address, int) else boundary.ctypes.addressof(address)
        assert address == rows.ctypes.data
        assert stride == rows.strides[0] // 8
    fixed = np.ones(6)
    fixed.flags.writeable = False
    boundary.bind(function, "inspect", "double")(fixed, 6)
    assert function.calls[-1][0] == fixed.ctypes.data


def test_declarations_are_those_of_the_c_sources():
    folder = Path(__file__).parents[2] / "src/suffice/compiled"
    text = "".join(path.read_text() for path in sorted(folder.glob("*.c")) if path.name != "library.c")
    prototypes = dict(re.findall(r"EXPORT int64_t NAME\((\w+)\)\(([^)]*)\)", text))
    assert len(re.findall("EXPORT ", text)) == len(prototypes)
    assert set(prototypes) == set(signatures.KERNELS)
    for kernel, prototype in prototypes.items():
        found = [" ".join(part.replace("*", "* ").split()) for part in prototype.split(",")]
        expected = []
        for argument in boundary.arguments(kernel):
            if argument.is_integer:
                expected.append(f"int64_t {argument.name}")
                continue
            kind = C_TYPES[argument.type]
            fixed = "" if argument.words & {"out", "scratch"} else "const "
            expected.append(f"{fixed}{kind} * {argument.name}")
            expected += [f"int64_t {name}" for name in argument.c_names()[1:]]
        assert found == expected, kernel


def _named_in(comment):
    """Return what a comment in C refers to: the text of each reference, and the object in Python."""
    text = " ".join(comment.replace("\n *", " ").split())
    for path, module in re.findall(r"(?:fallback:|Python:|;|and) ([\w.]+) in (suffice(?:\.\w+)+)", text):
        yield f"{path} in {module}", operator.attrgetter(path)(importlib.import_module(module))


def test_comments_of_kernels_name_fallbacks_that_exist():
    folder = Path(__file__).parents[2] / "src/suffice/compiled"
    sources = {path.name: path.read_text() for path in folder.glob("*.[ch]")}
    kernels = [part for text in sources.values() for part in text.split("\nEXPORT int64_t NAME(")[:-1]]
    comments = [part.rpartition("/*")[2] for part in kernels if part.endswith("*/")]
    assert len(comments) == len(signatures.KERNELS)
    for comment in comments:
        assert "allback" in comment, comment
    for name, text in sources.items():
        for module in set(re.findall(r"suffice(?:\.\w+)+", text)):
            assert importlib.util.find_spec(module), f"{name} names {module}"
    assert len({name for text in sources.values() for name, _ in _named_in(text)}) > 30


def test_tolerances_in_c_are_those_of_python():
    text = (Path(__file__).parents[2] / "src/suffice/compiled/constants.h").read_text()
    compared = 0
    for comment, name, number in re.findall(r"/\*((?:(?!\*/).)*)\*/\n#define (\w+) ([\d.e-]+)\n", text, re.DOTALL):
        for reference, value in _named_in(comment):
            assert float(number) == (value["float64"] if isinstance(value, dict) else value), f"{name}: {reference}"
            compared += 1
    assert compared >= 14


@needs_kernels
def test_every_kernel_is_compiled_for_its_types_and_all_instruction_sets():
    path = Path(compiled.__file__).with_name(loading.NAME)  # the tests may run on another one, for another processor
    library, levels = ctypes.CDLL(str(path)), boundary.Library(path).built
    for kernel, (kinds, _) in signatures.KERNELS.items():
        for kind in kinds:
            for level in levels:
                assert hasattr(library, f"{kernel}_{kind}_{level}")


@needs_kernels
def test_a_library_of_other_declarations_or_numbers_is_refused(monkeypatch):
    path = Path(compiled.__file__).with_name(loading.NAME)
    boundary.Library(path)
    with monkeypatch.context() as patch:
        patch.setattr(boundary, "FINGERPRINT", 1)
        with pytest.raises(compiled.KernelError, match="built from other sources"):
            boundary.Library(path)
    for name, value in signatures.CONSTANTS.items():
        with monkeypatch.context() as patch:
            patch.setitem(boundary.CONSTANTS, name, value + 1)
            with pytest.raises(compiled.KernelError, match=f"does not agree with Python about {name}"):
                boundary.Library(path)
    for name, (names, formula) in signatures.SIZES.items():
        with monkeypatch.context() as patch:
            patch.setitem(boundary.SIZES, name, (names, f"{formula} + 1"))
            with pytest.raises(compiled.KernelError, match=f"does not agree with Python about {name}"):
                boundary.Library(path)
    with pytest.raises(compiled.KernelError, match="not built for the level 'sse9'"):
        boundary.Library(path, "sse9")


@pytest.mark.parametrize("bad", [-1, 2, 2**40, -(2**63)])
@pytest.mark.parametrize("place", [0, 149, 299])
def test_class_numbers_out_of_range_are_refused(level, bad, place):
    rng = np.random.default_rng(0)
    x, codes = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    whole, sizes = rng.integers(0, 4, (300, 2)), np.array([4, 4])
    codes[place] = bad
    calls = [
        lambda: compiled.diagonal_moments(x, codes, None, 2),
        lambda: compiled.diagonal_moments(x.astype(np.float32), codes, np.zeros(300), 2),
        lambda: compiled.observed_moments(x, codes, None, 2),
        lambda: compiled.tied_moments(x, codes, None, 2),
        lambda: compiled.full_moments(x, codes, np.ones(300), 2),
        lambda: compiled.count_codes(whole, sizes, codes, None, 2),
    ]
    for call in calls:
        with pytest.raises(compiled.OutOfRangeError):
            call()
    with pytest.raises(ValueError, match="CSR"):
        compiled.sparse_sums(sparse.csr_array(x), codes, None, 2)


def test_categories_out_of_range_are_refused_or_unseen(level):
    x = np.array([[0, 1], [3, 0]])
    with pytest.raises(compiled.OutOfRangeError):
        compiled.count_codes(x, np.array([3, 3]), np.zeros(2, dtype=int), None, 1)
    tables = compiled.whole_registers(np.arange(10.0)[:, None])
    scores = compiled.score_codes(np.array([[0, -1], [-7, 9]]), np.array([3, 3]), tables, 1)
    np.testing.assert_array_equal(scores[:, 0], [0 + 9, 3 + 8])  # unseen values are before missing ones
    with pytest.raises(compiled.OutOfRangeError):
        compiled.score_codes(x, np.array([3, 4]), tables, 1)


def damaged():
    """Yield CSR matrices whose parts do not fit each other, of 4×3."""

    def make(**parts):
        x = sparse.csr_array(np.array([[1.0, 0, 2], [0, 0, 3], [4, 5, 6], [0, 7, 0]]))
        for name, value in parts.items():
            setattr(x, name, np.asarray(value))
        return x

    good = make()
    for bad in (3, -1, 2**31 - 1, -(2**31)):
        for place in (0, 6):
            indices = good.indices.copy()
            indices[place] = bad
            yield make(indices=indices)
    for bad in (2**32, 2**32 + 1, -(2**32)):  # 0 or 1 in 32 bits
        yield make(indices=[bad, *good.indices[1:].tolist()])
        yield make(indptr=[bad, 2, 3, 6, 7])
    yield make(indptr=[0, 2, 7])
    yield make(indptr=[0, 4, 2, 6, 7])
    yield make(indptr=[-3, 2, 3, 6, 7])
    yield make(indptr=[0, 2, 3, 6, 100])
    yield make(indptr=[0, 2, 100, 6, 7])


def test_sparse_rows_that_do_not_fit_are_refused(level):
    codes, table = np.array([0, 1, 0, 1]), compiled.whole_registers(np.ones((3, 2)))
    for x in damaged():
        with pytest.raises(ValueError, match="CSR"):
            compiled.sparse_sums(x, codes, None, 2)
        with pytest.raises(ValueError, match="CSR"):
            compiled.sparse_scores(x, table, 2)


def layouts(values):
    """Yield arrays of the same values that lie otherwise in memory."""
    wide = np.stack([values, -values - 1.0], axis=1)
    yield wide[:, 0]
    yield np.repeat(values, 2)[::2]
    yield values[::-1].copy()[::-1]
    yield values.astype(values.dtype.newbyteorder())
    yield np.frombuffer(b"x" + values.tobytes(), dtype=np.uint8)[1:].view(values.dtype)
    fixed = values.copy()
    fixed.flags.writeable = False
    yield fixed


@pytest.mark.parametrize(
    "make",
    [NaiveBayes, lambda: NaiveBayes("categorical"), lambda: NaiveBayes("multinomial"),
     lambda: GaussianDiscriminant("full"), lambda: GaussianDiscriminant("tied")],
    ids=["gaussian", "categorical", "multinomial", "full", "tied"],
)  # fmt: skip
def test_weights_may_lie_anyhow_in_memory(make):
    rng = np.random.default_rng(5)
    y, weight = rng.integers(0, 3, 90), rng.random(90)
    x = rng.poisson(2.0 + y[:, None], (90, 4))
    X = x if make is NaiveBayes or "categorical" in str(make()) else x.astype(float)
    for table in (X, sparse.csr_array(x.astype(float))) if "multinomial" in str(make()) else (X,):
        expected = make().fit(table, y, weight).predict_proba(table)
        for stored in layouts(weight):
            np.testing.assert_array_equal(make().fit(table, y, stored).predict_proba(table), expected)


def test_weights_of_mixtures_may_lie_anyhow_in_memory():
    rng = np.random.default_rng(6)
    x, weight = rng.normal(size=(200, 2)) + 4 * rng.integers(0, 2, 200)[:, None], rng.random(200)
    expected = Mixture(2, random_state=0).fit(x, sample_weight=weight).means_
    for stored in layouts(weight):
        np.testing.assert_array_equal(Mixture(2, random_state=0).fit(x, sample_weight=stored).means_, expected)


def in_python(code, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SUFFICE_")}
    return subprocess.run(
        [sys.executable, "-c", code], env={**kept, **environment}, capture_output=True, text=True, check=False
    )


SHOW = "import suffice.compiled as c; print(c.library and c.library.level)"


def test_kernels_can_be_switched_off():
    assert in_python(SHOW, SUFFICE_COMPILED="0").stdout.strip() == "None"


@native
@needs_kernels
def test_the_environment_chooses_the_level():
    best = compiled.library.levels[-1]
    for wanted, found in [("1", best), ("", best), *((level, level) for level in compiled.library.levels)]:
        assert in_python(SHOW, SUFFICE_COMPILED=wanted).stdout.strip() == found


@native
def test_levels_that_are_not_there_are_errors():
    result = in_python(SHOW, SUFFICE_COMPILED="avx9")
    assert "ImportError: SUFFICE_COMPILED must be 0, 1 or one of base, avx2, avx512, neon" in result.stderr
    there = in_python("import suffice.compiled as c; print(*(c.library.levels if c.library else []))").stdout.split()
    missing = set(loading.LEVELS) - set(there)
    assert missing  # no processor has the levels of both x86-64 and ARM
    for level in missing:
        result = in_python(SHOW, SUFFICE_COMPILED=level)
        assert result.returncode
        assert "ImportError: the compiled kernels are required but missing" in result.stderr


def test_kernels_that_are_required_must_be_there(tmp_path, monkeypatch):
    monkeypatch.setenv("SUFFICE_COMPILED", "1")
    monkeypatch.delenv("SUFFICE_REQUIRE_COMPILED", raising=False)
    assert loading.load(tmp_path) is None
    monkeypatch.setenv("SUFFICE_REQUIRE_COMPILED", "1")
    with pytest.raises(ImportError, match="required but missing: they were not built"):
        loading.load(tmp_path)
    (tmp_path / loading.NAME).write_bytes(b"no library")
    with pytest.raises(ImportError, match="cannot be used"):
        loading.load(tmp_path)
    monkeypatch.setenv("SUFFICE_REQUIRE_COMPILED", "0")
    with pytest.warns(RuntimeWarning, match="NumPy is used instead"):
        assert loading.load(tmp_path) is None
    monkeypatch.setenv("SUFFICE_COMPILED", "0")
    monkeypatch.setenv("SUFFICE_REQUIRE_COMPILED", "1")
    with pytest.raises(ImportError, match="switched off by SUFFICE_COMPILED=0"):
        loading.load(tmp_path)


def test_show_versions_names_the_level_blas_and_threads(capsys, monkeypatch):
    suffice.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["suffice"] == suffice.__version__
    assert {"Python", "NumPy", "SciPy", "scikit-learn", "threads", "BLAS"} < set(lines)
    if compiled.library is not None:
        assert lines["kernels"].startswith(f"{compiled.library.level} (this processor has ")
    monkeypatch.setattr(compiled, "library", None)
    monkeypatch.setenv("SUFFICE_COMPILED", "0")
    suffice.show_versions()
    assert "NumPy instead: switched off by SUFFICE_COMPILED=0" in capsys.readouterr().out
