"""No secret of a URL, a path or a setting is printed, logged or sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scdgen.cli import log
from scdgen.cli.main import main
from scdgen.errors import line_and_status
from scdgen.run.openlineage import _name_path
from scdgen.url import Url

SPEC = "target: crm.t\npattern: scd1\nsource: {table: c.d}\nkeys: [id]\ncolumns: {id: int}\n"
# Forms of --remote with a token, right and a little wrong.
REMOTE = [
    "sc://h:1;token=S3cretT0ken", "sc://h:1/path;token=S3cretT0ken", "sc://h:1/;use_ssl=true;token=S3cretT0ken",
    "SC://h:1/;token=S3cretT0ken", "https://h/?token=S3cretT0ken", "https://user:S3cretT0ken@h/",
    "sc://S3cretT0ken@h:1", "h:1/;token=S3cretT0ken", "user:S3cretT0ken@h", "sc:/h:1/;token=S3cretT0ken",
]  # fmt: skip


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit):
        main([*words])
    return "".join(capsys.readouterr())


@pytest.fixture(autouse=True)
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yml").write_text(SPEC)


@pytest.mark.parametrize("form", REMOTE)
def test_token_of_a_server_is_hidden(
    form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether scdgen refuses the URL or the client does, which quotes it."""
    from pyspark.sql import SparkSession

    class Builder:
        def remote(self, url: str) -> Builder:
            raise ValueError(f"Cannot connect to {url}, invalid path component: S3cretT0ken")

    monkeypatch.setattr(SparkSession, "builder", Builder())
    for command in (
        ["run", "s.yml"],
        ["doctor"],
        ["run", "s.yml", "--debug"],
        ["run", "s.yml", "--log-format", "json"],
    ):
        text = said(capsys, *command, "--remote", form)
        assert "h" in text and "S3cret" not in text


def test_url_is_hidden_wherever_it_is_shown() -> None:
    url = Url("http://user:S3cretPW@host/x?api_key=S3cretKEY")
    assert f"{url} {url!r}" == "http://***@host/x*** Url()"


@pytest.mark.parametrize("path", ["s3a://KEY:SECRET@bucket/x.csv", "s3a://KEY:SEC/RET@bucket/x.csv"])
def test_credentials_in_a_path_are_hidden(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _name_path(path) == ("s3a://bucket", "x.csv")
    assert "SEC" not in line_and_status(OSError(2, "gone", path))[0]
    with log.printed():
        log.chosen.update(json=True)
        log.event("run begins", source=path)
    assert json.loads(capsys.readouterr().err)["source"] == "s3a://***@bucket/x.csv"


def test_container_of_azure_is_not_a_user() -> None:
    assert _name_path("abfss://container@account/a.csv") == ("abfss://container@account", "a.csv")


@pytest.mark.parametrize("pair", ["spark.hadoop.fs.s3a.secret.key:S3cretK", "=S3cretK", "spark.x S3cretK"])
def test_setting_without_a_name_is_not_shown(pair: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "run", "s.yml", "--conf", pair)
    assert "is not a name and value; write it as NAME=VALUE" in text and "S3cret" not in text
