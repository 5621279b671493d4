"""Traces from tables with a row for each flow."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping
from typing import Any

from covey import _core
from covey._core import InputError, Trace

REQUIRED = ("coflow", "arrival_s", "src", "dst", "bytes")
OF_FLOW = ("src", "dst", "bytes", "start_s", "restart_s", "attempt", "ratio")
OF_COFLOW = ("arrival_s", "weight", "deadline_s", "job", "tenant", "parents", "compress")
KNOWN = ("coflow", *OF_FLOW, *OF_COFLOW)


def trace(frame: object, ports: int | None, name: str) -> Trace:
    """Make the trace of a table; `Trace.from_flows` says what belongs there."""
    columns = known(columns_of(frame), name)
    coflows: dict[str, tuple[dict[str, Any], list[int]]] = {}
    for row, values in enumerate(zip(*columns.values(), strict=True)):
        given = {key: plain(value) for key, value in zip(columns, values, strict=True)}
        given = {key: value for key, value in given.items() if value is not None}
        for column in REQUIRED:
            if column not in given:
                message = f"{name}: row {row}, column {column}: expected a value, found none"
                raise InputError(message)
        for column, value in given.items():
            if isinstance(value, float) and math.isinf(value):
                message = (
                    f"{name}: row {row}, column {column}: expected a finite number, found {value}"
                )
                raise InputError(message)
        for named in ("job", "tenant"):
            if named in given:
                given[named] = str(given[named])
        add(coflows, row, given, name)
    if ports is None:
        ends = (flow[end] for line, _ in coflows.values() for flow in line["flows"] for end in ENDS)
        ports = 1 + max((end for end in ends if isinstance(end, int)), default=0)
    lines = [{"covey_trace": 1, "ports": ports}, *(line for line, _ in coflows.values())]
    text = "\n".join(json.dumps(line) for line in lines)
    return _core.parse_rows(text.encode(), name, [rows for _, rows in coflows.values()])


ENDS = ("src", "dst")


def add(
    coflows: dict[str, tuple[dict[str, Any], list[int]]], row: int, given: dict[str, Any], name: str
) -> None:
    """Add the flow of a row to its coflow, of which all rows say the same."""
    coflow = str(given["coflow"])
    own = {column: given[column] for column in OF_COFLOW if column in given}
    line, rows = coflows.setdefault(coflow, ({"id": coflow, **own, "flows": []}, []))
    for column in OF_COFLOW:
        if line.get(column) != own.get(column):
            message = (
                f"{name}: row {row}, column {column}: expected {line.get(column)!r} as in "
                f"row {rows[0]} of coflow '{coflow}', found {own.get(column)!r}"
            )
            raise InputError(message)
    line["flows"].append({column: given[column] for column in OF_FLOW if column in given})
    rows.append(row)


def columns_of(frame: object) -> dict[str, list[Any]]:
    """Take a data frame apart."""
    table: Any = frame
    names = table if isinstance(frame, Mapping) else None
    for attribute in ("column_names", "columns"):
        names = getattr(frame, attribute, None) if names is None else names
    if names is None:
        message = (
            "frame: expected a data frame of pandas, polars or pyarrow, or a dict of columns, "
            f"found {frame!r}"
        )
        raise InputError(message)
    return {name: values_of(table[name]) for name in names if isinstance(name, str)}


def values_of(column: Any) -> list[Any]:
    """Give a column as Python's values."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return [*getattr(column, method)()]
    return [*column]


def known(columns: dict[str, list[Any]], name: str) -> dict[str, list[Any]]:
    """Keep the columns that say something, all of one length, and refuse names that are misspelt."""
    for column in columns:
        for meant in difflib.get_close_matches(column, KNOWN, n=1, cutoff=0.8):
            if meant not in columns:
                message = f"{name}: column '{column}' is not looked at: did you mean '{meant}'?"
                raise InputError(message)
    for column in REQUIRED:
        if column not in columns:
            found = ", ".join(columns) or "none"
            message = f"{name}: expected a column '{column}', found {found}"
            raise InputError(message)
    kept = {column: columns[column] for column in KNOWN if column in columns}
    lengths = {column: len(values) for column, values in kept.items()}
    if len({*lengths.values()}) > 1:
        message = f"{name}: expected columns of one length, found {lengths}"
        raise InputError(message)
    return kept


def plain(value: Any) -> Any:
    """Give what JSON has for a value: None for none, a whole number without its fraction."""
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() else value
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else value
