"""Looks at each file of a directory before a program may open it, as a virus scanner does, and takes long for some.

scan.py DIRECTORY
"""

import ctypes
import os
import random
import struct
import sys
import time

CLASS_CONTENT, MARK_ADD, AT_FDCWD, ALLOW = 4, 1, -100, 1
OPEN_PERM, EVENT_ON_CHILD = 0x10000, 0x08000000
EVENT = struct.Struct("=IBBHQii")

libc = ctypes.CDLL(None, use_errno=True)
asked = libc.fanotify_init(CLASS_CONTENT, os.O_RDONLY)
mask = ctypes.c_uint64(OPEN_PERM | EVENT_ON_CHILD)
if asked < 0 or libc.fanotify_mark(asked, MARK_ADD, mask, AT_FDCWD, sys.argv[1].encode()) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
while True:
    events = os.read(asked, 4096)
    for at in range(0, len(events), EVENT.size):
        file = EVENT.unpack_from(events, at)[5]
        time.sleep(random.choice([0] * 49 + [0.05]))
        os.write(asked, struct.pack("=iI", file, ALLOW))
        os.close(file)
