# Another process holds the lock of the SQLite database for 30 ms, four times a second; the queries of that time wait for it.
options='--interval PacketHandler::doQuestion'
cause="the lock of its database, which another process holds now and then"
among='usleep|nanosleep|busyHandler|BusyHandler'

prepare() {
    package pdns_server pdns-server pdns-backend-sqlite3
    package dig bind9-dnsutils
    package sqlite3 sqlite3
    title="PowerDNS $(version_of pdns-server)"
    sqlite3 "$place/db" <"$(dpkg -L pdns-backend-sqlite3 | grep '/schema.sqlite3.sql$' | head -n 1)"
    sqlite3 "$place/db" "insert into domains(id, name, type) values (1, 'test', 'NATIVE');
        insert into records(domain_id, name, type, content, ttl) values (1, 'test', 'SOA', 'ns.test a.test 1 2 3 4 5', 60),
            (1, 'a.test', 'A', '10.0.0.1', 60);"
    for name in $(seq 200); do echo a.test; done >"$place/names"
    cat >"$place/pdns.conf" <<CONF
launch=gsqlite3
gsqlite3-database=$place/db
gsqlite3-pragma-journal-mode=delete
local-address=127.0.0.1
local-port=$port
socket-dir=$place
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
distributor-threads=1
guardian=no
daemon=no
write-pid=no
CONF
    cat >"$place/holder.py" <<'PYTHON'
import os, sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
while True:
    if os.path.exists(sys.argv[2]):
        database.execute("begin exclusive")
        time.sleep(0.03)
        database.execute("commit")
    time.sleep(0.2)
PYTHON
}

serve() {
    python3 "$place/holder.py" "$place/db" "$place/hold" 2>/dev/null &
    holder=$!
    status=0
    "$@" /usr/sbin/pdns_server "--config-dir=$place" || status=$?
    kill "$holder"
    return "$status"
}

turn() {
    if [ "$1" = slow ]; then touch "$place/hold"; else rm -f "$place/hold"; fi
    [ "$(dig +short +tries=1 +time=5 @127.0.0.1 -p "$port" -f "$place/names" | grep -c '^10.0.0.1$')" -eq 200 ]
}
