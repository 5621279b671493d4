"""Traces from tables with a row for each flow."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from covey import _core
from covey._core import InputError, Trace

REQUIRED = ("coflow", "src", "dst", "bytes")
ENDS = ("src", "dst")
OF_FLOW = ("src", "dst", "bytes", "start_s", "restart_s", "attempt", "ratio")
OF_COFLOW = ("arrival_s", "weight", "deadline_s", "job", "tenant", "parents", "compress")
KNOWN = ("coflow", *OF_FLOW, *OF_COFLOW)


def trace(
    frame: object, ports: int | None, name: str, columns_named: Mapping[str, str] | None
) -> Trace:
    """Make the trace of a table; `Trace.from_flows` says what belongs there."""
    columns = known(renamed(columns_of(frame), columns_named, name), name)
    on_one_clock(columns, name)
    hosts = numbered(columns, ports, name)
    coflows: dict[str, tuple[dict[str, Any], list[int]]] = {}
    for row, values in enumerate(zip(*columns.values(), strict=True)):
        given = {key: plain(value) for key, value in zip(columns, values, strict=True)}
        given = {key: value for key, value in given.items() if value is not None}
        for column in (*REQUIRED, "arrival_s"):
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
    if hosts:
        ports = len(hosts)
    if ports is None:
        ends = (flow[end] for line, _ in coflows.values() for flow in line["flows"] for end in ENDS)
        ports = 1 + max((end for end in ends if isinstance(end, int)), default=0)
    header = {"covey_trace": 1, "ports": ports, **({"hosts": hosts} if hosts else {})}
    lines = [header, *(line for line, _ in coflows.values())]
    text = "\n".join(json.dumps(line) for line in lines)
    return _core.parse_rows(text.encode(), name, [rows for _, rows in coflows.values()])


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


def renamed(
    columns: dict[str, list[Any]], names: Mapping[str, str] | None, name: str
) -> dict[str, list[Any]]:
    """Give columns the names that they have here, if the table calls them otherwise."""
    for own, given in (names or {}).items():
        if own not in KNOWN:
            message = f"columns: expected {', '.join(KNOWN)}, found '{own}'"
            raise InputError(message)
        if given not in columns:
            message = f"{name}: expected a column '{given}', found {', '.join(columns) or 'none'}"
            raise InputError(message)
    taken = {**(names or {})}
    others = {key: values for key, values in columns.items() if key not in taken.values()}
    return others | {own: columns[given] for own, given in taken.items()}


def on_one_clock(columns: dict[str, list[Any]], name: str) -> None:
    """Make seconds of dates; without arrivals, a coflow arrives with its first flow."""
    starts = columns.get("start_s")
    arrivals = columns.get("arrival_s")
    if arrivals is None:
        if starts is None:
            message = (
                f"{name}: expected a column 'arrival_s' or 'start_s', found {', '.join(columns)}"
            )
            raise InputError(message)
        first: dict[str, Any] = {}
        for row, (coflow, start) in enumerate(zip(columns["coflow"], starts, strict=True)):
            if plain(start) is None:
                message = f"{name}: row {row}, column start_s: expected a value, found none"
                raise InputError(message)
            first[str(coflow)] = min(first.get(str(coflow), start), start)
        arrivals = [first[str(coflow)] for coflow in columns["coflow"]]
    is_clock = "arrival_s" not in columns or any(
        isinstance(start, datetime) for start in starts or ()
    )
    if starts is not None and is_clock:
        pairs = zip(starts, arrivals, strict=True)
        columns["start_s"] = [
            after(start, arrival, f"{name}: row {row}")
            for row, (start, arrival) in enumerate(pairs)
        ]
    columns["arrival_s"] = [seconds(arrival) for arrival in arrivals]


def after(start: Any, arrival: Any, where: str) -> Any:
    """Give the seconds from an arrival to a start; None if there is no start."""
    if plain(start) is None:
        return None
    try:
        passed = start - arrival
    except TypeError:
        expected = "expected a time of the kind of the arrival, with a zone or without"
        message = f"{where}, column start_s: {expected}, found {start!r} and {arrival!r}"
        raise InputError(message) from None
    return passed.total_seconds() if hasattr(passed, "total_seconds") else passed


def seconds(value: Any) -> Any:
    """Give a date in seconds after 1970; without a zone it is in UTC. Everything else stays."""
    if not isinstance(value, datetime) or plain(value) is None:
        return value
    return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp()


def numbered(columns: dict[str, list[Any]], ports: int | None, name: str) -> list[str]:
    """Put ports in the place of names of hosts; give the names, in the order of their ports."""
    ends = [(end, row, value) for end in ENDS for row, value in enumerate(columns[end])]
    if not any(isinstance(value, str) for _, _, value in ends):
        return []
    if ports is not None:
        message = f"ports: expected none where hosts have names, found {ports}"
        raise InputError(message)
    for end, row, value in ends:
        if not isinstance(value, str):
            message = f"{name}: row {row}, column {end}: expected a name, found {value!r}"
            raise InputError(message)
    hosts = sorted({value for _, _, value in ends})
    port = {host: number for number, host in enumerate(hosts)}
    for end in ENDS:
        columns[end] = [port[value] for value in columns[end]]
    return hosts


def values_of(column: Any) -> list[Any]:
    """Give a column as Python's values."""
    for method in ("to_pylist", "to_list"):
        if hasattr(column, method):
            return [*getattr(column, method)()]
    if hasattr(column, "tolist"):
        # Of nanoseconds, numpy makes whole numbers.
        is_date = column.dtype.kind == "M"
        return [*(column.astype("datetime64[us]") if is_date else column).tolist()]
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
