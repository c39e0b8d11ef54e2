"""Asks a server on the loopback device for a path again and again, on one connection.

ask.py PORT PATH PAUSE [HEADER VALUE]: the pause is in seconds.
"""

import http.client
import sys
import time

port, path, pause, *header = sys.argv[1:]
headers = dict([header] if header else [])
client = http.client.HTTPConnection("127.0.0.1", int(port))
while True:
    client.request("GET", path, headers=headers)
    answer = client.getresponse()
    while answer.read(1 << 20):
        pass
    time.sleep(float(pause))
