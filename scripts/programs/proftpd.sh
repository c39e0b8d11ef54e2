# ProFTPD starts a process for each connection. Each turn connects a few times, and stores, lists, reads and deletes files.
options='--interval pr_cmd_dispatch_phase'
starts_processes=yes
needs_root=1

prepare() {
    package proftpd proftpd-core
    package curl curl
    title="ProFTPD $(version_of proftpd-core | sed 's/+.*//')"
    mkdir "$place/files"
    chown nobody "$place/files"
    echo "test:$(openssl passwd -6 pw):$(id -u nobody):$(id -g nobody)::$place/files:/bin/sh" >"$place/users"
    chmod 600 "$place/users"
    cat >"$place/conf" <<CONF
ServerType standalone
Port $port
DefaultAddress 127.0.0.1
SocketBindTight on
UseIPv6 off
UseReverseDNS off
User nobody
Group nogroup
MaxInstances 30
RequireValidShell off
AuthOrder mod_auth_file.c
AuthUserFile $place/users
PidFile $place/proftpd.pid
ScoreboardFile $place/scoreboard
DelayEngine off
TransferLog none
WtmpLog off
SystemLog $place/log
DefaultRoot ~
<Directory />
    AllowOverwrite on
</Directory>
CONF
    head -c 200000 /dev/urandom >"$place/file"
}

serve() { "$@" /usr/sbin/proftpd -n -q -c "$place/conf"; }

turn() {
    for name in a b c; do
        at="ftp://test:pw@127.0.0.1:$port"
        curl -sf -T "$place/file" "$at/$name" && curl -sf -l -o /dev/null "$at/" && curl -sf -o "$place/back" -Q "-DELE $name" "$at/$name" || return
        cmp -s "$place/file" "$place/back" || return
    done
}
