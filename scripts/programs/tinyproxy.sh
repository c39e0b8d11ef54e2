# None of its functions has a symbol: the interval lies between two calls of the C library. One request of eight is for a page that
# takes its server 10 to 30 ms.
options='--interval libc.so.6!connect..shutdown'
cause="the wait for its upstream server, in one request of eight"
among='recv'

prepare() {
    package tinyproxy tinyproxy-bin
    package curl curl
    title="tinyproxy $(version_of tinyproxy-bin)"
    cat >"$place/conf" <<CONF
Port $port
Listen 127.0.0.1
Timeout 60
MaxClients 50
LogFile "$place/log"
LogLevel Error
CONF
}

serve() {
    python3 "$here/scripts/programs/upstream.py" $((port + 1)) 10 30 2>/dev/null &
    upstream=$!
    status=0
    "$@" /usr/bin/tinyproxy -d -c "$place/conf" || status=$?
    kill "$upstream"
    return "$status"
}

turn() {
    at="http://127.0.0.1:$((port + 1))"
    curl -sf -x "127.0.0.1:$port" -o /dev/null "$at/fast?[1-7]" -o /dev/null "$at/$1?[1-1]"
}
