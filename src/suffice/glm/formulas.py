"""Formulas, such as "count ~ age * C(city) + offset(log(days))", by the library formulaic."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from suffice._arrays import Array, FloatArray
from suffice.glm.design import Design, Survey, level_codes
from suffice.models.schema import Schema
from suffice.tables.conversion import as_table
from suffice.tables.frames import FrameTable
from suffice.tables.table import Table

_OFFSET, _INTERCEPT = "offset(", "1"


@dataclass(frozen=True, eq=False)
class Parsed:
    """The parts of a formula.

    Attributes
    ----------
    text : str
    response : Formula or None
        The left side.
    terms : Formula
        The right side, with the intercept if there is one, without offsets.
    offsets : Formula or None
        The arguments of `offset(...)`.
    intercept : bool
    """

    text: str
    response: Any
    terms: Any
    offsets: Any
    intercept: bool


@lru_cache(maxsize=64)
def parse(text: str, columns: tuple[str, ...] = ()) -> Parsed:
    """Return the parts of a formula; "." stands for the other columns.

    Examples
    --------
    >>> found = parse("visits ~ age * sex + offset(log(days))")
    >>> str(found.terms), str(found.offsets), found.intercept
    ('1 + age + sex + age:sex', 'I(log(days))', True)
    """
    formulaic = _formulaic()
    if not isinstance(text, str):
        raise TypeError(f"formula must be a string such as 'count ~ age * city', not {text!r}")
    try:
        whole = formulaic.Formula(text, _context={"__formulaic_variables_available__": list(columns)})
    except (formulaic.errors.FormulaicError, SyntaxError) as error:
        raise ValueError(f"the formula {text!r} is not understood: {str(error).splitlines()[0]}") from error
    response, right = getattr(whole, "lhs", None), getattr(whole, "rhs", whole)
    if not isinstance(right, formulaic.SimpleFormula):
        raise ValueError(f"the formula {text!r} must have one right side, without '|'")
    terms, offsets = [], []
    for term in right:
        factors = [str(factor) for factor in term.factors]
        inside = [factor for factor in factors if factor.startswith(_OFFSET)]
        if inside and len(factors) > 1:
            raise ValueError(f"an offset has no coefficient, so that it has no interactions, but {term} is in {text!r}")
        if inside:
            offsets.append(inside[0].removeprefix(_OFFSET)[:-1])
        else:
            terms.append(term)
    shift = formulaic.Formula("0 + " + " + ".join(f"I({each})" for each in offsets)) if offsets else None
    kept = formulaic.Formula(terms)
    return Parsed(text, response, kept, shift, any(str(term) == _INTERCEPT for term in kept))


def _formulaic() -> Any:
    try:
        import formulaic
        import formulaic.errors
    except ImportError as error:
        raise ImportError("formulas need formulaic; install it with: pip install 'suffice[formula]'") from error
    return formulaic


def response_of(parsed: Parsed, X: Any) -> Any:
    """Return the left side of a formula: a column of a data frame as it is, or numbers computed from columns."""
    if parsed.response is None:
        raise ValueError(f"y is None, and the formula {parsed.text!r} names no response; write 'y ~ …', or pass y")
    table = _frame(as_table(X))
    name = str(parsed.response)
    if name in (table.names or ()):
        assert table.names is not None
        return table.series(table.names.index(name)).to_native()
    values = _evaluate(parsed.response, table, f"the response of {parsed.text!r}")[0]
    return values[:, 0] if values.shape[1] == 1 else values


@dataclass(frozen=True)
class FormulaDesign(Design):
    """The mapping from rows of a table to those of the design matrix of a formula; its terms are the columns it reads.

    Parameters
    ----------
    spec : formulaic.ModelSpec
        The columns of the design with the levels and the transformations of training, the intercept among them.
    columns : tuple of str
        The names of the columns of the design, without the intercept.
    shift : formulaic.ModelSpec or None
        The offsets of the formula.
    text : str
        The formula.
    """

    spec: Any = None
    columns: tuple[str, ...] = ()
    shift: Any = None
    text: str = ""

    def __repr__(self) -> str:
        return f"<FormulaDesign {self.text!r}>"

    @property
    def names(self) -> list[str]:
        """The names of the columns of the design."""
        return list(self.columns)

    def encode(self, table: Table) -> Array:
        """Return the design matrix of some rows, n×p; NaN where a cell is missing."""
        matrix = self._computed(self.spec, table)
        return np.ascontiguousarray(matrix[:, _places(self.spec)])

    def own_offset(self, table: Table) -> FloatArray | None:
        """Return the sum of the offsets of the formula, (n,)."""
        if self.shift is None:
            return None
        found = self._computed(self.shift, table).sum(axis=1)
        if not np.isfinite(found).all():
            Design.complain(self, [_frame(table)])
        return found

    def _computed(self, spec: Any, table: Table) -> FloatArray:
        given = _frame(table)
        if not spec.required_variables:
            return np.ones((len(given), len(spec.column_names)))
        given = _frame(self.schema.arranged(given))
        missing = np.zeros(len(given), dtype=bool)
        for term in self.terms:
            # the former raises for a level that was not there in training
            cells = self._numbers(given, term)[:, 0] if term.levels is None else level_codes(given, term)
            missing |= ~np.isfinite(cells)
        try:
            found = _evaluate(spec, given, f"the formula {self.text!r}")[0]
        except ValueError:
            Design.complain(self, [given])  # if cells are missing
            raise
        found[missing] = np.nan  # formulaic reads a missing category as one without a coefficient
        return found

    def complain(self, tables: Iterable[Table]) -> None:
        """Raise ValueError if cells are missing or infinite, or if the formula makes them so, naming the first."""
        listed = list(tables)
        super().complain(listed)
        start = 0
        for table in listed:
            cells = self.encode(table)
            bad = np.argwhere(~np.isfinite(np.asarray(cells)))
            if len(bad):
                row, column = bad[0]
                raise ValueError(
                    f"the term {self.columns[column]!r} of the formula is {cells[row, column]:g} in row {start + row}, "
                    f"though no cell is missing; choose another transformation, or drop such rows"
                )
            start += len(table)

    def complain_of_scale(self, tables: Iterable[Table], center: FloatArray) -> None:
        """Do nothing: the columns of a formula are not those of the table."""


class FormulaSurvey(Survey):
    """Finds the design of a formula from one table."""

    def __init__(self, text: str, *, offset: Any = None, exposure: Any = None, groups: Any = None) -> None:
        for name, given in (("offset", offset), ("exposure", exposure), ("groups", groups)):
            if given is not None and not isinstance(given, str):
                raise ValueError(f"beside a formula, {name}={given!r} must be the name of a column, or an array")
        super().__init__(intercept=True, offset=offset, exposure=exposure, groups=groups)
        self._text = text
        self._made: FormulaDesign | None = None

    def add(self, table: Table, estimator: str, *, sums: bool) -> None:
        """Take the rows into account."""
        frame = _frame(table)
        names = frame.names or ()
        parsed = parse(self._text, names)
        self._require_columns(parsed, names)
        shift = None
        try:
            spec = _evaluate(parsed.terms, frame, f"the formula {self._text!r}")[1]
            if parsed.offsets is not None:
                shift = _evaluate(parsed.offsets, frame, f"the offset of {self._text!r}")[1]
                _require_numbers(shift, self._text)
        except ValueError:
            self._read([name for name in names if _occurs(name, self._text)], frame, estimator)  # if cells are missing
            raise
        if not spec.column_names:
            raise ValueError(f"the formula {self._text!r} has no columns and no intercept, so nothing is estimated")
        specs = [spec] if shift is None else [spec, shift]
        known = {str(variable) for each in specs for variable in each.required_variables}
        known |= {name for name in self._named.values() if isinstance(name, str)}
        self._read([name for name in names if name in known], frame, estimator)
        read = super().design() if known else Design(Schema((), 0, (), library=table.library), ())
        columns = tuple(str(spec.column_names[place]) for place in _places(spec))
        self._made = FormulaDesign(
            read.schema, read.terms, read.offset, read.exposure, read.groups, spec=spec, columns=columns, shift=shift,
            text=self._text,
        )  # fmt: skip

    def _require_columns(self, parsed: Parsed, names: tuple[str, ...]) -> None:
        """Raise ValueError if the formula names a column that the table does not have."""
        variables = set(parsed.terms.required_variables)
        variables |= set(() if parsed.offsets is None else parsed.offsets.required_variables)
        unknown = sorted({str(variable) for variable in variables} - set(names))
        if unknown:
            shown = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
            raise ValueError(
                f"the formula {self._text!r} names {', '.join(map(repr, unknown))}, which the table does not have; its "
                f"columns are {shown}"
            )

    def _read(self, known: list[str], frame: FrameTable, estimator: str) -> None:
        """Find the levels of the columns that the formula reads; raise ValueError if cells are missing."""
        if not known:
            return
        names = frame.names or ()
        part = frame.select([names.index(name) for name in known])
        super().add(part, estimator, sums=False)
        Design.complain(super().design(), [part])

    def design(self) -> Design:
        """Return the design."""
        assert self._made is not None
        return self._made


def _places(spec: Any) -> list[int]:
    """Return which columns of a specification are not its intercept; a column of the table may have its name."""
    return [int(i) for term, places in spec.term_indices.items() if str(term) != _INTERCEPT for i in places]


def _require_numbers(shift: Any, text: str) -> None:
    """Raise ValueError unless each offset is one column of numbers."""
    for term, places in shift.term_indices.items():
        if len(places) != 1 or any(factor in shift.factor_contrasts for factor in term.factors):
            raise ValueError(f"an offset must be one column of numbers, but offset{str(term)[1:]} of {text!r} is not")


def _occurs(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text) is not None


def _without_unused(table: FrameTable) -> Any:
    """Return the data frame, for pandas without the categories that no row has, which have no coefficient."""
    native = table.frame.to_native()
    if not table.frame.implementation.is_pandas():
        return native
    unused = {
        name: native[name].cat.remove_unused_categories()
        for name, dtype in native.dtypes.items()
        if hasattr(dtype, "categories")
    }
    return native.assign(**unused) if unused else native


def _frame(table: Table) -> FrameTable:
    if not isinstance(table, FrameTable) or table.names is None:
        raise ValueError("a formula names columns, so X must be a data frame with names of columns")
    return table


def _evaluate(formula: Any, table: FrameTable, what: str) -> tuple[FloatArray, Any]:
    """Return the columns of a formula or a specification, n×q, and its specification; errors name the cause."""
    errors = _formulaic().errors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", errors.DataMismatchWarning)
        try:
            found = formula.get_model_matrix(_without_unused(table), context={}, na_action="ignore", output="numpy")
        except errors.DataMismatchWarning as error:
            raise ValueError(
                f"{what} meets categories that were not there in training, so they have no coefficient ({error})"
            ) from None
        except (errors.FormulaicError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{what} cannot be computed: {str(error).splitlines()[0]}") from error
    return np.array(found, dtype=np.float64), found.model_spec
