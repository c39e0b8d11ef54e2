"""Reads a trace with Perfetto's own definitions (PyPI: perfetto). Prints each track: its slices and its name; fails where slices do
not nest, or a track was not announced. Where the trace processor can be had, it reads the trace, too: it says what it could not use."""

import sys

try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)

trace = Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
names, open_slices, slices, last = {}, {}, {}, {}
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id == 1
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert track.uuid not in names
        assert not track.HasField("parent_uuid") or track.parent_uuid in names
        names[track.uuid] = track.name
        continue
    event = packet.track_event
    assert event.track_uuid in names, "a track that was not announced"
    stack = open_slices.setdefault(event.track_uuid, [])
    assert packet.timestamp >= last.get(event.track_uuid, 0), "time goes back"
    last[event.track_uuid] = packet.timestamp
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        assert event.name
        stack.append(event.name)
        slices[event.track_uuid] = slices.get(event.track_uuid, 0) + 1
    else:
        assert event.type == TrackEvent.TYPE_SLICE_END
        stack.pop()
assert not any(open_slices.values()), "slices without an end"
for uuid, name in names.items():
    print(f"track\t{slices.get(uuid, 0)}\t{name}", flush=True)

try:
    from perfetto.trace_processor import TraceProcessor

    processor = TraceProcessor(trace=sys.argv[1])
    bad = list(processor.query("select name, value from stats where severity != 'info' and value > 0"))
    assert not bad, [(row.name, row.value) for row in bad]
    count = next(iter(processor.query("select count(*) as n from slice"))).n
    assert count == sum(slices.values()), (count, slices)
    print("trace processor: read", file=sys.stderr)
except Exception as error:
    if isinstance(error, AssertionError):
        raise
    print(f"trace processor: not at hand ({type(error).__name__})", file=sys.stderr)
