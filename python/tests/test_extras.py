"""Errors name the extra of a package that is not installed."""

import builtins
from collections.abc import Callable

import covey
import pytest
from covey._extras import library


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any of the optional packages."""
    import importlib
    import sys

    optional = {"pandas", "pyarrow", "polars", "matplotlib", "ray", "distributed"}
    for name in [*sys.modules]:
        if name.partition(".")[0] in optional or name == "covey.plots":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(covey, "plots", raising=False)
    real = builtins.__import__, importlib.import_module

    def missing(name: str) -> None:
        if name.partition(".")[0] in optional:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name.partition(".")[0])

    def imported(name: str, *rest: object) -> object:
        missing(name)
        return real[1](name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("covey._extras.import_module", imported)


def plots() -> None:
    import covey.plots  # noqa: F401


GRID = {"trace": "builtin:fb-like:coflows=5", "policy": "fair"}


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("use", "package", "extra"),
    [
        (lambda: covey.Frame({"a": [1]}).to_pyarrow(), "pyarrow", "pandas"),
        (lambda: covey.Frame({"a": [1]}).to_pandas(), "pandas", "pandas"),
        (lambda: covey.Frame({"a": [1]}).to_polars(), "polars", "polars"),
        (plots, "matplotlib", "plot"),
        (lambda: covey.sweep(GRID, engine="ray"), "ray", "ray"),
        (lambda: covey.sweep(GRID, engine="dask"), "distributed", "dask"),
    ],
)
def test_the_extra_is_named(use: Callable[[], object], package: str, extra: str) -> None:
    with pytest.raises(ModuleNotFoundError) as error:
        use()
    expected = f"this needs {package}, which is not installed: pip install 'covey[{extra}]'"
    assert str(error.value) == expected


def test_a_missing_dependency_of_a_library_is_reported_unchanged(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needy.py").write_text("import what_nobody_has")  # type: ignore[operator]
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="No module named 'what_nobody_has'"):
        library("needy", "pandas")


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert covey.__version__ == version("covey")
