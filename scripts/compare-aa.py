#!/usr/bin/env python3
"""Counts false verdicts of `evenkeel compare`: recordings are cut into pieces of equal length, pieces of one recording are compared with each
other, and every verdict "better" or "worse" is false, for nothing was changed.

usage: compare-aa.py EVENKEEL PAIRS RECORDING...
       compare-aa.py EVENKEEL PAIRS --planted BEFORE AFTER FINDING
       compare-aa.py EVENKEEL PAIRS --runs RECORDING...
       compare-aa.py --simulate FOLDER [INTERVALS]

Prints a table in Markdown: of each recording, the pairs compared and in how many of them any row of a family has a false verdict. With
`--planted BEFORE AFTER FINDING`, pieces of two recordings of a program with a planted change are compared, and those are counted in which the
finding is called worse. With `--runs` whole recordings are compared, each of a run of its own, and a second table has how much equal runs
differ. `--simulate` writes recordings of simulated servers: NAME.keel, and NAME-changed.keel, in which `flush` takes a
fifth longer."""

import itertools
import json
import math
import random
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

FAMILIES = {"latency": ("latency", "machine"), "findings": ("finding",), "calls": ("call",)}
# Marks the records that explain others, and precedes every piece's records.
EXPLAINS = b"MSRCON"
# The first rounds of refinement time other calls than the rest.
SETTLED = 0.25


def chunks(data):
    at = 16
    while at + 9 <= len(data):
        (length,) = struct.unpack_from("<I", data, at + 1)
        end = at + 9 + length
        if end > len(data):
            return
        yield data[at : at + 1], data[at:end], data[at + 9 : end]
        at = end


def cut(path, pieces, folder):
    """Writes the pieces of a recording; each is a recording of what ended in its part of the file."""
    data = path.read_bytes()
    all_chunks = list(chunks(data))
    first = int(len(all_chunks) * SETTLED)
    length = (len(all_chunks) - first) // pieces
    before = [chunk for tag, chunk, _ in all_chunks[:first] if tag in EXPLAINS]
    last = [chunk for tag, chunk, _ in all_chunks if tag == b"M"][-1]
    written = []
    for number in range(pieces):
        own = all_chunks[first + number * length : first + (number + 1) * length]
        name = folder / f"{path.stem}-{number}.keel"
        name.write_bytes(data[:16] + b"".join(before) + b"".join(chunk for _, chunk, _ in own) + last)
        before += [chunk for tag, chunk, _ in own if tag in EXPLAINS]
        written.append(name)
    return written


def compared(evenkeel, before, after):
    words = [evenkeel, "compare", "--json", before, after]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {ran.stderr}")
    return json.loads(ran.stdout)["rows"]


def is_told(row):
    return row["verdict"] in ("better", "worse")


def pairs_of(names, number):
    pairs = list(itertools.combinations(names, 2))
    random.Random(1).shuffle(pairs)
    return pairs[:number]


def pieces_for(pairs):
    pieces = 2
    while pieces * (pieces - 1) // 2 < pairs:
        pieces += 1
    return pieces


def equals(evenkeel, pairs, recordings):
    print("| recording | pairs | " + " | ".join(f"false, {family}" for family in FAMILIES) + " |")
    print("|---|--:|" + "--:|" * len(FAMILIES))
    each = -(-pairs // len(recordings))
    totals = dict.fromkeys(FAMILIES, 0)
    number = 0
    for path in recordings:
        counts = dict.fromkeys(FAMILIES, 0)
        with tempfile.TemporaryDirectory() as folder:
            own = pairs_of(cut(path, pieces_for(each), Path(folder)), each)
            for before, after in own:
                rows = compared(evenkeel, before, after)
                for family, kinds in FAMILIES.items():
                    counts[family] += any(is_told(row) and row["kind"] in kinds for row in rows)
        number += len(own)
        for family in FAMILIES:
            totals[family] += counts[family]
        print(f"| {path.stem} | {len(own)} | " + " | ".join(str(counts[family]) for family in FAMILIES) + " |", flush=True)
    parts = (f"{totals[family]} ({100 * totals[family] / number:.1f} %)" for family in FAMILIES)
    print(f"| all | {number} | " + " | ".join(parts) + " |")


def planted(evenkeel, pairs, before, after, finding):
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        pieces = math.isqrt(pairs - 1) + 1
        sides = [cut(path, pieces, Path(folder)) for path in (before, after)]
        own = random.Random(1).sample(list(itertools.product(*sides)), pairs)
        for one, other in own:
            rows = compared(evenkeel, one, other)
            found += any(row["verdict"] == "worse" and row.get("function") == finding for row in rows)
    print(f"| {before.stem} and {after.stem} | {len(own)} | {finding} found worse in {found} ({100 * found / len(own):.1f} %) |")


FIGURES = ("mean", "p50", "p95", "p99")


def runs(evenkeel, pairs, recordings):
    counts, changes = dict.fromkeys(FAMILIES, 0), {figure: [] for figure in FIGURES}
    own = pairs_of(recordings, pairs)
    for before, after in own:
        rows = compared(evenkeel, before, after)
        for family, kinds in FAMILIES.items():
            counts[family] += any(is_told(row) and row["kind"] in kinds for row in rows)
        for row in rows:
            if row["kind"] == "latency" and row["what"] in FIGURES and row["before"] and row["after"]:
                changes[row["what"]].append(math.log(row["after"] / row["before"]))
    print("| runs | pairs | " + " | ".join(f"false, {family}" for family in FAMILIES) + " |")
    print("|---|--:|" + "--:|" * len(FAMILIES))
    parts = (f"{counts[family]} ({100 * counts[family] / len(own):.1f} %)" for family in FAMILIES)
    print(f"| {len(recordings)} | {len(own)} | " + " | ".join(parts) + " |\n")
    print("| figure | standard deviation between runs |\n|---|--:|")
    for figure, logs in changes.items():
        # Of two runs, both differ.
        spread = math.sqrt(sum(log * log for log in logs) / len(logs) / 2) if logs else math.nan
        print(f"| {figure} | {100 * spread:.1f} % |")


# Ids of the records that begin and end an interval (profiler/wire/src/record.rs).
BEGIN, END = 0xFFFF0, 0xFFFF4
INTERVALS = 120_000


class Server:
    """Intervals of 100 us of their own and two calls: `parse`, and in some `flush`. Times in ns."""

    def __init__(self, name, seed, flush):
        self.random, self.name, self.flush, self.pace = random.Random(seed), name, flush, 1.0

    def interval(self, number):
        draw = self.random
        if self.name == "drifting" and number % 500 == 0:
            # Seconds that are alike: what came before decides most of what comes.
            self.pace = 0.8 * self.pace + 0.2 * draw.uniform(0.5, 1.5)
        own, parse, flush = 100_000 * self.pace, 30_000 * draw.expovariate(1) * self.pace, 0.0
        if draw.random() < 0.2:
            flush = self.flush * self.pace * {
                "steady": lambda: draw.expovariate(1) * 200_000,
                "drifting": lambda: draw.expovariate(1) * 200_000,
                # Waits for a lock that is held for long or not at all.
                "two-speeds": lambda: 2_000_000 if draw.random() < 0.3 else 50_000,
                # Without a variance: Pareto with exponent 1.8.
                "heavy-tailed": lambda: 60_000 * draw.paretovariate(1.8),
                "preempted": lambda: draw.expovariate(1) * 200_000,
            }[self.name]()
        if self.name == "preempted" and draw.random() < 0.0005:
            own += 4_000_000 * draw.randint(1, 4)
        return int(own), int(parse), int(flush)


def number(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def chunk(tag, body):
    head = tag + struct.pack("<I", len(body))
    return head + struct.pack("<I", zlib.crc32(body, zlib.crc32(tag))) + body


def simulate(path, name, seed, flush, intervals):
    meta = {"target": "server", "interval": "request", "root": "request", "root_height": 2, "ticks_per_ns": 1.0, "outer_256": 0,
            "inner_256": 0, "unpatched": [], "warnings": [], "complete": True,
            "started": {"ticks": 0, "unix_ns": 0}}
    out = [b"EVENKEEL" + struct.pack("<II", 7, 0), chunk(b"M", json.dumps(meta).encode())]
    for at, callee in enumerate(("parse", "flush")):
        site = {"id": at, "callee": callee, "caller": "request", "callee_file": "", "caller_file": "",
                "address": at, "site": f"request+{at:#x}", "file": None, "line": None, "kind": "call",
                "height": 0}
        out.append(chunk(b"S", json.dumps(site).encode()))
    out.append(chunk(b"R", struct.pack("<II", 1, 2)))
    server = Server(name, seed, flush)
    now, records = 1_000_000, []
    for at in range(intervals):
        own, parse, wait = server.interval(at)
        now += int(1_000_000 * server.random.expovariate(1))
        records.append((now, 3, BEGIN))
        records.append((now, parse, 0))
        if wait:
            records.append((now + parse, wait, 1))
        now += own + parse + wait
        records.append((now, 3, END))
        if at % 50 == 49:
            body, before = struct.pack("<QI", 7, len(records)), 0
            for start, duration, ident in records:
                moved = start - before
                body += number(moved << 1 if moved >= 0 else (-moved << 1) - 1) + number(duration) + number(ident)
                before = start
            out.append(chunk(b"D", body))
            records = []
    out.append(chunk(b"M", json.dumps(meta).encode()))
    path.write_bytes(b"".join(out))


def main():
    words = sys.argv[1:]
    if words[:1] == ["--simulate"]:
        folder, intervals = Path(words[1]), int(words[2]) if len(words) > 2 else INTERVALS
        for seed, name in enumerate(("steady", "drifting", "two-speeds", "heavy-tailed", "preempted")):
            simulate(folder / f"{name}.keel", name, seed, 1.0, intervals)
            simulate(folder / f"{name}-changed.keel", name, 100 + seed, 1.2, intervals)
        return
    if len(words) < 3:
        sys.exit(__doc__)
    evenkeel, pairs, rest = words[0], int(words[1]), words[2:]
    if rest[0] == "--planted":
        planted(evenkeel, pairs, Path(rest[1]), Path(rest[2]), rest[3])
    elif rest[0] == "--runs":
        runs(evenkeel, pairs, [Path(path) for path in rest[1:]])
    else:
        equals(evenkeel, pairs, [Path(path) for path in rest])


main()
