# One request of eight is handed to a server that takes 2 to 20 ms; the others are in the cache.
options='--interval CNT_Request'
cause="the wait for another server, in one request of eight"
among='Lck_CondWait|pthread_cond|ObjWait'

prepare() {
    package varnishd varnish
    package curl curl
    title="Varnish $(version_of varnish)"
    cat >"$place/vcl" <<VCL
vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "$((port + 1))"; }
sub vcl_recv { if (req.url ~ "^/slow") { return (pass); } return (hash); }
VCL
}

serve() {
    python3 "$here/scripts/programs/upstream.py" $((port + 1)) 2 20 2>/dev/null &
    upstream=$!
    status=0
    "$@" /usr/sbin/varnishd -F -j none -n "$place/work" -a "127.0.0.1:$port" -f "$place/vcl" -s malloc,20m || status=$?
    kill "$upstream"
    return "$status"
}

turn() { curl -sf -o /dev/null "http://127.0.0.1:$port/plain?[1-7]" "http://127.0.0.1:$port/$1?[1-1]"; }
