"""Every field of a dataclass has a text of its own below it, and not a share in the docstring of the class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "scdgen"
PACKAGES = ("facts", "patterns", "compile", "engine", "run", "stored")


def without_text(tree: ast.Module) -> Iterator[str]:
    """Yield ``Class.field`` for each field of a dataclass that no text follows."""
    for found in ast.walk(tree):
        if not isinstance(found, ast.ClassDef) or not any("dataclass" in ast.unparse(d) for d in found.decorator_list):
            continue
        for node, after in zip(found.body, [*found.body[1:], None], strict=True):
            if not isinstance(node, ast.AnnAssign) or "ClassVar" in ast.unparse(node.annotation):
                continue
            text = after.value if isinstance(after, ast.Expr) else None
            if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
                yield f"{found.name}.{ast.unparse(node.target)}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_field_has_a_text(package: str) -> None:
    for path in sorted((ROOT / package).glob("*.py")):
        found = list(without_text(ast.parse(path.read_text(encoding="utf-8"))))
        assert not found, path.name


def test_a_field_without_text_is_found() -> None:
    text = '@dataclass\nclass A:\n    """a and b"""\n    a: int\n    """Its text."""\n    b: int\n    c: ClassVar[int]'
    assert list(without_text(ast.parse(text))) == ["A.b"]
