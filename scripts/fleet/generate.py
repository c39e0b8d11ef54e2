"""Makes the tables of a fleet out of those of one recording, to try engines at its size.

    generate.py TABLES FLEET --hosts 1000 --minutes 1440 --intervals 10000000

Each host has each minute of TABLES' moments in turn, every sum several times over, as if the same intervals had happened so often: sums of
a host still belong together exactly. One host of twenty has a slower clock behind the same ticks, so that everything takes a quarter longer there, and one of ten
runs another build. Intervals and their times are those of TABLES as often as it takes to have --intervals of them, on each host in turn.
"""

import argparse
import os
import time

import duckdb

SLOW_ONE_OF = 20
NEW_ONE_OF = 10
SUMS = (
    "inclusive inclusive_squared inclusive_latency exclusive exclusive_squared exclusive_latency "
    "calls calls_squared calls_inclusive products"
).split()


def files(tables, name):
    return f"read_parquet('{tables}/{name}/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false)"


def copy(database, fleet, table, query):
    """Writes rows as a table of FLEET, in folders by day and host."""
    os.makedirs(f"{fleet}/{table}", exist_ok=True)
    database.execute(
        f"COPY ({query}) TO '{fleet}/{table}' (FORMAT parquet, PARTITION_BY (day, host), "
        f"KV_METADATA {{'evenkeel.schema_version': '2', 'evenkeel.table': '{table}'}})"
    )


def hosts_query(hosts, minutes):
    """Hosts with what they are, and minutes of the 15th of November 2023 and the days after it."""
    return f"""
        SELECT
            'host' || lpad(CAST(h.range AS VARCHAR), 6, '0') AS host,
            CASE WHEN h.range % {NEW_ONE_OF} = 3 THEN 'new' ELSE 'old' END AS build,
            CASE WHEN h.range % {SLOW_ONE_OF} = 7 THEN 1.25 ELSE 1.0 END AS slower,
            m.range AS position,
            TIMESTAMPTZ '2023-11-15 00:00:00+00' + to_minutes(CAST(m.range AS INTEGER)) AS minute,
            CAST(1 + hash(h.range * 100003 + m.range) % 7 AS BIGINT) AS times
        FROM range({hosts}) AS h CROSS JOIN range({minutes}) AS m"""


def copies_query(hosts, copies):
    """Copies of the recording's intervals: their host, and the number of that host's earlier intervals."""
    return f"""
        SELECT h.*, c.range // {hosts} AS before
        FROM range({copies}) AS c JOIN ({hosts_query(hosts, 1)}) AS h ON h.host = 'host' || lpad(CAST(c.range % {hosts} AS VARCHAR), 6, '0')"""


def generate(tables, fleet, hosts, minutes, intervals):
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    moments, nodes = files(tables, "moments"), files(tables, "nodes")
    recorded = database.execute(f"SELECT COUNT(DISTINCT minute) FROM {moments}").fetchone()[0]
    if not recorded:
        raise SystemExit(f"generate.py: {tables} has no moments")
    sums = ", ".join(f"CAST(r.{name} * h.times AS DECIMAL(38, 0)) AS {name}" for name in SUMS)
    copy(
        database,
        fleet,
        "moments",
        f"""WITH recorded AS (
            SELECT *, DENSE_RANK() OVER (ORDER BY minute) - 1 AS number FROM {moments}
        )
        SELECT
            h.host AS run, h.build, h.minute, r.class,
            r.ticks_per_ns / h.slower AS ticks_per_ns, r.node, r.other, r.intervals * h.times AS intervals, {sums},
            strftime(h.minute, '%Y-%m-%d') AS day, h.host
        FROM ({hosts_query(hosts, minutes)}) AS h JOIN recorded AS r ON r.number = h.position % {recorded}""",
    )
    copy(
        database,
        fleet,
        "nodes",
        f"""SELECT r.* EXCLUDE (run, build, day, host), h.host AS run, h.build, h.day, h.host
        FROM (SELECT DISTINCT host, build, strftime(minute, '%Y-%m-%d') AS day FROM ({hosts_query(hosts, minutes)})) AS h
        CROSS JOIN (SELECT * FROM {nodes} QUALIFY ROW_NUMBER() OVER (PARTITION BY node) = 1) AS r""",
    )
    one, past = database.execute(f"SELECT COUNT(*), MAX(interval) + 1 FROM {files(tables, 'intervals')}").fetchone()
    copies = max(1, -(-intervals // max(one, 1)))
    number = f"h.before * {past or 1} + r.interval AS interval"
    slower = {"intervals": ", r.ticks_per_ns / h.slower AS ticks_per_ns, h.build AS build", "times": ""}
    for table, replaced in slower.items():
        copy(
            database,
            fleet,
            table,
            f"""SELECT r.* REPLACE ({number}, h.host AS run, h.host AS host, '2023-11-15' AS day{replaced})
            FROM ({copies_query(hosts, copies)}) AS h CROSS JOIN {files(tables, table)} AS r""",
        )
    return database.execute(
        f"SELECT COUNT(*), SUM(intervals) FILTER (class IS NULL) FROM {files(fleet, 'moments')}"
    ).fetchone()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tables", help="tables of a recording, by evenkeel export --format parquet")
    parser.add_argument("fleet", help="directory that does not exist")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--minutes", type=int, default=1440)
    parser.add_argument("--intervals", type=int, default=0, help="with their times, at least; those of TABLES once, unless more are asked for")
    arguments = parser.parse_args()
    if os.path.exists(arguments.fleet):
        raise SystemExit(f"generate.py: {arguments.fleet} exists: name another directory")
    began = time.monotonic()
    rows, intervals = generate(arguments.tables, arguments.fleet, arguments.hosts, arguments.minutes, arguments.intervals)
    folder = os.walk(f"{arguments.fleet}/moments")
    size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in folder for name in names)
    print(f"{rows} rows of moments over {intervals} intervals, {size} bytes, in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
