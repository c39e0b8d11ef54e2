# Handshakes of HAProxy: one connection of eight begins a session, for which the server's private key is needed; the others resume it.
# Without the cause one of a thousand does.
. "$here/scripts/programs/haproxy.sh"
options='--interval ssl_sock_io_cb'
cause="the private key's operation, for one connection of eight"
among='RSA|rsa|BN_mod_exp|EVP_(Digest|PKEY_)'

prepare() {
    package haproxy haproxy
    package curl curl
    package openssl openssl
    title="HAProxy $(version_of haproxy), TLS"
    openssl req -x509 -newkey rsa:4096 -nodes -keyout "$place/pem.key" -out "$place/pem" -days 30 -subj /CN=localhost 2>/dev/null
    frontend "" ssl crt "$place/pem" ssl-max-ver TLSv1.2
}

turn() {
    case $1 in slow) last=8 ;; plain) last=1000 ;; esac
    curl -skf --http1.0 -o /dev/null "https://127.0.0.1:$port/[1-$last]"
}
