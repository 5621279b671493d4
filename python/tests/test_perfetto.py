"""Traces for Perfetto's viewer, read by Perfetto's own schema."""

import subprocess
import sys
from pathlib import Path

import covey
import pytest

schema = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
COMMAND = Path(sys.executable).parent / "covey"
TRACE = "builtin:fb-like:coflows=40,ports=20,seed=3"

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the package is not installed here")


@pytest.mark.parametrize("policy", ["covey", "aalo", "fair"])
def test_every_completion_time_is_in_the_trace(tmp_path, policy):
    file = tmp_path / "run.pftrace"
    arguments = ["simulate", TRACE, "--policy", policy, "--trace-out", str(file)]
    subprocess.run([COMMAND, *arguments], check=True, capture_output=True, timeout=60)
    trace = schema.Trace()
    trace.ParseFromString(file.read_bytes())
    names, tracks, found, begun = {}, {}, {}, {}
    kinds = schema.TrackEvent.Type
    for packet in trace.packet:
        for name in packet.interned_data.event_names:
            names[name.iid] = name.name
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        track = tracks[event.track_uuid]
        if event.type == kinds.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in begun
            begun[event.track_uuid] = (names[event.name_iid], packet.timestamp)
        elif event.type == kinds.TYPE_SLICE_END:
            coflow, from_ns = begun.pop(event.track_uuid)
            if track == "coflow":
                found[coflow] = (packet.timestamp - from_ns) / 1e9
        else:
            assert event.type == kinds.TYPE_COUNTER
            assert event.double_counter_value >= 0
    assert not begun
    assert {"capacity in use", "waiting coflows", "host 0 up"} <= set(tracks.values())
    rows = covey.simulate(TRACE, policy, progress=False).per_coflow
    expected = dict(zip(rows["coflow_id"], rows["cct_s"], strict=True))
    assert found.keys() == expected.keys()
    assert all(abs(found[coflow] - expected[coflow]) <= 2e-9 for coflow in expected)
