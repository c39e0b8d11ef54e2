# Samba starts a process for each connection. Each turn connects a few times, and writes, lists, reads and deletes files.
options='--interval libsmbd-base-samba4.so.0!smbd_smb2_request_dispatch'
starts_processes=yes
needs_root=1

prepare() {
    package smbd samba
    package smbclient smbclient
    title="Samba $(version_of samba | sed 's/+.*//')"
    mkdir "$place/share" "$place/state"
    chmod 777 "$place/share"
    # Its log would be the client's, too.
    : >"$place/client"
    cat >"$place/conf" <<CONF
[global]
    server role = standalone server
    interfaces = 127.0.0.1
    bind interfaces only = yes
    smb ports = $port
    map to guest = bad user
    guest account = root
    load printers = no
    disable spoolss = yes
    log level = 0
    lock directory = $place/state
    state directory = $place/state
    cache directory = $place/state
    private dir = $place/state
    pid directory = $place/state
    ncalrpc dir = $place/state/rpc
[share]
    path = $place/share
    guest ok = yes
    read only = no
CONF
    head -c 200000 /dev/urandom >"$place/file"
}

serve() { "$@" /usr/sbin/smbd -F --debug-stdout -s "$place/conf" -l "$place/state"; }

turn() {
    for name in a b c; do
        smbclient //127.0.0.1/share -p "$port" -s "$place/client" -U nobody%x \
            -c "put $place/file $name; ls; get $name $place/back; rm $name" >/dev/null 2>&1 || return
        cmp -s "$place/file" "$place/back" || return
    done
}
