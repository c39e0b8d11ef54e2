# MySQL of Debian's unstable release, in a root directory of its own, where the agent is at its own path and there is a /proc:
# one statement of eight reads a table of 20,000 rows.
options='--interval dispatch_command'
cause="one statement of eight reads a table of 20,000 rows"
needs_root=yes
among='Iterator|row_search|rnd_next|ha_rnd|Item_func_like|evaluate'

prepare() {
    "$here/scripts/install.sh" mysql-sid
    package mysql mariadb-client
    root=/var/cache/evenkeel/mysql-sid
    title="MySQL $(chroot "$root" mysqld --version | sed -E 's/.*Ver ([0-9.]+).*/\1/'), in a chroot"
    mkdir "$place/data"
    chown "$(stat -c %u "$root/var/lib/mysql")" "$place/data"
    first_option=--initialize-insecure
    serve env >"$log.prepare" 2>&1
    first_option=
}

# The mounts are the server's own, and end with it.
serve() {
    # shellcheck disable=SC2016 # for the inner shell
    enter='root=$1; for at in /proc "$2" "$3"; do mkdir -p "$root$at"; mount --bind "$at" "$root$at"; done; shift 3; exec chroot "$root" "$@"'
    # shellcheck disable=SC2086 # a word or none
    "$@" unshare -m sh -c "$enter" sh "$root" "$place" "$(dirname "$evenkeel")" mysqld --no-defaults $first_option --user=mysql \
        "--datadir=$place/data" "--socket=$place/data/socket" --mysqlx=OFF --bind-address=127.0.0.1 "--port=$port"
}

statements() { mysql -h 127.0.0.1 -P "$port" -u root -e "$1" >/dev/null; }

fill() {
    statements "create database test; use test; create table t (id int primary key, v varchar(100));
        set cte_max_recursion_depth = 20000;
        insert into t with recursive n(id) as (select 1 union all select id + 1 from n where id < 20000) select id, repeat(lpad(id, 8, '0'), 12) from n"
}

turn() {
    eighth="select 8"
    [ "$1" = plain ] || eighth="select count(*) from test.t where v like '%1%1%9%9'"
    statements "$(for _ in $(seq 30); do echo "select 1; select 2; select 3; select 4; select 5; select 6; select 7; $eighth;"; done)"
}
