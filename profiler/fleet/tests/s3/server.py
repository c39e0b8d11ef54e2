"""A store with the protocol of S3 on loopback, until standard input ends: server.py DIRECTORY BUCKET PREFIX

The files of DIRECTORY are in the bucket, under the prefix. Prints its address. From the first line of standard input on, only requests of keys that may
do what they ask are answered, and there is no such key.
"""

import logging
import os
import pathlib
import sys
import urllib.request

import boto3
from moto.server import ThreadedMotoServer

directory, bucket, prefix = sys.argv[1:]
os.environ.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_DEFAULT_REGION="us-east-1")
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
address = f"http://{host}:{port}"
store = boto3.client("s3", endpoint_url=address)
store.create_bucket(Bucket=bucket)
for file in pathlib.Path(directory).rglob("*"):
    if file.is_file():
        store.upload_file(str(file), bucket, f"{prefix}/{file.relative_to(directory)}")
print(address, flush=True)
if sys.stdin.readline():
    # The number of requests that are still answered without a look at their key.
    headers = {"Content-Type": "application/octet-stream"}
    urllib.request.urlopen(urllib.request.Request(f"{address}/moto-api/reset-auth", data=b"0", headers=headers)).read()
    print("denied", flush=True)
    sys.stdin.read()
server.stop()
