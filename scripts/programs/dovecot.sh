# Dovecot starts processes for logins and for sessions. Each turn logs in a few times, stores messages, lists, reads and deletes them.
options='--interval libdovecot.so.0!io_loop_handler_run'
starts_processes=yes
needs_root=1

prepare() {
    package dovecot dovecot-imapd
    package curl curl
    title="Dovecot $(version_of dovecot-core)"
    mkdir "$place/mail" "$place/run"
    chown mail:mail "$place/mail"
    cat >"$place/conf" <<CONF
base_dir = $place/run
log_path = $place/dovecot.log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
mail_location = maildir:$place/mail/%n
first_valid_uid = 1
mail_uid = mail
mail_gid = mail
passdb {
  driver = static
  args = password=pw
}
userdb {
  driver = static
  args = uid=mail gid=mail home=$place/mail/%n
}
service imap-login {
  inet_listener imap {
    port = $port
  }
  inet_listener imaps {
    port = 0
  }
}
CONF
    { printf 'From: a@test\r\nSubject: test\r\n\r\n'; head -c 20000 /dev/urandom | base64 | sed 's/$/\r/'; } >"$place/message"
}

serve() { "$@" /usr/sbin/dovecot -F -c "$place/conf"; }

turn() {
    at="imap://127.0.0.1:$port"
    for user in a b c; do
        curl -sf -u "$user:pw" -T "$place/message" "$at/INBOX" -o /dev/null && curl -sf -u "$user:pw" "$at/INBOX?ALL" -o /dev/null || return
        curl -sf -u "$user:pw" "$at/INBOX;MAILINDEX=1" -o "$place/back" || return
        cmp -s "$place/message" "$place/back" || return
        curl -sf -u "$user:pw" "$at/INBOX" -X 'STORE 1 +FLAGS (\Deleted)' -o /dev/null && curl -sf -u "$user:pw" "$at/INBOX" -X EXPUNGE -o /dev/null || return
    done
}
