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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.compile.lineage import Input, lineage
from scdgen.errors import UsageError, line_and_status
from scdgen.model import graph
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.run.delta import hash_spec
from scdgen.sql.tokens import first_line
from scdgen.url import HIDDEN, Url, hide_secrets
from scdgen.version import __version__

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent
    from openlineage.client.facet_v2 import DatasetFacet, JobFacet, OutputDatasetFacet, RunFacet
    from openlineage.client.facet_v2 import column_lineage_dataset as columns

_log = logging.getLogger(__name__)

_PATH = re.compile(r"([A-Za-z][\w+.-]+):(?://([^/]*))?(/.*)?", re.DOTALL)  # not C:/, a disk
# The stores that have folders; in the others the name of an object does not begin with a slash.
_WITH_FOLDERS = {"dbfs", "hdfs"}


class OpenLineage:
    """Where events go: a file, which gets a line for each, or the URL of a server."""

    def __init__(self, given: Url | str):
        """Raises :class:`UsageError` for a wrong URL or wrong settings, or if the client is not installed."""
        self.url = Url(given) if isinstance(given, str) else given
        place = self.url.full
        self.label = f"--openlineage {self.url}".rstrip()
        transport: dict[str, object] = {"type": "file", "log_file_path": str(Path(place).absolute()), "append": True}
        if re.match("https?://[^/]", place, re.IGNORECASE):
            # One retry at once: the client's default would let a run wait 9 seconds for each event.
            transport = {"type": "http", "url": place, "retry": {"total": 1}}
            if key := os.environ.get("OPENLINEAGE_API_KEY"):
                transport["auth"] = {"type": "api_key", "apiKey": key}
                if re.match(r"http:/{2}(?!localhost|127\.|\[::1\])", place, re.IGNORECASE):
                    _log.warning(f"{self.label}: sends OPENLINEAGE_API_KEY unencrypted; write https instead")
        elif not place or "://" in place:
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
            what = f"openlineage-python refuses this ({hide_secrets(first_line(error))})"
            raise self._wrong(what, "correct the URL, or openlineage.yml") from error

    def _wrong(self, what: str, fix: str) -> UsageError:
        return UsageError(what, option="--openlineage", place=self.label, fix=fix)


class Reported:
    """A run, for its events; ``counts`` are those of its result, ``None`` without one.

    ``instead`` is the path that is read instead of the spec's source; empty for a DataFrame, ``None`` for the source.
    """

    def __init__(self, namespace: str, spec: Spec, run_id: str, instead: str | None, infer: bool):
        self.namespace, self.spec, self.run_id, self.infer = namespace, spec, run_id, infer
        self.counts: Mapping[str, Any] | None = None
        # What is read as the source.
        self.source = spec.source
        if instead is not None:
            self.source = spec.source.model_copy(update={"table": None, "query": None, "path": instead or None})
        self.target = (namespace, _name_table(spec.target_parts))

    def build(self, kind: str, error: str | None = None) -> RunEvent:
        """Build the event of a kind, such as ``START``."""
        from openlineage.client import event_v2 as ol
        from openlineage.client import facet_v2 as facets

        # The id is always the same for a run of scdgen and a target.
        run_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"scdgen:{self.run_id}:{self.spec.target}"))
        tags = {"scdgen_run": self.run_id, "scdgen_spec_hash": hash_spec(self.spec)}
        listed = [facets.tags_run.TagsRunFacetFields(*tag, "SCDGEN") for tag in tags.items()]
        run: dict[str, RunFacet] = {"tags": facets.tags_run.TagsRunFacet(listed)}
        if error is not None:
            run["errorMessage"] = facets.error_message_run.ErrorMessageRunFacet(error, "PYTHON")
        job: dict[str, JobFacet] = {}
        if self.spec.description:
            job["documentation"] = facets.documentation_job.DocumentationJobFacet(self.spec.description)
        return ol.RunEvent(
            eventTime=dt.datetime.now(dt.timezone.utc).isoformat(timespec="milliseconds"),
            eventType=ol.RunState[kind],
            run=ol.Run(run_id, run),
            job=ol.Job(*self.target, job),
            inputs=self._list_inputs(),
            outputs=[self._describe_output()],
            producer=f"pkg:pypi/scdgen@{__version__}",
        )

    def _list_inputs(self) -> list[InputDataset]:
        """List the path, and the tables of source, join, query, expressions and facts, without the target itself."""
        from openlineage.client.event_v2 import InputDataset

        read = self.spec.model_copy(update={"source": self.source})
        names = [*graph.find_read_names(read), *(graph.find_fact_names(self.spec) if self.infer else ())]
        found = [_name_path(self.source.path)] if self.source.path else []
        found += [(self.namespace, _name_table(parts)) for parts in names]
        return [InputDataset(*dataset) for dataset in dict.fromkeys(found) if dataset != self.target]

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
        return OutputDataset(*self.target, facets=about, outputFacets=wrote)

    def _trace_columns(self, schema: set[str]) -> columns.ColumnLineageDatasetFacet | None:
        """The column lineage, as far as the columns of the source are those of a table or path."""
        from openlineage.client.facet_v2 import column_lineage_dataset as columns

        def list_fields(how: columns.Transformation, inputs: Iterable[Input]) -> list[columns.InputField]:
            return [columns.InputField(*column, [how]) for column in filter(None, map(self._find_column, inputs))]

        value, condition = columns.Transformation("DIRECT"), columns.Transformation("INDIRECT", "CONDITIONAL")
        fields, whole = dict[str, columns.Fields](), list[columns.InputField]()
        for one in lineage(self.spec).made:
            if one.rule:  # it applies to all columns, so it belongs to the dataset
                whole += list_fields(columns.Transformation("INDIRECT", description=one.name), one.by)
            elif one.name in schema and (inputs := [*list_fields(value, one.of), *list_fields(condition, one.by)]):
                fields[one.name] = columns.Fields(inputs)
        return columns.ColumnLineageDatasetFacet(fields, whole) if fields or whole else None

    def _find_column(self, given: Input) -> tuple[str, str, str] | None:
        """Find the dataset of a column; ``None`` if it is one of a SELECT or a DataFrame, which have no name."""
        source = self.source
        if given.kind != "column":
            return None
        if source.path is not None:
            return (*_name_path(source.path), given.name)
        if source.table is not None:
            return self.namespace, _name_table(sql.split_name(source.table)), given.name
        # The columns of a join begin with the table.
        for table in sorted((joined.table for joined in source.join.values()), key=len, reverse=True):
            if given.name.lower().startswith(f"{table.lower()}."):
                return self.namespace, _name_table(sql.split_name(table)), given.name[len(table) + 1 :]
        return None


@contextmanager
def report_run(
    events: OpenLineage | None, spec: Spec, run_id: str, instead: str | None = None, infer: bool = False
) -> Iterator[Reported]:
    """Send START before the block, and COMPLETE, FAIL or (after Ctrl-C) ABORT after it; nothing without ``events``.

    The block sets ``counts``.
    """
    run = Reported(events.namespace if events else "", spec, run_id, instead, infer)

    def send(kind: str, message: str | None = None) -> None:
        if events is None:
            return
        # Warn of a failure instead of raising it: lineage must not stop a load.
        try:
            events.emit(run.build(kind, message))
        except Exception as error:
            what = f"the run is not affected, but its event {kind} is lost"
            _log.warning(f"{events.label}: {spec.target}: {hide_secrets(first_line(error))}; {what}")

    send("START")
    try:
        yield run
    except Exception as error:
        send("FAIL", line_and_status(error, kept=True)[0])
        raise
    except BaseException:
        send("ABORT")
        raise
    send("COMPLETE")


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
