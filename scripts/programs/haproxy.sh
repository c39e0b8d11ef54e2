# One path of eight is matched against a regular expression that takes long, each time: HAProxy would keep what it found for a path.
options='--interval process_stream'
cause="a regular expression, for one request of eight"
among='regex|pcre'

prepare() {
    package haproxy haproxy
    package curl curl
    title="HAProxy $(version_of haproxy)"
    frontend "http-request return status 404 if { path -m beg /slow } { path -m reg ^/slow/b/(a|aa)+b\$ }"
}

# Writes the settings of a server that answers by itself: frontend RULE WORDS-AFTER-BIND..
frontend() {
    rules=$1
    shift
    cat >"$place/cfg" <<CFG
global
    tune.pattern.cache-size 0
defaults
    mode http
    timeout client 10s
    timeout server 10s
    timeout connect 1s
frontend f
    bind 127.0.0.1:$port $*
    $rules
    http-request return status 200
CFG
}

serve() { "$@" /usr/sbin/haproxy -db -f "$place/cfg"; }

turn() {
    at="http://127.0.0.1:$port"
    curl -sf -o /dev/null "$at/fast/[1-7]" "$at/$1/b/aaaaaaaaaaaaaaaaaaaaaaaa[1-1]"
}
