#!/bin/bash
# Reproduces a problem that a pattern of advice is about, on a private memcached, and prints what the report finds.
#
#   scripts/patterns/memcached.sh PROBLEM [SECONDS] [-- OPTIONS OF ATTACH]        (problems: the cases below)
#
# The build of `scripts/install.sh memcached-1.6.18` has names of functions, which Debian's own has in its debug archive
# alone. MEMCACHED is another. problem.sh has the other variables that it reads. As root.
. "$(dirname "$0")/problem.sh"
MEMCACHED=${MEMCACHED:-/var/cache/evenkeel/memcached-1.6.18/bin/memcached}

start() { # OPTION..
    port=$(free_port)
    "$MEMCACHED" -u root -l 127.0.0.1 -p "$port" "$@" >"${messages:-$work/server.log}" 2>&1 &
    server=$!
    await bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
}

# Requests a moment apart, on one connection. With {} in them, a number up to 10000 takes its place.
client() { # PAUSE REQUEST
    python3 -c 'import random, socket, sys, time
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    request = sys.argv[3].encode().decode("unicode_escape").encode()
    while True:
        s.sendall(request.replace(b"{}", b"%d" % random.randint(1, 10000)))
        last = b""
        while not last.endswith((b"END\r\n", b"STORED\r\n", b"NOT_FOUND\r\n", b"ERROR\r\n")):
            last = last[-16:] + s.recv(1 << 20)
        time.sleep(float(sys.argv[2]))' "$port" "$@"
}

# Stores many small items.
fill() { # NUMBER
    python3 -c 'import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    for i in range(int(sys.argv[2])):
        s.sendall(b"set key:%d 0 0 40 noreply\r\n%s\r\n" % (i, b"x" * 40))
    s.sendall(b"mn\r\n")
    s.recv(64)' "$port" "$1"
}

small() { for _ in 1 2 3; do load repeat client 0.002 'get key:{}\r\n'; done; }

case $problem in
values)
    start -m 1024
    fill 10000
    store() {
        python3 -c 'import random, socket, sys, time
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    while True:
        s.sendall(b"set large:%d 0 0 900000\r\n%s\r\n" % (random.randint(1, 500), b"x" * 900000))
        s.recv(64)
        time.sleep(0.1)' "$port"
    }
    load repeat store
    small
    ;;
hot)
    start -t 4
    # Each append writes the whole value anew, with the item locked. The others only ask for the lock.
    many() { # REQUEST
        python3 -c 'import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    s.sendall(b"set hot 0 0 500000\r\n%s\r\n" % (b"x" * 500000))
    s.recv(64)
    request = sys.argv[2].encode().decode("unicode_escape").encode()
    while True:
        s.sendall(request * 20)
        answers = 0
        while answers < 20:
            answers += s.recv(4096).count(b"\n")' "$port" "$1"
    }
    for _ in 1 2; do load repeat many 'append hot 0 0 0\r\n\r\n'; done
    for _ in 1 2; do load repeat many 'touch hot 0\r\n'; done
    ;;
answers)
    start
    fill 10000
    store() {
        python3 -c 'import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    s.sendall(b"set large 0 0 1000000\r\n%s\r\n" % (b"x" * 1000000))
    s.recv(64)' "$port"
    }
    store
    load repeat client 0.1 'get large\r\n'
    small
    ;;
many-keys)
    start
    fill 10000
    load repeat client 0.1 "get$(seq -s '' -f ' key:%.0f' 5000)\r\n"
    small
    ;;
dump)
    start -t 2
    fill 100000
    load repeat client 0.05 'stats cachedump 2 0\r\n'
    small
    ;;
tls)
    openssl req -x509 -newkey rsa:4096 -nodes -days 1 -subj /CN=localhost -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
    start -Z -o "ssl_chain_cert=$work/cert.pem,ssl_key=$work/key.pem"
    connection() {
        python3 -c 'import socket, ssl, sys, time
context = ssl._create_unverified_context()
new = sys.argv[2] == "new"
while True:
    with context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1])))) as s:
        for _ in range(1 if new else 10000):
            s.sendall(b"get key\r\n")
            s.recv(64)
            time.sleep(0.1 if new else 0.002)' "$port" "$1"
    }
    load repeat connection new
    for _ in 1 2 3; do load repeat connection kept; done
    ;;
verbose)
    slow_messages 0.1 0.3
    start -vv
    small
    ;;
crowded)
    start -t 4
    fill 10000
    for _ in $(seq $((2 * $(nproc)))); do load python3 -c 'while True: pass'; done
    small
    ;;
*)
    unknown
    ;;
esac
profile "$server" memcached "$@"
