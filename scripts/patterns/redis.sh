#!/bin/bash
# Reproduces a problem that a pattern of advice is about, on a private Redis, and prints what the report finds.
#
#   scripts/patterns/redis.sh PROBLEM [SECONDS] [-- OPTIONS OF ATTACH]        (problems: the cases below)
#
# problem.sh has the variables that it reads. As root.
. "$(dirname "$0")/problem.sh"

start() { # NUMBER OF KEYS, SETTING..
    local keys=$1
    shift
    port=$(free_port)
    redis-server --bind 127.0.0.1 --port "$port" --dir "$work" --save '' "$@" >"$work/server.log" &
    server=$!
    await redis-cli -p "$port" ping
    each "$keys" "redis.call('set', 'key:' .. i, string.rep('x', 40))"
}

redis() { redis-cli -p "$port" "$@"; }

# Runs a line of Lua for each number i up to a limit.
each() { redis eval "for i = 1, $1 do $2 end" 0 >/dev/null; }

# Sets many small keys, in one stream.
fill() { # NUMBER [OPTIONS OF SET]
    seq "$1" | sed "s/.*/set small:& 0123456789 ${2:-}/" | redis --pipe >/dev/null
}

# Requests a few thousandths of a second apart, from each of some clients.
clients() { for _ in $(seq "$1"); do load repeat paced; done; }
paced() {
    python3 -c 'import random, socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    s.sendall(b"%s key:%d %s\r\n" % ((b"GET", random.randint(1, 1000), b"") if random.random() < 0.5 else (b"SET", random.randint(1, 100000), b"y" * 40)))
    s.recv(4096)
    time.sleep(0.002)' "$port"
}

# Connections that send one command and read all that comes.
listeners() { # NUMBER COMMAND
    load python3 -c 'import select, socket, sys
port, number, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
poll, connections = select.poll(), {}
for _ in range(number):
    one = socket.create_connection(("127.0.0.1", port))
    one.sendall(command.encode() + b"\r\n")
    connections[one.fileno()] = one
    poll.register(one, select.POLLIN)
while True:
    for number, _ in poll.poll():
        connections[number].recv(1 << 20)' "$port" "$@"
}

case $problem in
keys)
    start 400000
    scan() { redis keys 'nothing*'; sleep 0.5; }
    load repeat scan
    clients 6
    ;;
sort)
    start 1000
    each 200000 "redis.call('rpush', 'list', i * 7919 % 200000)"
    sort() { redis sort list limit 0 1; sleep 0.5; }
    load repeat sort
    clients 6
    ;;
script)
    start 1000
    compute() { redis eval 'local sum = 0; for i = 1, 3000000 do sum = sum + i end; return sum' 0; sleep 0.5; }
    load repeat compute
    clients 6
    ;;
large)
    start 1000
    each 60 "for member = 1, 60000 do redis.call('sadd', 'large:' .. i, member) end"
    drop() { for set in $(seq 60); do redis del "large:$set"; sleep 0.3; done; }
    load drop
    clients 6
    ;;
flush)
    start 1000
    empty() { fill 300000; redis flushall sync; sleep 0.5; }
    load repeat empty
    clients 6
    ;;
save)
    start 300000
    save() { redis save; sleep 1; }
    load repeat save
    clients 6
    ;;
fork)
    start 2000000
    save() { redis bgsave; sleep 1; }
    load repeat save
    clients 6
    ;;
append-only)
    start 1000 --appendonly yes --appendfsync always
    clients 6
    ;;
expiry)
    start 1000
    expire() { fill 300000 'px 1500'; sleep 3; }
    load repeat expire
    clients 4
    ;;
eviction)
    start 1000 --maxmemory 30mb --maxmemory-policy allkeys-lru --maxmemory-eviction-tenacity 60
    fill 250000
    # Each large value puts out many small ones, which come back a few at a time.
    slowly() { python3 -c 'import sys, time
while lines := sys.stdin.readlines(8000):
    print(*lines, sep="", end="", flush=True)
    time.sleep(0.0005)'; }
    refill() { seq 250000 | sed 's/.*/set small:& 0123456789/' | slowly | redis --pipe >/dev/null; }
    large() { head -c 20000000 /dev/zero | redis -x set large; redis del large; refill; }
    load repeat large
    clients 4
    ;;
publish)
    start 1000
    listeners 800 'SUBSCRIBE news'
    tell() { redis publish news "$(printf '%02000d' 1)"; sleep 0.1; }
    load repeat tell
    clients 4
    ;;
monitor)
    start 1000
    listeners 60 MONITOR
    tell() { redis set "key:$RANDOM" "$(printf '%020000d' 1)"; sleep 0.02; }
    load repeat tell
    clients 4
    ;;
rehashing)
    # Just past a power of two: the table has doubled, and its keys move.
    start 2098000
    clients 1
    ;;
crowded)
    start 1000
    for _ in $(seq $((2 * $(nproc)))); do load python3 -c 'while True: pass'; done
    clients 6
    ;;
sets)
    start 1000
    each 100000 "redis.call('sadd', 'even', 2 * i); redis.call('sadd', 'all', i)"
    unite() { redis sinterstore both even all; redis sunionstore both even all; sleep 0.5; }
    load repeat unite
    clients 6
    ;;
counts)
    start 1000
    each 300 "for j = 1, 500 do redis.call('pfadd', 'visitors' .. i, i * 1000 + j) end"
    count() { redis pfcount $(seq -f 'visitors%.0f' 300); sleep 0.5; }
    load repeat count
    clients 6
    ;;
list)
    start 1000
    each 300000 "redis.call('rpush', 'list', 'element:' .. i)"
    search() { redis lpos list element:290000; redis lrem list 1 element:0; sleep 0.5; }
    load repeat search
    clients 6
    ;;
bits)
    start 1000
    redis setbit bits 400000000 1
    count() { redis bitcount bits; sleep 0.5; }
    load repeat count
    clients 6
    ;;
answers)
    start 1000
    redis setrange value 30000000 x
    get() { redis get value >/dev/null; sleep 0.3; }
    load repeat get
    clients 6
    ;;
transaction)
    start 1000
    run() {
        python3 -c 'import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
answers = s.makefile("rb")
while True:
    s.sendall(b"MULTI\r\n" + b"".join(b"INCR counter:%d\r\n" % (i % 1000) for i in range(20000)) + b"EXEC\r\n")
    for _ in range(2 + 20000 + 20000):  # OK, QUEUED for each, and the array of numbers
        answers.readline()
    time.sleep(0.5)' "$port"
    }
    load repeat run
    clients 6
    ;;
scan)
    start 500000
    scan() { redis scan 0 match 'nothing*' count 400000; sleep 0.5; }
    load repeat scan
    clients 6
    ;;
stream)
    start 1000
    each 100000 "redis.call('xadd', 'stream', '*', 'field', 'value')"
    range() { redis xrange stream - + >/dev/null; sleep 0.5; }
    load repeat range
    clients 6
    ;;
near)
    start 1000
    each 200000 "redis.call('geoadd', 'places', i % 3600 / 10 - 180, i % 1600 / 10 - 80, i)"
    search() { redis geosearch places fromlonlat 0 0 byradius 9000 km asc count 10; sleep 0.5; }
    load repeat search
    clients 6
    ;;
other-server)
    # MIGRATE to a server that takes long to answer.
    start 1000
    slow=$(free_port)
    load python3 -c 'import socket, sys, threading, time
def serve(connection):
    while sent := connection.recv(65536):
        time.sleep(0.12)
        connection.sendall(b"+OK\r\n" * max(1, sent.count(b"SELECT") + sent.count(b"RESTORE")))
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()' "$slow"
    move() { redis set moved x; redis migrate 127.0.0.1 "$slow" moved 0 1000; sleep 0.5; }
    load repeat move
    clients 6
    ;;
other)
    # A command that no other pattern knows.
    start 1000
    each 300000 "redis.call('rpush', 'list', 'element:' .. i)"
    copy() { redis copy list copied replace; sleep 0.5; }
    load repeat copy
    clients 6
    ;;
*)
    unknown
    ;;
esac
profile "$server" redis "$@"
