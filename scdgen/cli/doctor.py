"""``scdgen doctor``: checks whether this machine can run scdgen, with a way out for each failure."""

from __future__ import annotations

import click

from scdgen.cli import options, output
from scdgen.errors import EngineError


@click.command()
@click.option("--spark", is_flag=True, help="Also start Spark, which downloads missing JARs, and write a Delta table.")
@options.session_options
@options.common_options
def doctor(spark: bool, engine: options.EngineOptions) -> None:
    """Check Python, Java, Spark, Delta and the warehouse; exit 3 if one fails.

    With --remote, check the server instead of Java and Delta's JARs.

    \b
    Examples:  scdgen doctor
               scdgen doctor --spark
               scdgen doctor --remote sc://localhost:15002
    """
    from scdgen.engine import doctor as checks

    conf = options.parse_pairs(engine.conf, "--conf")
    failed = False

    def report(found: checks.Finding) -> None:
        nonlocal failed
        failed |= not found.ok
        output.echo(str(found))

    if engine.remote:
        for check in (checks.check_python(), checks.check_package("pyspark")):
            report(check)
        with output.progress("connecting"):
            answered = checks.try_remote(engine.remote, conf)
        report(answered)
    else:
        if spark:  # first, so that the JARs are there
            with output.progress("starting Spark"):
                started = checks.try_spark(engine.warehouse, conf)
        for found in checks.check_machine(engine.warehouse, conf):
            report(found)
        if spark:
            report(started)
    if failed:
        raise click.exceptions.Exit(EngineError.exit_status)
