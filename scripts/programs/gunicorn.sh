# An interpreter: the interval lies between two calls of the C library. A thread of the application holds a lock for 60 ms of 460; one
# request of eight needs it.
options='--interval libc.so.6!recv..send'
cause="a lock of Python's, which another thread holds now and then"
among='PyThread_acquire_lock|sem_wait|sem_clockwait'

prepare() {
    package gunicorn gunicorn
    package curl curl
    title="gunicorn $(version_of gunicorn)"
    cat >"$place/app.py" <<'PYTHON'
import threading, time
lock = threading.Lock()
def hold():
    while True:
        time.sleep(0.4)
        with lock: time.sleep(0.06)
began = threading.Event()
def app(environ, start_response):
    if not began.is_set():
        began.set()
        threading.Thread(target=hold, daemon=True).start()
    if environ["PATH_INFO"].startswith("/slow"):
        with lock: pass
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
PYTHON
}

serve() { "$@" /usr/bin/gunicorn --chdir "$place" --threads 4 --workers 1 --bind "127.0.0.1:$port" app:app; }

turn() {
    for _ in 1 2; do
        curl -sf -o /dev/null "http://127.0.0.1:$port/fast?[1-7]" -o /dev/null "http://127.0.0.1:$port/$1?[1-1]" || return
    done
}
