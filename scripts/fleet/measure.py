"""How long each question of sql/ takes on the tables of a fleet, and what memory: with DuckDB, and with evenkeel-fleet and Spark where they are named.

    measure.py FLEET [--fleet-program target/fleet/release/evenkeel-fleet] [--spark target/spark/bin/python [--master spark://HOST:7077]] [--rounds 3]

Prints a row an engine, number of threads and question: the median of the rounds, rows and bytes of the tables that the question reads a second, and the
largest resident size (of Spark without a cluster, the larger of its two processes). Spark's start is part of its time. Run it on a machine that does nothing else.
"""

import argparse
import glob
import os
import pathlib
import statistics
import subprocess
import sys
import time

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# What each question reads most of.
READS = {"tails": ("intervals", "times")}

ASK = """
import sys, duckdb
directory, question, threads = sys.argv[1:]
database = duckdb.connect(config={"threads": int(threads)})
database.execute("SET TimeZone = 'UTC'")
for table in ("intervals", "nodes", "times", "moments"):
    files = f"read_parquet('{directory}/{table}/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false)"
    database.execute(f"CREATE VIEW {table} AS SELECT * FROM {files}")
database.execute(open(question).read()).fetchall()
"""


def run(command):
    """Seconds and the largest resident size in bytes of a command."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"measure.py: failed: {command[0]} (status {status})")
    return time.monotonic() - began, usage.ru_maxrss * 1024


def size(fleet, tables):
    """Rows and bytes of tables."""
    files = [file for table in tables for file in glob.glob(f"{glob.escape(fleet)}/{table}/*/*/*.parquet")]
    rows = duckdb.execute("SELECT SUM(num_rows) FROM parquet_file_metadata(?)", [files]).fetchone()[0]
    return int(rows), sum(os.path.getsize(file) for file in files)


def engines(arguments, fleet, file, threads):
    """Names of the engines with the commands that ask them; what Spark takes on a cluster is not a matter of threads here."""
    found = {"DuckDB": [sys.executable, "-c", ASK, fleet, str(file), str(threads)]}
    if program := arguments.fleet_program:
        found["evenkeel-fleet"] = [program, fleet, "--json", "--question", file.stem, "--threads", str(threads)]
    if python := arguments.spark:
        master = arguments.master or f"local[{threads}]"
        found[f"Spark, {master}"] = [python, str(ROOT / "scripts/fleet/spark.py"), fleet, file.stem, "--json", "--master", master]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("fleet")
    parser.add_argument("--fleet-program")
    parser.add_argument("--spark", metavar="PYTHON")
    parser.add_argument("--master")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    fleet = os.path.abspath(arguments.fleet)
    print("| engine | threads | question | s | rows/s | MB/s | MB resident |\n|---|---|---|---|---|---|---|")
    processors = sorted({1, os.cpu_count() or 1})
    for file in sorted((ROOT / "sql").glob("*.sql")):
        rows, size_bytes = size(fleet, READS.get(file.stem, ("moments",)))
        for threads in processors:
            for engine, command in engines(arguments, fleet, file, threads).items():
                rounds = [run(command) for _ in range(arguments.rounds)]
                seconds = statistics.median(taken for taken, _ in rounds)
                resident = max(resident for _, resident in rounds)
                print(
                    f"| {engine} | {threads} | {file.stem} | {seconds:.2f} | {rows / seconds:,.0f} "
                    f"| {size_bytes / seconds / 1e6:.1f} | {resident / 1e6:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
