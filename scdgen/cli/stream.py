"""``scdgen stream``: merges a stream into one or several tables; a signal stops it between two batches."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scdgen import paths
from scdgen.cli import log, options, output
from scdgen.errors import ScdgenError
from scdgen.model.spec import choose_feeds

if TYPE_CHECKING:
    from scdgen.run.stream import BatchResult, MicroBatch


def parse_interval(text: str) -> str:
    """Convert an interval to Spark's syntax.

    >>> parse_interval("10m")
    '10 minutes'
    """
    number, unit = options.parse_time("--interval", "interval", text, least=1)
    return f"{number} {unit}"


@click.command()
@options.specs_argument
@options.session_options
@options.input_options
@options.feed_option
@options.merge_options
@click.option("--interval", metavar="TIME", help="Keep running; look for new rows this often, such as 10m.")
@click.option("--checkpoint", metavar="DIR", help="The checkpoint.  [default: stream.checkpoint of the spec]")
@options.json_option()
def stream(
    specs: tuple[str, ...], source: str | None, feed: str | None, param: tuple[str, ...], engine: options.EngineOptions,
    interval: str | None, checkpoint: str | None, retries: int | None, retry_for: float,
    metrics: str | None, as_json: bool
) -> None:  # fmt: skip
    """Merge a stream: one MERGE per micro-batch and table, each batch once.

    Ctrl-C and SIGTERM stop it between batches.

    \b
    Examples:  scdgen stream specs/visitor --checkpoint checkpoints/visitor
               scdgen stream specs/customer.yml --interval 10m
    """
    from scdgen.engine.failures import translate
    from scdgen.run.runner import Runner
    from scdgen.run.stream import build_micro_batch, collect_options, open_stream

    every = parse_interval(interval) if interval else None
    loaded = choose_feeds(options.load_specs(specs), feed)
    measured = options.open_metrics(metrics, loaded)

    def report(done: BatchResult) -> None:
        log.event("batch done", **done.as_object())
        if as_json:
            click.echo(output.format_json(done.as_object()))
        else:
            output.say(output.describe_batch(done))

    # Each micro-batch is a run with an id of its own, so each makes a runner.
    make_runner = partial(Runner, retries=retries, metrics=measured, retry_for=retry_for)
    batch = build_micro_batch(loaded, make_runner, checkpoint, options.parse_pairs(param, "--param"), report)
    if engine.remote is None and "://" not in batch.checkpoint:
        batch.checkpoint = paths.spark_url(Path(batch.checkpoint))
    with options.open_runner(loaded, engine, metrics=measured, files=None) as runner:
        try:
            rows = open_stream(runner.spark, batch.fed, source, collect_options(batch.fed))
            targets = [step.spec.target for step in batch.steps]
            log.event("stream begins", targets=targets, checkpoint=batch.checkpoint)
            _follow(batch, rows, every, engine.remote is None)
        except (ScdgenError, OSError):
            raise
        except Exception as error:
            raise translate(batch.fed[0], error) from error


def _follow(batch: MicroBatch, rows: Any, every: str | None, local: bool) -> None:
    """Run the stream to its end, or until a signal, which takes effect after the current batch."""
    # A lock holds only batches that are merged in this process.
    batch.busy = threading.Lock() if local else None
    if not local:
        batch.report = None  # a process of the server merges the batches
    with _catch_signals() as stop:
        query = batch.start(rows, every)
        try:
            # Wake up each second to look for a signal.
            while not query.awaitTermination(1):
                if stop.is_set():
                    # Let the batch that runs come to its end, and begin no other.
                    batch.stopping = True
                    with batch.busy or threading.Lock():
                        query.stop()
                    log.note("stopped between two batches; the next start goes on from there")
                    return
        except Exception as error:
            if stop.is_set() and batch.error is None:  # Java got the signal too, as service managers send it to both
                log.note("stopped inside of a batch, which the next start takes again")
                return
            raise batch.error or error from error


@contextmanager
def _catch_signals() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C or SIGTERM sets; a second Ctrl-C interrupts."""
    stop = threading.Event()

    def note(number: int, _: object) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
