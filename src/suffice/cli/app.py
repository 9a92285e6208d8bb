"""The commands and their options; the work is in `fit`, `predict` and `suffice.demo`."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer

from suffice._version import __version__
from suffice.terminal.mistakes import PlainSpeaking

_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice fit votes.csv --target Class -o votes.suffice[/cyan]

[cyan]suffice predict votes.suffice new.csv --proba --explain[/cyan]"""

app = typer.Typer(
    cls=PlainSpeaking,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXAMPLE,
)
for _commands in entry_points(group="suffice.commands"):  # commands of the spam filter and other applications
    app.add_typer(_commands.load())


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"suffice {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def suffice(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Learn a generative classifier from a table, and predict with reasons.

    Numbers, booleans and words are read as they are; a missing cell is left out of every sum.
    """
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice fit votes.csv --target Class -o votes.suffice[/cyan]")
def fit(
    table: Annotated[
        str, typer.Argument(help="A .csv file, or a .parquet file, a folder of them or a 'pattern'.", metavar="TABLE")
    ],
    target: Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    weight: Annotated[
        str | None, typer.Option("--weight", "-w", metavar="COLUMN", help="The column with the weight of each row.")
    ] = None,
    covariance: Annotated[
        str,
        typer.Option(
            metavar="STRUCTURE",
            help="How numbers vary together: diagonal, tied, full, tied-diagonal, spherical, tied-spherical, or a code "
            "like VVE.",
        ),
    ] = "diagonal",
    family: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NAME",
            help="Read a column as gaussian, bernoulli, categorical, poisson, gamma, beta, … Repeatable.",
        ),
    ] = None,
    prior: Annotated[
        str, typer.Option(metavar="PRIOR", help="auto, none (maximum likelihood) or a pseudo-count.")
    ] = "auto",
    drop: Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out. Repeatable.")] = None,
) -> None:
    """Learn a model from a table and write it to a file.

    Numbers are Gaussian, booleans Bernoulli, words categorical, or what --family says.

    In a CSV file, empty cells, NA, NaN and null are missing.

    Parquet is read a part at a time, so it may be larger than memory.
    """
    from suffice.cli.fit import fit_file
    from suffice.cli.summary import print_summary

    families, known_prior = _settings(family or [], covariance, prior)
    print_summary(
        fit_file(
            table,
            target,
            output,
            weight=weight,
            covariance=covariance,
            families=families,
            prior=known_prior,
            drop=drop or [],
        )
    )


def _settings(family: list[str], covariance: str, prior: str) -> tuple[Any, Any]:
    """Return the families and the prior that the options specify; raise BadParameter if an option is invalid."""
    from suffice.cli.settings import parse_families, parse_prior
    from suffice.families.gaussian.covariance import as_structure

    try:
        as_structure(covariance)
        return parse_families(family, covariance), parse_prior(prior)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice predict votes.suffice new.csv --proba | head[/cyan]")
def predict(
    model: Annotated[str, typer.Argument(help="A model that `suffice fit` wrote.", metavar="MODEL")],
    table: Annotated[
        str, typer.Argument(help="A .csv file, or a .parquet file, a folder of them or a 'pattern'.", metavar="TABLE")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .csv or .parquet file; standard output by default."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add the columns that mattered most, with their log-odds.")
    ] = False,
) -> None:
    """Predict the class of each row of a table.

    The table may have other columns too, such as the target; the model takes its own by name.
    """
    from suffice.cli.predict import predict_file

    rows = predict_file(model, table, output, proba=proba, explain=explain)
    if output is not None:
        typer.echo(f"{rows:,} predictions written to {output}", err=True)


@app.command()
def demo() -> None:
    """Show what Suffice does, beside scikit-learn, in a few seconds."""
    from suffice.demo import run

    run()
