# One request of eight executes a program and waits for it.
options='--interval rad_authenticate'
cause="a program that one request of eight waits for"
among='radius_exec|radius_start_program|radius_readfrom_program|select|waitpid|xlat|fork|exec'
starts_processes=yes

prepare() {
    package freeradius freeradius
    package radclient freeradius-utils
    title="FreeRADIUS $(version_of freeradius)"
    cat >"$place/radiusd.conf" <<CONF
prefix = /usr
libdir = /usr/lib/freeradius
raddbdir = $place
logdir = $place
run_dir = $place
db_dir = $place
pidfile = $place/radius.pid
max_request_time = 30
cleanup_delay = 0
max_requests = 16384
hostname_lookups = no
log { destination = files
 file = $place/radius.log }
security { allow_core_dumps = no
 max_attributes = 200
 reject_delay = 0
 status_server = no }
client localhost { ipaddr = 127.0.0.1
 secret = testing123
 require_message_authenticator = no
 limit_proxy_state = no }
thread pool { start_servers = 3
 max_servers = 3
 min_spare_servers = 1
 max_spare_servers = 3
 max_requests_per_server = 0
 auto_limit_acct = no }
modules {
 pap {
 }
 exec { wait = yes
  input_pairs = request
  shell_escape = yes
  timeout = 5 }
}
server default {
 listen { type = auth
  ipaddr = 127.0.0.1
  port = $port }
 authorize {
  update control {
   Cleartext-Password := "pw"
  }
  if (&User-Name == "slow") {
   update reply {
    Reply-Message := "%{exec:/bin/sleep 0.005}"
   }
  }
  pap
 }
 authenticate {
  Auth-Type PAP {
   pap
  }
 }
}
CONF
    for kind in plain slow; do
        for _ in 1 2 3 4 5; do
            for number in 1 2 3 4 5 6 7 8; do
                user=plain
                [ $number -lt 8 ] || user=$kind
                printf 'User-Name = "%s"\nUser-Password = "pw"\n\n' $user
            done
        done >"$place/$kind"
    done
}

serve() { "$@" freeradius -d "$place" -f; }

turn() { radclient -q -x -f "$place/$1" -p 2 -r 1 -t 3 "127.0.0.1:$port" auth testing123 >/dev/null 2>&1; }
