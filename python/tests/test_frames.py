"""Frames: the Arrow interface, and its use by libraries."""

import covey
import pytest


def test_columns_are_lists_too() -> None:
    frame = covey.Frame({"a": [1, None], "b": [1.5, 2], "c": ["x", None], "d": [True, False]})
    assert frame.columns == ["a", "b", "c", "d"]
    assert [frame[name] for name in frame.columns] == [
        [1, None],
        [1.5, 2.0],
        ["x", None],
        [True, False],
    ]
    assert len(frame) == 2
    assert "<td>1.5</td>" in frame._repr_html_()
    with pytest.raises(KeyError, match="no column 'e'"):
        frame["e"]
    with pytest.raises(TypeError, match="expected numbers"):
        covey.Frame({"a": [1, "x"]})


def test_polars_and_pyarrow_share_the_memory(hour: covey.Trace) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = covey.simulate(hour, "sebf").per_flow

    def address(table: object) -> int:
        column = pa.table(table).column("fct_s").chunk(0)
        return int(column.buffers()[1].address)

    assert address(frame) == address(frame)
    assert address(frame.to_pyarrow()) == address(frame)
    assert address(frame.to_polars()) == address(frame)
    assert pl.DataFrame(frame)["coflow_id"].dtype in (pl.Categorical, pl.String)


def test_pandas_gets_numbers_without_a_copy(hour: covey.Trace) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    result = covey.simulate(hour, "sebf")
    frame = result.per_flow
    arrow = frame.to_pyarrow().column("fct_s").chunk(0).buffers()[1].address
    column = frame.to_pandas()["fct_s"].to_numpy()
    assert column.ctypes.data == arrow
    table = result.per_coflow.to_pandas()
    assert table["cct_s"].mean() == pytest.approx(result.summary()["cct_s"]["mean"])
