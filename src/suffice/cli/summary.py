"""The summary that `suffice fit` prints."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.text import Text

from suffice.cli.decisions import described
from suffice.cli.fit import Fitted

#: the largest number of classes named
CLASSES = 6


def print_summary(fitted: Fitted) -> None:
    """Print the summary of a fit: rows, classes, columns, missing cells, time and file."""
    console = Console(highlight=False)
    for name, text in _facts(fitted).items():
        console.print(Text.assemble((f"{name:<9}", "bold cyan"), text), soft_wrap=True)
    console.print(Text(f"next: suffice predict {fitted.path} TABLE --proba", style="dim"), soft_wrap=True)


def _facts(fitted: Fitted) -> dict[str, str]:
    model, schema = fitted.model, fitted.model.schema_
    weight = model.statistics_.class_count
    rows = f"{fitted.rows:,}"
    facts = {"rows": f"{rows} (their weights sum to {weight.sum():,.6g})" if fitted.weighted else rows}
    facts["classes"] = _classes(fitted)
    families = Counter({block.family.name: 0 for block in schema.blocks})
    for block in schema.blocks:
        families[block.family.name] += len(block.columns)
    kinds = ", ".join(f"{count} {name}" for name, count in families.most_common())
    facts["columns"] = f"{schema.n_columns}: {kinds}"
    cells = fitted.rows * schema.n_columns
    share = f" of {cells:,} cells ({fitted.missing_cells / max(cells, 1):.1%})" if fitted.missing_cells else ""
    facts["missing"] = f"{fitted.missing_cells:,}{share}" if fitted.missing_cells else "none"
    decision = described(model.threshold, model.cost, model.classes_)
    if decision:
        facts["predicts"] = decision
    facts["time"] = f"{fitted.seconds:.2f} s"
    facts["model"] = f"{fitted.path} ({fitted.path.stat().st_size / 1000:,.1f} kB)"
    return facts


def _classes(fitted: Fitted) -> str:
    count = fitted.model.statistics_.class_count
    shares = sorted(zip(count / count.sum(), fitted.model.classes_.tolist(), strict=True), key=lambda pair: -pair[0])
    named = ", ".join(f"{label} {share:.1%}" for share, label in shares[:CLASSES])
    more = f" and {len(shares) - CLASSES} more" if len(shares) > CLASSES else ""
    return f"{len(shares)}: {named}{more}{' by weight' if fitted.weighted else ''}"
