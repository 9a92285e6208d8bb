"""Declarations of every compiled kernel: the type, dimensions, layout and length of each of its arguments.

`compiled.boundary` checks each call against these declarations before any address leaves Python. To add a kernel:

1. Write it in a ``.c`` file of this folder as ``EXPORT int64_t NAME(kernel)(…)``; ``CELL`` is the type of a cell, and
   ``setup.py`` lists the sources that are compiled for another type than double. It returns 0, flags or a number of
   rows, and `OUT_OF_RANGE` if an index read from one array would lead outside of another.
2. Declare it in `KERNELS`: the types of cell that it is compiled for, and its arguments in their order in C, each as in
   ``name: type[shape] words``; names alone are integers (int64).

   - The type is ``double``, ``int64``, ``int32`` or ``uint8``, or ``cell``, the type that the kernel is compiled for,
     or ``real``, double or float (C gets a flag, ``narrow``, after the address).
   - The shape is written in the kernel's integers and in the names of `CONSTANTS` and `SIZES`; ``CELL`` is the size of
     a cell in bytes. An array must have exactly this shape.
   - Arrays are C-contiguous, aligned and in native byte order. ``rows``: cells are contiguous in each row, and C gets
     the row stride, in cells, after the address; ``strided``: C gets the strides along both dimensions.
   - ``out``: the kernel writes to it. ``scratch``: the boundary allocates it, so the caller does not pass it;
     ``lines``: it starts at a cache line. ``optional``: it may be None. ``if …`` comes last: the argument must be
     None if the condition does not hold.
3. Call it: ``compiled.library("kernel", "double", …)`` with the arguments that are not scratch, in the same order.

A number that C also uses goes to `CONSTANTS`, ``constants.h`` and the list in ``library.c``; a size of scratch memory
that is more than a product goes to `SIZES`, ``constants.h`` and ``library.c``. A library that differs in these, or that
was built with other declarations, is rejected. `tests/compiled/test_boundary.py` compares the declarations with the C
prototypes.

``setup.py`` also reads this module, so it imports only the standard library.
"""

from __future__ import annotations

from zlib import crc32

#: the covariance structures that the EM loop supports, in the order of their numbers
STRUCTURES = (
    *("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"), "GIVEN_SPHERE"
)  # fmt: skip

#: numbers that C also uses
CONSTANTS = {
    # what a kernel returns: flags of `inspect` and others, and failures
    "NOT_FINITE": 1,
    "NEGATIVE": 2,
    "NOT_BINARY": 4,
    "INFINITE": -1,
    "OUT_OF_RANGE": -2,
    # the arrays of a table of words that must be longer
    "WORDS_FULL": 1,
    "STORE_FULL": 2,
    "BAGS_FULL": 4,
    # the mode of a pass of a generalised linear model
    "LOGISTIC": 0,
    "LOG_LINEAR": 1,
    "PREDICTOR": 2,
    "GIVEN": 3,
    # the form of a mixture's scores
    "FULL": 0,
    "TIED": 1,
    "SCALED": 2,
    "DIAGONAL": 3,
    "SPHERE": 4,
    # covariance structures of a mixture
    **{code: place for place, code in enumerate(STRUCTURES)},
    # the EM loop: how it starts, how many settings it has, and how it ended
    "BEGIN_AT_MODEL": 0,
    "BEGIN_WITH_LABELS": 1,
    "BEGIN_WITH_SHARES": 2,
    "N_SETTINGS": 10,
    "MOST_STARTS": 16,
    "NO_EXTRAPOLATION": 0,
    "EXTRAPOLATION_BEGINS": 1,
    "EXTRAPOLATION_CONTINUES": 2,
    "EM_CONTINUES": 0,
    "EM_CONVERGED": 1,
    "EM_NO_ESTIMATE": 2,
    "EM_NOT_FINITE": 3,
    "EM_CONSTANT": 4,
    # the cost of a merged cluster; number of clusters whose merges are computed together
    "SAME_SPHERES": 0,
    "OWN_SPHERES": 1,
    "OWN_ELLIPSOIDS": 2,
    "GROUP": 8,
    # limit on the candidates for one seed of k-means
    "MOST_TRIALS": 16,
    # bytes of a cache line, doubles in the widest register of any level
    "LINE_BYTES": 64,
    "MOST_LANES": 8,
    # number of rows stored transposed, side by side, for k-means
    "BLOCK_ROWS": 16,
    # columns whose products `quadratic_scores` sums together; entries that pad the last tile of a list of products
    "PACKED_COLUMNS": 5,
    "PADDING": 8,
    # bytes between two columns of a block of rows in an EM pass
    "STEP_BYTES": 2176,
    # one bit per character of Unicode; bytes that can be read past the end of a text
    "LETTERS_BYTES": 139264,
    "PAST_BYTES": 8,
}

#: sizes of scratch memory that C also computes: their arguments, and their formulas
SIZES = {
    "sums_size": ("k, products", "2 * k * (products + 8) + 64"),
    "patterns_work": ("d, k, forms", "3 * (forms + 1) * d * d + (k + 2) * d + forms + k + k * (d * (d + 1) // 2)"),
    "patterns_places": ("d", "2 * d + (d + 1) * (d + 2) + 16"),
    "k_means_work": ("n, d, k, trials", "(n + 16) * d + n + (trials + 2 * k) * d + 2 * k"),
    "merge_work": ("n, d", "3 * n + (d + d * (d + 1) // 2) * (n + 8)"),
    "missing_work": ("d, D", "2 * D + 2 * d * d + d"),
}

REALS = ("double", "float")
CODES = ("int64", "int32")

_MOMENTS = """
    x: cell[n, d] rows; n; d; k; codes: int64[n]; weight: double[n] optional;
"""
_SPARSE = "indptr: int32[n + 1]; wide; indices: int32[size * (1 + wide)]; data: cell[size]; size; n; d; k;"

_BLOCKS = "blocks: double[(n + BLOCK_ROWS - 1) // BLOCK_ROWS, d, BLOCK_ROWS]"
_MATRICES = "EEE <= structure < GIVEN_SPHERE"

#: for each kernel, the types of cell that it is compiled for, and its arguments
KERNELS: dict[str, tuple[tuple[str, ...], str]] = {
    "posterior": (
        ("double",),
        """scores: double[n, k] strided; n; k; prior: double[k]; block: double[MOST_LANES * k] scratch;
        out: double[n, k] out""",
    ),
    "most_probable": (
        ("double",),
        """scores: double[n, k] strided; n; k; prior: double[k]; block: double[MOST_LANES * k] scratch;
        out: int64[n] out""",
    ),
    "missing_scores": (
        ("double",),
        """x: double[n, d]; n; d; k; D; means: double[k, d]; precision: double[k, d, D]; log_determinant: double[k];
        work: double[missing_work(d, D)] scratch; missing: int64[d + 1] scratch; out: double[n, k] out""",
    ),
    "missing_moments": (
        ("double",),
        """x: double[n, d]; n; d; k; D; means: double[k, d]; precision: double[k, d, D]; weights: double[n, k];
        work: double[missing_work(d, D)] scratch; missing: int64[d + 1] scratch;
        first: double[k, D] out; second: double[k, d, D] out""",
    ),
    "diagonal_moments": (
        REALS,
        _MOMENTS + "count: double[k] out; center: double[k, d] out; first: double[k, d] out; second: double[k, d] out",
    ),
    "observed_moments": (
        REALS,
        _MOMENTS
        + "count: double[k, d] out; center: double[k, d] out; first: double[k, d] out; second: double[k, d] out",
    ),
    "complete_rows": (REALS, "x: cell[n, d] rows; n; d; complete: int64[n + 1] out"),
    "dense_moments": (
        REALS,
        """x: cell[n, d] rows; n; d; k; grouped; codes: int64[n]; weight: double[n] optional; D; size;
        place: int64[k + 1] scratch; z: cell[size, D] scratch lines;
        count: double[k] out; center: double[k, d] out; first: double[k, d] out;
        second: double[k if grouped else 1, D, D] out""",
    ),
    "diagonal_scores": (
        REALS,
        """x: cell[n, d] rows; n; d; k; scaled; origin: double[d]; means: double[k, d]; halves: double[k, d];
        constant: double[k]; block: double[2 * MOST_LANES * d] scratch; out: double[k, n] out""",
    ),
    "diagonal_left_out": (
        REALS,
        """x: cell[n, d] rows; n; d; k; codes: int64[n]; means: double[k, d]; shares: double[k, d];
        factors: double[k, d]; constant: double[k]; least: double[1]; out: double[n] out""",
    ),
    "linear_scores": (
        REALS,
        """x: cell[n, d] rows; n; d; k; origin: double[d]; linear: double[d, k]; constant: double[k];
        block: double[2 * MOST_LANES * d] scratch; out: double[k, n] out""",
    ),
    "quadratic_scores": (
        REALS,
        """x: cell[n, d] rows; n; d; k; origin: double[d]; packed: double[k, size]; size; constant: double[k];
        block: double[8 * MOST_LANES * d] scratch; out: double[k, n] out""",
    ),
    "inspect": (REALS, "data: cell[size]; size"),
    "sparse_sums": (
        REALS,
        _SPARSE
        + """codes: int64[n]; weight: double[n] optional; place: int64[k + 1] scratch; order: int64[n] scratch;
        total: double[k, d] out""",
    ),
    "sparse_scores": (
        REALS,
        _SPARSE + "K; table: double[d, K]; constant: double[k]; sums: double[K] scratch; out: double[n, k] out",
    ),
    "count_codes": (
        CODES,
        """x: cell[n, d] strided; n; d; k; sizes: int64[d]; codes: int64[n]; weight: double[n] optional; width;
        total: double[k, width] out""",
    ),
    "score_codes": (
        CODES,
        """x: cell[n, d] strided; n; d; k; K; height; sizes: int64[d]; tables: double[height, K];
        sums: double[K] scratch; out: double[n, k] out""",
    ),
    "count_words": (
        ("double",),
        """text: uint8[size + PAST_BYTES]; size; ends: int64[n]; separators: int32[n]; n; lowercase; least; most;
        letters: uint8[LETTERS_BYTES] optional; secret: int64[2]; entries: int64[capacity, 4] out; capacity;
        slots: int64[width] out; width; store: uint8[extent] out; extent; indptr: int64[n + 1] out;
        indices: int32[room] out; counts: int32[room] out; room; grams: int32[most] out; state: int64[6] out""",
    ),
    "enter_words": (("double",), "entries: int64[capacity, 4]; capacity; n; slots: int64[width] out; width"),
    "hash_words": (
        ("double",),
        "entries: int64[capacity, 4]; capacity; first; n; store: uint8[extent]; extent; out: int64[n] out",
    ),
    "sort_bags": (
        ("double",),
        """indptr: int64[n + 1] out; n; indices: int32[size] out; counts: int32[size] out; size; mapping: int32[m]; m;
        longest; keys: int64[2 * longest] scratch; unknown: double[n] out""",
    ),
    "linear_pass": (
        ("double",),
        """x: double[n, d] rows; n; d; center: double[d]; theta: double[D]; y: double[n] if mode <= LOG_LINEAR;
        weight: double[n] optional; offset: double[n] optional; mode; D; size;
        z: double[size, D] scratch lines; work: double[3 * size] scratch lines;
        predictor: double[n] out if mode == PREDICTOR; score: double[n] if mode == GIVEN;
        curvature: double[n] if mode == GIVEN; total: double[1] out; gradient: double[D] out;
        second: double[D, D] out optional""",
    ),
    "mixture_pass": (
        REALS,
        """x: real[n, d] rows; n; d; k; weight: double[n] optional; origin: double[d]; form;
        first: cell[d, k]; second: cell[(d * (d + 1) // 2, 0, d, d, 1)[form], k] if form != TIED; constant: cell[k];
        products; left: int64[products + PADDING]; right: int64[products + PADDING];
        scratch: cell[2 * d + k + 1, STEP_BYTES // CELL] scratch lines; wide: double[2 * MOST_LANES * d] scratch;
        sums: double[sums_size(k, products)] scratch; sums_of_all: double[sums_size(d, d)] scratch if form == TIED;
        moments: double[k, products] out; scatter: double[d, d] out if form == TIED; log_likelihood: double[1] out""",
    ),
    "patterns_pass": (
        ("double",),
        """x: real[n, d] rows; n; d; k; forms; least; weight: double[n] optional; given: double[n, k] optional;
        origin: double[d]; means: double[k, d]; precision: double[forms, d, d]; constant: double[k];
        scratch: double[2 * d + k + 1, STEP_BYTES // CELL] scratch lines; wide: double[2 * MOST_LANES * d] scratch;
        sums: double[sums_size(k, (d + 1) * (d + 2) // 2)] scratch; sums_of_all: double[sums_size(d, d)] scratch;
        moments: double[k * ((d + 1) * (d + 2) // 2)] scratch;
        work: double[patterns_work(d, k, forms)] scratch; places: int64[patterns_places(d)] scratch;
        out: double[k, n] out optional; count: double[k] out; first: double[k, d] out;
        second: double[forms, d, d] out; log_likelihood: double[1] out; rest: int64[n] out""",
    ),
    "to_blocks": (("double",), f"x: double[n, d] rows; n; d; origin: double[d]; {_BLOCKS} out"),
    "seed_potentials": (
        ("double",),
        f"""{_BLOCKS}; n; d; candidates: double[trials, d]; trials; weight: double[n] optional; closest: double[n];
        potentials: double[trials] out""",
    ),
    "seed_take": (("double",), f"{_BLOCKS}; n; d; center: double[d]; closest: double[n] out"),
    "seed_places": (
        ("double",),
        """closest: double[n]; weight: double[n] optional; n; values: double[trials]; trials;
        places: int64[trials] out; total: double[1] out""",
    ),
    "lloyd_pass": (
        ("double",),
        f"""{_BLOCKS}; n; d; k; linear: double[d, k]; half: double[k]; weight: double[n] optional; fresh;
        labels: int64[n] out; sums: double[k, d] out; count: double[k] out; changed: int64[1] out""",
    ),
    "lloyd_centers": (
        ("double",),
        f"""{_BLOCKS}; n; d; k; weight: double[n] optional; labels: int64[n]; distance: double[n] scratch;
        sums: double[k, d] out; count: double[k] out; centers: double[k, d] out; shift: double[1] out""",
    ),
    "k_means": (
        ("double",),
        """x: double[n, d] rows; n; d; k; origin: double[d]; weight: double[n] optional; first;
        uniforms: double[k - 1, trials]; trials; iterations; tol: double[1];
        work: double[k_means_work(n, d, k, trials)] scratch; labels: int64[n] out; centers: double[k, d] out""",
    ),
    "merge_clusters": (
        ("double",),
        """count: double[n]; mean: double[n, d]; n; d; criterion; alpha: double[1];
        work: double[merge_work(n, d)] scratch; gain: float[n * (n - 1) // 2] scratch; least: float[n] scratch;
        places: int64[2 * n] scratch; merged: int64[max(n - 1, 0), 2] out""",
    ),
    "em_workspace_size": (("double",), "n; d; k; structure"),
    "em_loop": (
        ("double",),
        f"""x: double[n, d] rows; n; d; k; weight: double[n] optional; structure; settings: double[N_SETTINGS];
        belief: double[*((d, d) if {_MATRICES} else (d,))] optional; begin;
        labels: int64[n] if begin == BEGIN_WITH_LABELS; shares: double[n, k] if begin == BEGIN_WITH_SHARES;
        iterations; rate; log_share: double[k] out; mean: double[k, d] out;
        covariance: double[1 if structure in (EII, EEI, EEE, GIVEN_SPHERE) else k,
        *((d, d) if {_MATRICES} else (d,))] out;
        count: double[k] out; center: double[k, d] out; first: double[k, d] out;
        second: double[*((d, d) if structure == EEE else (k, d, d) if {_MATRICES} else (k, d))] out;
        bounds: double[iterations + 1] out; done: int64[1] out; size; workspace: double[size] out""",
    ),
    "em_race": (
        ("double",),
        f"""x: double[n, d] rows; n; d; k; weight: double[n] optional; structure; settings: double[N_SETTINGS];
        belief: double[*((d, d) if {_MATRICES} else (d,))] optional; starts; labels: int64[starts, n];
        iterations; more; kept; sets: double[starts, 2 * k * (1 + 2 * d * d) + 3 * k * d] scratch;
        rises: double[starts, iterations + more + 1] scratch; log_share: double[k] out; mean: double[k, d] out;
        covariance: double[1 if structure in (EII, EEI, EEE, GIVEN_SPHERE) else k,
        *((d, d) if {_MATRICES} else (d,))] out;
        count: double[k] out; center: double[k, d] out; first: double[k, d] out;
        second: double[*((d, d) if structure == EEE else (k, d, d) if {_MATRICES} else (k, d))] out;
        bounds: double[iterations + more] out; done: int64[1] out; ended: int64[1] out; size;
        workspace: double[size] out""",
    ),
}

#: identifies the declarations that a library was built with
FINGERPRINT = crc32(repr((CONSTANTS, SIZES, KERNELS)).encode())
