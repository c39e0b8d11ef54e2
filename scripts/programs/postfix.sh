# Messages of a megabyte beside short ones, queued by processes that start and end with the load. The interval is a function that is nothing but
# a jump through a pointer: it flushes the queue file and waits for the queue manager's word. As `postfix-chroot` the processes that Debian
# confines to the queue's directory are.
options='--interval libpostfix-global.so!mail_stream_finish'
cause="every eighth message is a thousand times as long"
among='fsync|poll|read'
starts_processes=yes
needs_root=1

prepare() {
    package smtp-source postfix
    title="Postfix $(version_of postfix)"
    confined=n
    [ "$version" != chroot ] || {
        title="$title, in a chroot"
        confined=y
    }
    mkdir "$place/etc" "$place/queue" "$place/queue/proc" "$place/data"
    chown postfix "$place/data"
    cp -r /etc/postfix/. "$place/etc"
    cat >"$place/etc/main.cf" <<CONF
compatibility_level = 3.6
queue_directory = $place/queue
data_directory = $place/data
maillog_file = $place/data/log
maillog_file_prefixes = $place
myhostname = test.local
mydestination =
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
relay_domains = test.local
default_transport = discard:
relay_transport = discard:
local_recipient_maps =
smtpd_recipient_restrictions = permit_mynetworks, reject
smtpd_client_connection_rate_limit = 0
import_environment = MAIL_CONFIG MAIL_DEBUG MAIL_LOGTAG TZ LANG=C LD_PRELOAD EVENKEEL_ARENA
alias_maps =
alias_database =
CONF
    cat >"$place/etc/master.cf" <<CONF
127.0.0.1:$port inet n - $confined - 10 smtpd
postlog unix-dgram n - n - 1 postlogd
pickup unix n - $confined 60 1 pickup
cleanup unix n - $confined - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - $confined - - trivial-rewrite
bounce unix - - $confined - 0 bounce
defer unix - - $confined - 0 bounce
trace unix - - $confined - 0 bounce
proxymap unix - - n - - proxymap
anvil unix - - $confined - 1 anvil
discard unix - - $confined - - discard
CONF
    postfix -c "$place/etc" check 2>/dev/null
}

# By itself: Postfix' own script leaves it behind where the script is killed.
serve() {
    if [ "$confined" = n ]; then
        "$@" "$(postconf -h daemon_directory)/master" -c "$place/etc" -s
        return
    fi
    # To be attached to takes a /proc where it is. The mount is the server's own, and ends with it.
    # shellcheck disable=SC2016 # for the inner shell
    "$@" unshare -m sh -c 'mount -t proc proc "$1"; shift; exec "$@"' sh "$place/queue/proc" "$(postconf -h daemon_directory)/master" \
        -c "$place/etc" -s
}

send() { smtp-source -s "$1" -m "$2" -l "$3" -f a@test.local -t b@test.local "127.0.0.1:$port"; }

# A process of the server's that was killed fails the turn.
turn() {
    send 2 14 1000 || return
    [ "$1" = plain ] || send 1 2 1000000 || return
    ! grep -q 'killed by signal' "$place/data/log"
}
