# A text that is compressed at each turn, of random length; without the cause all are equally long.
options='--interval PyRun_StringFlags'
cause="\`zlib.compress\` of texts of random length"
among='deflate|compress'

prepare() {
    package /usr/bin/python3 python3
    title="CPython $(version_of python3)"
    cat >"$place/load.py" <<'PYTHON'
import json, random, sys, time, zlib
seconds, period = map(float, sys.argv[1:])
random.seed(1)
text = bytes(random.choices(b"abcdefgh ", k=200000))
turn = "len(json.dumps(list(range(200)))) + len(zlib.decompress(zlib.compress(text[:n])))"
began, turns, wrong = time.time(), 0, 0
while (passed := time.time() - began) < seconds:
    n = 100000 if period and int(passed / period) % 2 == 0 else random.randrange(200000)
    wrong += eval(turn, {"json": json, "zlib": zlib, "text": text, "n": n}) != n + 890
    turns += 1
print(wrong, "wrong,", "enough" if turns > 20 else turns)
PYTHON
}

run() {
    at_seconds=$1
    period=$2
    shift 2
    "$@" /usr/bin/python3 "$place/load.py" "$at_seconds" "$period"
}
