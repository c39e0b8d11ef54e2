# OpenSSH executes itself for each connection, as processes with and without rights. Each turn logs in a few times and stores, lists, reads and deletes a file.
options='--interval libcrypto.so.3!EVP_DigestUpdate'
starts_processes=yes
needs_root=1

prepare() {
    package /usr/sbin/sshd openssh-server
    package ssh openssh-client
    title="OpenSSH $(version_of openssh-server)"
    mkdir -p /run/sshd
    for key in host user; do ssh-keygen -q -t ed25519 -N '' -f "$place/$key"; done
    head -c 200000 /dev/urandom >"$place/file"
    cat >"$place/conf" <<CONF
Port $port
ListenAddress 127.0.0.1
HostKey $place/host
AuthorizedKeysFile $place/user.pub
StrictModes no
UsePAM no
PermitRootLogin yes
Subsystem sftp internal-sftp
MaxStartups 100
PidFile none
CONF
}

serve() { "$@" /usr/sbin/sshd -D -e -f "$place/conf"; }

turn() {
    for name in a b c; do
        printf 'put %s %s\nls %s\nget %s %s\nrm %s\n' "$place/file" "$place/$name" "$place" "$place/$name" "$place/back" "$place/$name" |
            sftp -q -F none -i "$place/user" -P "$port" -b - -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null root@127.0.0.1 \
                >/dev/null 2>&1 || return
        cmp -s "$place/file" "$place/back" || return
    done
}
