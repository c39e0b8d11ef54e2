"""A standalone cluster of Spark on loopback, for measurements: a master, and workers of one processor each."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.request

PACKAGE = "org.apache.spark.deploy"
# Java starts slowly on a machine that does other things.
PATIENCE_S = 300
LOOK_AGAIN_S = 0.2


def free_ports(count):
    """Ports of loopback that nobody listens at."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def started(python, workers, memory):
    """The cluster's address and the sessions of its processes, while it runs; of the Spark that belongs to a Python, with so much memory a worker."""
    home = subprocess.run([python, "-c", "import os, pyspark; print(os.path.dirname(pyspark.__file__))"], check=True, capture_output=True, text=True)
    processes = []
    with tempfile.TemporaryDirectory() as directory:
        try:
            port, page = free_ports(2)
            address = f"spark://127.0.0.1:{port}"
            processes.append(start(home.stdout.strip(), directory, "master", ["master.Master", "--port", str(port), "--webui-port", str(page)]))
            wait(page, 0, directory)
            for number in range(workers):
                name = f"worker-{number}"
                words = ["worker.Worker", "--webui-port", "0", "--cores", "1", "--memory", memory, "--work-dir", f"{directory}/{name}", address]
                processes.append(start(home.stdout.strip(), directory, name, words))
            wait(page, workers, directory)
            yield address, {process.pid for process in processes}
        finally:
            # Workers first: they end the executors that are left.
            for process in reversed(processes):
                process.terminate()
                process.wait()


def start(home, directory, name, words):
    environment = os.environ | {"SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": directory, "SPARK_DAEMON_MEMORY": "256m"}
    command = [f"{home}/bin/spark-class", f"{PACKAGE}.{words[0]}", "--host", "127.0.0.1", *words[1:]]
    with open(f"{directory}/{name}.log", "w") as log:
        return subprocess.Popen(command, env=environment, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)


def wait(page, workers, directory):
    """Waits until the master's page shows this many living workers."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=LOOK_AGAIN_S * 10) as answer:
                if json.load(answer)["aliveworkers"] >= workers:
                    return
        except (OSError, ValueError):
            # It does not listen yet.
            pass
        time.sleep(LOOK_AGAIN_S)
    logs = "\n".join(log.read_text() for log in sorted(pathlib.Path(directory).glob("*.log")))
    raise SystemExit(f"cluster.py: no {workers} workers after {PATIENCE_S} s; their words:\n{logs}")
