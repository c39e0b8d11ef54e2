"""How long each question of sql/ takes on the tables of a fleet, and what memory: with DuckDB, and with evenkeel-fleet and Spark where they are named.

    measure.py FLEET [--engines duckdb fleet spark cluster] [--fleet-program target/fleet/release/evenkeel-fleet] [--spark target/spark/bin/python] [--rounds 3]

Prints a row an engine, number of threads and question: the median of the rounds, the processor's seconds of that round (which others on the machine change
little), rows and bytes of the tables that the question reads a second, and the largest resident size, of all processes that were started for it
together. Spark's start is part of its time. The cluster is one of this machine, of a worker a thread, which is started before; what its daemons use is not
counted, what their executors use is. Where an engine has no answer, the row has its last words. Run it on a machine that does nothing else.
"""

import argparse
import contextlib
import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

import cluster

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# How often processes that a command starts are looked at, and how often at most after it ended.
LOOK_S = 0.1
LOOKS_AFTER = 100
# What each question reads most of.
READS = {"tails": ("intervals", "times")}

# DuckDB runs in separate processes: a process that starts another passes its memory's peak on to it.
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
COUNT = "import sys, duckdb; print(duckdb.execute('SELECT SUM(num_rows) FROM parquet_file_metadata(?)', [sys.stdin.read().split()]).fetchone()[0])"


class Failed(Exception):
    """The last words of an engine that had no answer."""


def run(command, sessions, patience):
    """Seconds, processor seconds, and the largest resident size in bytes: of a command, its children, and these sessions."""
    with tempfile.TemporaryFile() as said:
        began = time.monotonic()
        old = {number for number, *_ in processes(sessions)}
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True)
        killer = threading.Timer(patience, process.kill)
        killer.start()
        found, is_over = {}, threading.Event()
        watcher = threading.Thread(target=watch, args=(sessions | {process.pid}, old | {process.pid}, found, is_over))
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        seconds = time.monotonic() - began
        is_late = not killer.is_alive()
        killer.cancel()
        is_over.set()
        watcher.join()
        said.seek(0)
        words = said.read().decode(errors="replace").strip().splitlines()
    if is_late:
        raise Failed(f"no answer after {patience} s")
    if status:
        raise Failed(words[-1] if words else f"status {status}")
    processor = usage.ru_utime + usage.ru_stime + sum(processor for processor, _ in found.values())
    resident = usage.ru_maxrss * 1024 + sum(resident for _, resident in found.values())
    return seconds, processor, resident


def watch(sessions, without, found, is_over):
    """Fills in processor seconds and the largest resident size of the sessions' processes, by number, until the run and they have ended."""
    patience = LOOKS_AFTER
    while patience:
        seen = {number: used for number, *used in processes(sessions) if number not in without}
        found.update(seen)
        if is_over.is_set():
            patience = patience - 1 if seen else 0
        time.sleep(LOOK_S)


def processes(sessions):
    """Number, the processor's seconds, and the largest resident size in bytes of each process of some sessions."""
    ticks = os.sysconf("SC_CLK_TCK")
    for folder in glob.glob("/proc/[0-9]*") if sessions else ():
        try:
            words = pathlib.Path(folder, "stat").read_text().rpartition(")")[2].split()
            if int(words[3]) not in sessions:
                continue
            if peak := re.search(r"VmHWM:\s+(\d+)", pathlib.Path(folder, "status").read_text()):
                yield int(folder.removeprefix("/proc/")), (int(words[11]) + int(words[12])) / ticks, int(peak[1]) * 1024
        except (OSError, IndexError):
            # It has ended.
            continue


def size(fleet, tables):
    """Rows and bytes of tables."""
    files = [file for table in tables for file in glob.glob(f"{glob.escape(fleet)}/{table}/*/*/*.parquet")]
    counted = subprocess.run([sys.executable, "-c", COUNT], input="\n".join(files), check=True, capture_output=True, text=True)
    return int(counted.stdout), sum(os.path.getsize(file) for file in files)


def command(engine, arguments, fleet, file, threads, address):
    """An engine's name with the command that asks it."""
    if engine == "duckdb":
        return "DuckDB", [sys.executable, "-c", ASK, fleet, str(file), str(threads)]
    if engine == "fleet":
        return "evenkeel-fleet", [arguments.fleet_program, fleet, "--json", "--question", file.stem, "--threads", str(threads)]
    master = address or f"local[{threads}]"
    words = [str(ROOT / "scripts/fleet/spark.py"), fleet, file.stem, "--json", "--master", master]
    settings = [word for pair in arguments.conf for word in ("--conf", pair)]
    return f"Spark, {'cluster' if address else master}", [arguments.spark, *words, *settings]


def measure(engine, arguments, fleet, file, threads, address=None, sessions=frozenset()):
    """Prints a row."""
    name, words = command(engine, arguments, fleet, file, threads, address)
    rows, size_bytes = size(fleet, READS.get(file.stem, ("moments",)))
    try:
        rounds = [run(words, set(sessions), arguments.patience) for _ in range(arguments.rounds)]
    except Failed as failed:
        print(f"| {name} | {threads} | {file.stem} | {failed} | | | | |", flush=True)
        return
    seconds, processor, _ = sorted(rounds)[len(rounds) // 2]
    resident = max(resident for *_, resident in rounds)
    print(
        f"| {name} | {threads} | {file.stem} | {seconds:.2f} | {processor:.2f} | {rows / seconds:,.0f} "
        f"| {size_bytes / seconds / 1e6:.1f} | {resident / 1e6:.0f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("fleet")
    parser.add_argument("--engines", nargs="*", choices=("duckdb", "fleet", "spark", "cluster"), help="[default: DuckDB and those that are named]")
    parser.add_argument("--fleet-program", metavar="PROGRAM")
    parser.add_argument("--spark", metavar="PYTHON")
    parser.add_argument("--conf", metavar="KEY=VALUE", action="append", default=[], help="a setting of Spark's; any number")
    parser.add_argument("--worker-memory", metavar="SIZE", default="4g", help="of each worker of the cluster [default: 4g]")
    parser.add_argument("--threads", type=int, nargs="*", default=sorted({1, os.cpu_count() or 1}), help="[default: one, and all]")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", metavar="SECONDS", type=float, default=3600, help="for one answer [default: 3600]")
    parser.add_argument("--questions", nargs="*", help="these alone")
    arguments = parser.parse_args()
    named = {"duckdb": True, "fleet": arguments.fleet_program, "spark": arguments.spark, "cluster": arguments.spark}
    engines = arguments.engines or [engine for engine in ("duckdb", "fleet", "spark") if named[engine]]
    if lacking := [engine for engine in engines if not named[engine]]:
        parser.error(f"{lacking[0]}: name its program by --fleet-program or --spark")
    files = [file for file in sorted((ROOT / "sql").glob("*.sql")) if not arguments.questions or file.stem in arguments.questions]
    fleet = os.path.abspath(arguments.fleet)
    print("| engine | threads | question | s | processor s | rows/s | MB/s | MB resident |\n|---|---|---|---|---|---|---|---|", flush=True)
    for engine in engines:
        for threads in arguments.threads:
            on = cluster.started(arguments.spark, threads, arguments.worker_memory) if engine == "cluster" else contextlib.nullcontext((None, set()))
            with on as (address, sessions):
                for file in files:
                    measure(engine, arguments, fleet, file, threads, address, sessions)


if __name__ == "__main__":
    main()
