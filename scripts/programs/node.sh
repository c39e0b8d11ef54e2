# A key is derived at each turn, with a random number of iterations; without the cause their number is always the same.
options='--interval PKCS5_PBKDF2_HMAC'
cause="a random number of iterations"
among='HMAC|EVP|EVP_MAC|kdf|pbkdf'

prepare() {
    package node nodejs
    title="Node.js $(node --version | tr -d v)"
    cat >"$place/load.js" <<'JS'
const crypto = require("crypto");
const [seconds, period] = process.argv.slice(2).map(Number);
const derive = iterations => crypto.pbkdf2Sync("secret", "salt", iterations, 32, "sha256").toString("hex");
const known = [derive(1), derive(500)];
let state = 1, passed, wrong = 0;
const began = process.uptime();
while ((passed = process.uptime() - began) < seconds) {
    state = (state * 1103515245 + 12345) % 2147483648;
    derive(period && Math.floor(passed / period) % 2 == 0 ? 500 : 1 + state % 1000);
    if (state % 100 == 0 && (derive(1) != known[0] || derive(500) != known[1])) wrong++;
}
console.log(known, wrong, "wrong");
JS
}

run() {
    at_seconds=$1
    period=$2
    shift 2
    "$@" node "$place/load.js" "$at_seconds" "$period"
}
