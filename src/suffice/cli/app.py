"""The commands and their options; the work is in `fit`, `predict` and `suffice.demo`."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer

from suffice._version import __version__
from suffice.terminal.help import PlainTyper
from suffice.terminal.mistakes import PlainSpeaking

_EXAMPLE = """[bold]Example[/bold]

[cyan]suffice fit votes.csv --target Class -o votes.suffice[/cyan]

[cyan]suffice predict votes.suffice new.csv --proba --explain[/cyan]"""

_ThresholdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="[CLASS=]T",
        help="Predict a class only from this probability on: spam=0.9; of two classes, a number alone is for the last. "
        "Repeatable with several classes: the largest probability divided by its threshold wins.",
    ),
]
_CostOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cost",
        metavar="TRUE:PREDICTED=COST",
        help="The cost of an error, such as ham:spam=100 for ham that is called spam; other errors cost 1. The class "
        "of least expected cost is predicted. Repeatable.",
    ),
]

app = PlainTyper(
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn a generative classifier from a table, and predict with it; every prediction can be explained.

    Columns may hold numbers, booleans and words; missing cells need no preparation.
    """
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command(epilog="[bold]Example[/bold]  [cyan]suffice fit votes.csv --target Class -o votes.suffice[/cyan]")
def fit(
    table_path: Annotated[
        str,
        typer.Argument(
            help="A .csv file, a .parquet file, a folder of .parquet files or a quoted pattern of them "
            "('data/*.parquet'); or a folder of mailboxes.",
            metavar="TABLE",
        ),
    ],
    target: Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    weight: Annotated[
        str | None,
        typer.Option("--weight", "-w", metavar="COLUMN", help="The column that holds the weight of each row."),
    ] = None,
    covariance: Annotated[
        str,
        typer.Option(
            metavar="STRUCTURE",
            help="The covariance of the numeric columns: diagonal, tied, full, tied-diagonal, spherical, "
            "tied-spherical, or a code of mclust such as VVE.",
        ),
    ] = "diagonal",
    family: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=FAMILY",
            help="The family of a column: gaussian, bernoulli, categorical, poisson, gamma, beta, … Repeatable.",
        ),
    ] = None,
    prior: Annotated[
        str, typer.Option(metavar="PRIOR", help="The prior: auto, none (maximum likelihood) or a pseudo-count.")
    ] = "auto",
    drop: Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out. Repeatable.")] = None,
    threshold: _ThresholdOption = None,
    cost: _CostOption = None,
) -> None:
    """Learn a model from a table and write it to a file.

    Numbers are Gaussian, booleans Bernoulli, words categorical and sentences bags of words, unless --family chooses
    another family.

    In a CSV file, empty cells, NA, NaN and null are missing values.

    Parquet files are read in batches, so they may be larger than memory.

    A folder of mailboxes is a table of mail, with the columns folder, from, subject and body.
    """
    from suffice.cli.fit import fit_file
    from suffice.cli.summary import print_summary

    families, known_prior = _settings(family or [], covariance, prior)
    print_summary(
        fit_file(
            table_path,
            target,
            output,
            weight=weight,
            covariance=covariance,
            families=families,
            prior=known_prior,
            drop=drop or [],
            threshold=threshold or [],
            cost=cost or [],
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
    model_path: Annotated[str, typer.Argument(help="A model that `suffice fit` wrote.", metavar="MODEL")],
    table_path: Annotated[
        str,
        typer.Argument(
            help="A .csv file, a .parquet file, a folder of .parquet files or a quoted pattern of them "
            "('data/*.parquet'); or a folder of mailboxes.",
            metavar="TABLE",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The .csv or .parquet file to write; standard output by default."
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add the columns that contributed most, with their log-odds.")
    ] = False,
    threshold: _ThresholdOption = None,
    cost: _CostOption = None,
) -> None:
    """Predict the class of each row of a table.

    The columns are found by name; the table may have others as well, such as the target.

    --threshold and --cost take the place of those of the model.
    """
    from suffice.cli.predict import predict_file

    rows = predict_file(
        model_path, table_path, output, proba=proba, explain=explain, threshold=threshold or [], cost=cost or []
    )
    if output is not None:
        typer.echo(f"{rows:,} predictions written to {output}", err=True)


@app.command()
def demo() -> None:
    """Show what Suffice does, compared with scikit-learn, in a few seconds."""
    from suffice.demo import run

    run()
