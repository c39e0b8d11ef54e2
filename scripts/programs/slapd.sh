# Searches without an index, for each of which all entries are compared, beside those for one entry.
options='--interval do_search'
cause="every eighth search compares all entries"
among='mdb_search|test_filter|mdb_id2entry|entry_decode|send_search'

prepare() {
    package slapd slapd
    package ldapsearch ldap-utils
    title="OpenLDAP slapd $(version_of slapd)"
    mkdir "$place/db"
    cat >"$place/conf" <<CONF
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "dc=test"
rootdn "cn=admin,dc=test"
directory $place/db
maxsize 100000000
CONF
    awk 'BEGIN { print "dn: dc=test\nobjectClass: organization\nobjectClass: dcObject\no: test\ndc: test\n";
        for (n = 0; n < 3000; n++) printf "dn: cn=p%d,dc=test\nobjectClass: person\ncn: p%d\nsn: s%d\n\n", n, n, n }' >"$place/entries"
    slapadd -f "$place/conf" -l "$place/entries" >/dev/null 2>&1
}

serve() { "$@" /usr/sbin/slapd -d 0 -f "$place/conf" -h "ldap://127.0.0.1:$port"; }

search() { ldapsearch -x -LLL -H "ldap://127.0.0.1:$port" -b dc=test -s "$1" "$2" dn >/dev/null; }

turn() {
    for _ in 1 2 3 4 5 6 7; do
        search base '(objectClass=dcObject)' || return
    done
    [ "$1" = plain ] || search sub "(sn=s$(shuf -i 0-2999 -n 1))"
}
