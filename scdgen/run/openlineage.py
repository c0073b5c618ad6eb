"""Sends each run of a table as events of OpenLineage to a file or a server (``--openlineage FILE|URL``).

The package openlineage-python builds and sends them. An event that cannot be sent is lost, and the run goes on.
"""

from __future__ import annotations

import datetime as dt
import logging
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.compile.lineage import Input, lineage
from scdgen.errors import UsageError, cause_of_system, line_and_status, printable
from scdgen.model import graph
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.run.delta import hash_spec
from scdgen.url import HIDDEN, Url, hide_secrets
from scdgen.version import __version__

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent
    from openlineage.client.facet_v2 import DatasetFacet, JobFacet, OutputDatasetFacet, RunFacet
    from openlineage.client.facet_v2 import column_lineage_dataset as columns

_log = logging.getLogger(__name__)

_PRODUCER = f"pkg:pypi/scdgen@{__version__}"
_PATH = re.compile(r"([A-Za-z][\w+.-]+):(?://([^/]*))?(/.*)?", re.DOTALL)  # not C:/, a disk
# The stores that have folders; in the others the name of an object does not begin with a slash.
_WITH_FOLDERS = {"dbfs", "hdfs"}
# One retry at once: the client's default would let a run wait 9 seconds for each event if the server is down.
_RETRY = {"total": 1}


class OpenLineage:
    """Where events go: a file, which gets a line for each, or the URL of a server."""

    def __init__(self, given: Url | str):
        """Raises :class:`UsageError` for a wrong URL or wrong settings, or if the client is not installed."""
        self.url = Url(given) if isinstance(given, str) else given
        place = self.url.full
        self.label = f"--openlineage {self.url}".rstrip()
        # Choose where events go: a path is a file, a URL of http or https a server.
        scheme = re.match(r"([A-Za-z][\w+.-]*)://(.?)", place)
        transport: dict[str, object]
        if scheme is None and place:
            transport = {"type": "file", "log_file_path": str(Path(place).absolute()), "append": True}
        elif scheme and scheme[1].lower() in {"http", "https"} and scheme[2] not in {"", "/"}:
            transport = {"type": "http", "url": place, "retry": _RETRY}
            if key := os.environ.get("OPENLINEAGE_API_KEY"):
                transport["auth"] = {"type": "api_key", "apiKey": key}
                if scheme[1].lower() == "http" and not re.match(r"http:/{2}(localhost|127\.|\[::1\])", place, re.I):
                    _log.warning(f"{self.label}: sends OPENLINEAGE_API_KEY unencrypted; write https instead")
        else:
            raise self._wrong("is neither a file nor a server", "write a path, or a URL of http or https")
        # Import late: only runs with this option need the package.
        try:
            from openlineage.client import OpenLineageClient
            from openlineage.client.constants import DEFAULT_NAMESPACE_NAME
        except ImportError as error:
            what = "needs openlineage-python, which is not installed"
            raise self._wrong(what, "run: pip install openlineage-python") from error
        self.namespace = os.environ.get("OPENLINEAGE_NAMESPACE") or DEFAULT_NAMESPACE_NAME
        # Build the client now, so that wrong settings stop the command before the first run.
        try:
            self.emit = OpenLineageClient(config={"transport": transport}).emit
        except Exception as error:
            what = f"openlineage-python refuses this ({_describe(error)})"
            raise self._wrong(what, "correct the URL, or openlineage.yml") from error

    def _wrong(self, what: str, fix: str) -> UsageError:
        return UsageError(what, option="--openlineage", place=self.label, fix=fix)


@dataclass
class Reported:
    """A run, for its events."""

    namespace: str
    """The namespace of its job; empty if no events are sent."""
    spec: Spec
    """The spec as it was given."""
    run_id: str
    """The id of the run in scdgen."""
    instead: str | None = None
    """The path that is read instead of the spec's source; empty for a DataFrame, ``None`` for the source."""
    infer: bool = False
    """Whether the run infers members first."""
    counts: Mapping[str, Any] | None = None
    """``inserted``, ``updated``, ``refreshed``, ``inferred`` and ``version`` of the result; ``None`` without one."""

    @cached_property
    def _read(self) -> Spec:
        """The spec with what is read as its source."""
        if self.instead is None:
            return self.spec
        source = {"table": None, "query": None, "path": self.instead or None}
        return self.spec.model_copy(update={"source": self.spec.source.model_copy(update=source)})

    def build(self, kind: str, error: str | None = None) -> RunEvent:
        """Build the event of a kind, such as ``START``."""
        from openlineage.client import event_v2 as ol
        from openlineage.client.facet_v2 import error_message_run, processing_engine_run, tags_run

        # The id is always the same for a run of scdgen and a target.
        run_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"scdgen:{self.run_id}:{self.spec.target}"))
        tags = [("scdgen_run", self.run_id), ("scdgen_spec_hash", hash_spec(self.spec))]
        about: dict[str, RunFacet] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet(__version__, "scdgen"),
            "tags": tags_run.TagsRunFacet([tags_run.TagsRunFacetFields(*tag, "SCDGEN") for tag in tags]),
        }
        if error is not None:
            about["errorMessage"] = error_message_run.ErrorMessageRunFacet(error, "PYTHON")
        event = ol.RunEvent(
            eventTime=dt.datetime.now(dt.timezone.utc).isoformat(timespec="milliseconds"),
            eventType=ol.RunState[kind],
            run=ol.Run(run_id, about),
            job=ol.Job(self.namespace, _name_table(self.spec.target_parts), self._describe_job()),
            inputs=self._list_inputs(),
            outputs=[self._describe_output()],
            producer=_PRODUCER,
        )
        # Set the producer on the facets too; the client would name itself.
        for facet in _find_facets(event):
            facet._producer = _PRODUCER
        return event

    def _describe_job(self) -> dict[str, JobFacet]:
        from openlineage.client.facet_v2 import documentation_job, job_type_job, source_code_location_job

        found: dict[str, JobFacet] = {"jobType": job_type_job.JobTypeJobFacet("BATCH", "SCDGEN", "JOB")}
        if self.spec.description:
            found["documentation"] = documentation_job.DocumentationJobFacet(self.spec.description)
        file = Path(self.spec.origin).absolute()
        if file.is_file():
            found["sourceCodeLocation"] = source_code_location_job.SourceCodeLocationJobFacet("file", file.as_uri())
        return found

    def _list_inputs(self) -> list[InputDataset]:
        """List the path, and the tables of source, join, query, expressions and facts, without the target itself."""
        from openlineage.client.event_v2 import InputDataset

        names = [*graph.find_read_names(self._read), *(graph.find_fact_names(self.spec) if self.infer else ())]
        found = [_name_path(path)] if (path := self._read.source.path) else []
        found += [(self.namespace, _name_table(parts)) for parts in names]
        own = (self.namespace, _name_table(self.spec.target_parts))
        return [InputDataset(*dataset) for dataset in dict.fromkeys(found) if dataset != own]

    def _describe_output(self) -> OutputDataset:
        from openlineage.client import facet_v2 as facets
        from openlineage.client.event_v2 import OutputDataset

        schema = [
            facets.schema_dataset.SchemaDatasetFacetFields(sql.unquote(column.name), column.type, column.comment)
            for column in pattern_of(self.spec).columns(self.spec)
        ]
        about: dict[str, DatasetFacet] = {"schema": facets.schema_dataset.SchemaDatasetFacet(schema)}
        if traced := self._trace_columns({field.name for field in schema}):
            about["columnLineage"] = traced
        wrote: dict[str, OutputDatasetFacet] = {}
        if self.counts is not None:
            rows = sum(self.counts.get(name) or 0 for name in ("inserted", "updated", "refreshed", "inferred"))
            version = str(self.counts["version"])
            about["version"] = facets.dataset_version_dataset.DatasetVersionDatasetFacet(version)
            statistics = facets.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rows)
            wrote["outputStatistics"] = statistics
        return OutputDataset(self.namespace, _name_table(self.spec.target_parts), facets=about, outputFacets=wrote)

    def _trace_columns(self, schema: set[str]) -> columns.ColumnLineageDatasetFacet | None:
        """The column lineage, as far as the columns of the source are those of a table or path."""
        from openlineage.client.facet_v2 import column_lineage_dataset as columns

        # Several transformations of one input are one field with a list of them.
        def list_fields(*given: tuple[columns.Transformation, Iterable[Input]]) -> list[columns.InputField]:
            found: dict[tuple[str, str, str], list[columns.Transformation]] = {}
            for how, inputs in given:
                for column in filter(None, map(self._find_column, inputs)):
                    found.setdefault(column, []).append(how)
            return [columns.InputField(*column, how) for column, how in found.items()]

        value, condition = columns.Transformation("DIRECT"), columns.Transformation("INDIRECT", "CONDITIONAL")
        made = lineage(self.spec).made
        fields = {
            one.name: columns.Fields(inputs)
            for one in made
            if one.name in schema and (inputs := list_fields((value, one.of), (condition, one.by)))
        }
        # Rules about rows apply to all columns, so they belong to the dataset.
        rules = ((columns.Transformation("INDIRECT", description=one.name), one.by) for one in made if one.rule)
        whole = list_fields(*rules)
        return columns.ColumnLineageDatasetFacet(fields, whole) if fields or whole else None

    def _find_column(self, given: Input) -> tuple[str, str, str] | None:
        """Find the dataset of a column; ``None`` if it is one of a SELECT or a DataFrame, which have no name."""
        source = self._read.source
        if given.kind != "column":
            return None
        for table in sorted((joined.table for joined in source.join.values()), key=len, reverse=True):
            if given.name.lower().startswith(f"{table.lower()}."):
                return self.namespace, _name_table(sql.split_name(table)), given.name[len(table) + 1 :]
        if source.path is not None:
            return (*_name_path(source.path), given.name)
        if source.table is not None:
            return self.namespace, _name_table(sql.split_name(source.table)), given.name
        return None


@contextmanager
def report_run(
    events: OpenLineage | None, spec: Spec, run_id: str, instead: str | None = None, infer: bool = False
) -> Iterator[Reported]:
    """Send START before the block, and COMPLETE, FAIL or (after Ctrl-C) ABORT after it; nothing without ``events``.

    The block sets ``counts``. If events are lost, one warning names all of them.
    """
    run = Reported(events.namespace if events else "", spec, run_id, instead, infer)
    if events is None:
        yield run
        return
    # Collect failures instead of raising them: lineage must not stop a load.
    lost: dict[str, Exception] = {}

    def send(kind: str, message: str | None = None) -> None:
        try:
            events.emit(run.build(kind, message))
        except Exception as error:
            lost[kind] = error

    send("START")
    try:
        yield run
    except Exception as error:
        send("FAIL", line_and_status(error, kept=True)[0])
        raise
    except BaseException:
        send("ABORT")
        raise
    else:
        send("COMPLETE")
    finally:
        if lost:
            why, what = _describe(next(iter(lost.values()))), f"events of {spec.target} are lost: {', '.join(lost)}"
            _log.warning(f"{events.label}: {why}; the run is not affected, but {what}")


def _describe(error: Exception) -> str:
    """Say on one line why an event was not sent.

    >>> _describe(OSError("HTTPConnection(host='a', port=80): Failed to connect: [Errno 111] Connection refused"))
    'Failed to connect: Connection refused'
    """
    if isinstance(error.__cause__, OSError) and error.__cause__.errno is not None:
        return cause_of_system(error.__cause__)
    reason = getattr(next(iter(error.args), None), "reason", None) or error  # urllib3's, after its last try
    text = (str(reason).splitlines() or [type(error).__name__])[0]
    return printable(re.sub(r"^HTTPS?\w*\(.*?\): |\[Errno -?\d+\] ", "", text))


def _find_facets(event: RunEvent) -> Iterator[Any]:
    outputs = [part for output in event.outputs or [] for part in (output.facets, output.outputFacets)]
    for facets in (event.run.facets, event.job.facets, *outputs):
        yield from (facets or {}).values()


def _name_table(parts: graph.Name) -> str:
    """Name a table such that all specs name it alike, but for a catalog that only some write."""
    return ".".join(graph.full_name(parts))


def _name_path(path: str) -> tuple[str, str]:
    """Return the namespace and the name of the dataset at a path, by OpenLineage's rules, without what may be secret.

    >>> _name_path("s3://landing/crm/day.csv"), _name_path("hdfs://node:8020/crm"), _name_path("/data/day.csv")
    (('s3://landing', 'crm/day.csv'), ('hdfs://node:8020', '/crm'), ('file', '/data/day.csv'))
    """
    found = _PATH.fullmatch(hide_secrets(path).replace(f"{HIDDEN}@", "").removesuffix(HIDDEN))
    if found is None:
        return "file", str(Path(path).absolute())
    scheme, host, name = found[1].lower(), found[2] or "", found[3] or "/"
    if scheme == "file":
        return "file", name
    return f"{scheme}://{host}", name if scheme in _WITH_FOLDERS else name.lstrip("/") or "/"
