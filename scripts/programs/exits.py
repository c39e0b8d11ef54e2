#!/usr/bin/env python3
"""Counts how the processes of a program end.

    exits.py FILE COMMAND..        runs COMMAND; FILE gets a line `NUMBER STATUS` for each exit status of it and of all its descendants, but the
                                   profiler
    exits.py --compare PLAIN FILE  what FILE has that PLAIN has not, nor nearly as often; exit status 1 if there is anything

The kernel reports forks and ends (proc connector, linux/cn_proc.h); only root may listen."""
import collections, os, signal, socket, struct, sys, time

NETLINK_CONNECTOR, CN_IDX_PROC, CN_VAL_PROC, PROC_CN_MCAST_LISTEN = 11, 1, 1, 1
PROC_EVENT_FORK, PROC_EVENT_EXIT = 1, 0x80000000
# Behind struct nlmsghdr and struct cn_msg: what, cpu, timestamp, and numbers of the event.
EVENT, HEADERS = struct.Struct("=I12x6I"), 16 + 20
BUFFER_BYTES = 1 << 25
SO_RCVBUFFORCE = 33
# A process that meets one of these was killed by what it executed.
CRASHES = {signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV, signal.SIGSYS}
# Other statuses may come so much more often than in the plain run, as a share of all ends.
SHARE_MORE = 0.02


def listen():
    events = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_CONNECTOR)
    events.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    events.bind((0, CN_IDX_PROC))
    words = struct.pack("=IIIIHHI", CN_IDX_PROC, CN_VAL_PROC, 0, 0, 4, 0, PROC_CN_MCAST_LISTEN)
    events.send(struct.pack("=IHHII", 16 + len(words), 3, 0, 0, 0) + words)
    return events


def run(file, command):
    events = listen()
    child = os.fork()
    if child == 0:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    alive, ended, over = {child}, collections.Counter(), None
    events.settimeout(0.2)
    while alive and (over is None or time.monotonic() < over):
        try:
            data = events.recv(4096)
        except TimeoutError:
            continue
        what, process, leader, *rest = EVENT.unpack_from(data.ljust(HEADERS + EVENT.size, b"\0"), HEADERS)
        if what == PROC_EVENT_FORK and leader in alive and rest[0] == rest[1]:
            alive.add(rest[0])
        elif what == PROC_EVENT_EXIT and process == leader and process in alive:
            alive.discard(process)
            if process != child or not command[0].endswith("/evenkeel"):
                ended[rest[0]] += 1
            if process == child:
                # What it leaves behind ends by itself, or is somebody else's.
                over = time.monotonic() + 5
    with open(file, "w") as out:
        for status, number in sorted(ended.items()):
            print(number, f"signal {status & 127}" if status & 127 else f"exit {status >> 8}", file=out)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def counted(file):
    lines = (line.split(" ", 1) for line in open(file).read().splitlines())
    return {status: int(number) for number, status in lines}


def compare(plain, other):
    plain, other = counted(plain), counted(other)
    more = []
    for status, number in other.items():
        share = plain.get(status, 0) / max(sum(plain.values()), 1)
        kind, of = status.split()
        crashed = kind == "signal" and int(of) in CRASHES
        allowed = 0 if crashed else (2 * share + SHARE_MORE) * sum(other.values())
        if status != "exit 0" and number > max(allowed, plain.get(status, 0)):
            more.append(f"{number} of {sum(other.values())} processes ended with {status}, plain {plain.get(status, 0)}")
    print("; ".join(more))
    return bool(more)


if sys.argv[1] == "--compare":
    sys.exit(compare(*sys.argv[2:4]))
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.exit(max(run(sys.argv[1], sys.argv[2:]), 0))
