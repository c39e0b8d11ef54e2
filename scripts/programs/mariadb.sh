# TPC-C by 32 clients. What varies is the wait for a row's lock (dissertation, table 2.1); without the cause there is one client.
options='--preset mariadb'
cause="the wait for a row's lock"
among='lock_wait|os_event_wait|lock_rec'
seconds=60
# Two warehouses are filled first.
before=30

prepare() {
    server_of="$here/target/$build/examples/mariadb"
    "$here/scripts/install.sh" "mariadb-$version"
    built "$server_of" "-p evenkeel-servers --example mariadb"
    title="MariaDB $version, official build, TPC-C, 2 warehouses, 32 clients"
}

serve() {
    "$server_of" --release "$version" --port-file "$place/port" --set innodb-buffer-pool-size=512M --set max-prepared-stmt-count=1000000 \
        --set local-infile=ON "$@"
}

turn() {
    case $1 in slow) clients=32 ;; plain) clients=1 ;; esac
    "$evenkeel" bench tpcc --scale 2 --clients "$clients" --target "mysql://root@127.0.0.1:$(cat "$place/port")/test" --for 9s --no-check
}

fill() { turn slow; }
