"""An HTTP server for a proxy: 2,000 bytes an answer, late where the path begins with /slow. usage: upstream.py PORT FROM_MS TO_MS"""
import http.server
import random
import sys
import time

port, from_ms, to_ms = map(int, sys.argv[1:])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/slow"):
            time.sleep(random.uniform(from_ms, to_ms) / 1000)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"x" * 2000)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
