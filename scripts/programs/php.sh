# PHP's own server: each request sorts, and sleeps for a random time.
options='--interval zend_execute_scripts'
cause="\`usleep\` of a random time"
among='usleep|nanosleep'

prepare() {
    package php php-cli
    package curl curl
    title="PHP $(php -r 'echo PHP_VERSION;')"
    cat >"$place/router.php" <<'PHP'
<?php
$a = range(1, 500);
shuffle($a);
sort($a);
if (str_starts_with($_SERVER["REQUEST_URI"], "/slow")) usleep(mt_rand(0, 3000));
echo md5(implode(",", $a));
PHP
}

serve() { "$@" php -S "127.0.0.1:$port" "$place/router.php"; }

turn() { curl -sf -o /dev/null "http://127.0.0.1:$port/$1/[1-200]"; }
