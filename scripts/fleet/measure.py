"""How long each question of sql/ takes on the tables of a fleet, and what memory: with DuckDB, and with evenkeel-fleet and Spark where they are named.

    measure.py FLEET [--fleet-program target/fleet/release/evenkeel-fleet] [--spark target/spark/bin/python [--master spark://HOST:7077]] [--rounds 3]

Prints a row an engine, number of threads and question: the median of the rounds, the processor's seconds of that round (which others on the machine change
little), rows and bytes of the tables that the question reads a second, and the largest resident size (of Spark without a cluster, that of both its
processes). Spark's start is part of its time; what its workers on a cluster use is not counted. Run it on a machine that does nothing else.
"""

import argparse
import glob
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# How often processes that a command starts are looked at, and how often at most after it ended.
LOOK_S = 0.1
LOOKS_AFTER = 100
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
    """Seconds, the processor's seconds, and the largest resident size in bytes of a command and what it starts."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    started, is_over = {}, threading.Event()
    watcher = threading.Thread(target=watch, args=(process.pid, started, is_over))
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    is_over.set()
    watcher.join()
    if status:
        sys.exit(f"measure.py: failed: {command[0]} (status {status})")
    processor = usage.ru_utime + usage.ru_stime + sum(processor for processor, _ in started.values())
    resident = usage.ru_maxrss * 1024 + sum(resident for _, resident in started.values())
    return seconds, processor, resident


def watch(session, started, is_over):
    """Of the processes of a session but the first, by number: the processor's seconds and the largest resident size, as last seen; until it is over and they ended."""
    ticks = os.sysconf("SC_CLK_TCK")
    patience = LOOKS_AFTER
    while patience:
        alive = False
        for folder in glob.glob("/proc/[0-9]*"):
            try:
                words = pathlib.Path(folder, "stat").read_text().rpartition(")")[2].split()
                number = int(folder.removeprefix("/proc/"))
                if int(words[3]) != session or number == session:
                    continue
                peak = re.search(r"VmHWM:\s+(\d+)", pathlib.Path(folder, "status").read_text())
                if peak:
                    alive = True
                    started[number] = ((int(words[11]) + int(words[12])) / ticks, int(peak[1]) * 1024)
            except (OSError, IndexError):
                # It has ended.
                continue
        if is_over.is_set():
            patience = patience - 1 if alive else 0
        time.sleep(LOOK_S)


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
    parser.add_argument("--questions", nargs="*", help="these alone")
    arguments = parser.parse_args()
    fleet = os.path.abspath(arguments.fleet)
    print("| engine | threads | question | s | processor s | rows/s | MB/s | MB resident |\n|---|---|---|---|---|---|---|---|")
    processors = sorted({1, os.cpu_count() or 1})
    for file in sorted((ROOT / "sql").glob("*.sql")):
        if arguments.questions and file.stem not in arguments.questions:
            continue
        rows, size_bytes = size(fleet, READS.get(file.stem, ("moments",)))
        for threads in processors:
            for engine, command in engines(arguments, fleet, file, threads).items():
                rounds = [run(command) for _ in range(arguments.rounds)]
                seconds, processor, _ = sorted(rounds)[len(rounds) // 2]
                resident = max(resident for *_, resident in rounds)
                print(
                    f"| {engine} | {threads} | {file.stem} | {seconds:.2f} | {processor:.2f} | {rows / seconds:,.0f} "
                    f"| {size_bytes / seconds / 1e6:.1f} | {resident / 1e6:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
