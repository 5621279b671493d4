"""The docstrings of the stub exist at runtime, too, so `help` shows them."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import covey
import covey._core
import pytest

STUB = ast.parse((Path(covey.__file__).parent / "_core.pyi").read_text())


def documented() -> Iterator[tuple[str, object, str | None]]:
    """Every public class of the stub and its members: name, object, and what the stub says."""
    for node in STUB.body:
        if isinstance(node, ast.ClassDef) and node.name in covey.__all__:
            kind = getattr(covey, node.name)
            yield node.name, kind, ast.get_docstring(node)
            for member, after in zip(node.body, [*node.body[1:], None], strict=True):
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    said = ast.get_docstring(member)
                    yield f"{node.name}.{member.name}", getattr(kind, member.name), said
                if isinstance(member, ast.AnnAssign) and isinstance(after, ast.Expr):
                    assert isinstance(member.target, ast.Name)
                    said = inspect.cleandoc(ast.literal_eval(after.value))
                    name = member.target.id
                    yield f"{node.name}.{name}", getattr(kind, name), said


@pytest.mark.parametrize(
    ("name", "thing", "said"), [*documented()], ids=lambda value: str(value)[:30]
)
def test_the_stub_s_words_are_there_at_runtime(name: str, thing: object, said: str | None) -> None:
    assert said, f"the stub says nothing of {name}"
    # Word by word: Rust and the stub break lines where each has room.
    assert (thing.__doc__ or "").split() == said.split()


def test_everything_public_has_a_docstring() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from covey import plots

    things = {name: getattr(covey, name) for name in covey.__all__ if name != "__version__"}
    things |= {f"plots.{name}": getattr(plots, name) for name in plots.__all__}
    for name, thing in [*things.items()]:
        if inspect.isclass(thing):
            members = [member for member in vars(thing) if not member.startswith("_")]
            things |= {
                f"{name}.{member}": inspect.getattr_static(thing, member) for member in members
            }
    # A class attribute has no docstring of its own at runtime.
    plain = (bool, str, tuple)
    silent = [n for n, t in things.items() if not isinstance(t, plain) and not inspect.getdoc(t)]
    assert silent == []


def test_the_docstring_of_plans_lists_ways_to_share() -> None:
    (sharing,) = (
        ast.literal_eval(node.value.slice)
        for node in STUB.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "Sharing"
    )
    assert [way for way in sharing if f'"{way}"' not in (covey.Plan.__doc__ or "")] == []
