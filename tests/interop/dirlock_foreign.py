"""The same as dirlock_foreign.js, for machines without node."""
import hashlib
import json
import os
import socket
import sys
import time
from datetime import datetime, timezone

mode, out = sys.argv[1:3]
cwd = os.getcwd()
tmp = os.environ.get("TMPDIR") or os.environ.get("TMP") or os.environ.get("TEMP") or "/tmp"
file = os.path.join(tmp, "agent-dir-" + hashlib.sha256(cwd.encode()).hexdigest() + ".lock")


def create():
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    content = {"pid": os.getpid(), "cwd": cwd, "startTime": now,
               "hostname": socket.gethostname(), "agents": ["foreign"]}
    try:
        with open(file, "x", encoding="utf-8") as lock:
            lock.write(json.dumps(content, indent=2))
        return True
    except FileExistsError:
        return False


def alive(pid):
    try:
        os.kill(pid, 0)
        return True
    except OSError:
        return False


def acquire():
    while True:
        if create():
            return True
        try:
            with open(file, encoding="utf-8") as lock:
                holder = json.load(lock)
        except FileNotFoundError:
            continue
        start = datetime.fromisoformat(holder["startTime"].replace("Z", "+00:00"))
        old = (datetime.now(timezone.utc) - start).total_seconds() > 20 * 60
        if alive(holder["pid"]) and not old:
            print("[LOCK] Lock held by PID %d (%s)" % (holder["pid"], ", ".join(holder["agents"])),
                  file=sys.stderr)
            return False
        os.unlink(file)


def hold():
    with open(os.path.join(out, "held"), "w", encoding="utf-8") as mark:
        mark.write(str(os.getpid()))
    while not os.path.exists(os.path.join(out, "stop")):
        time.sleep(0.005)
    with open(file, encoding="utf-8") as lock:
        if json.load(lock)["pid"] == os.getpid():
            os.unlink(file)


if mode == "loop":
    entered = 0
    while entered < int(sys.argv[3]) and not os.path.exists(os.path.join(out, "stop")):
        if not create():
            time.sleep(0.001)
            continue
        entered += 1
        try:
            os.mkdir(os.path.join(out, "inside"))
            time.sleep(0.002)
            os.rmdir(os.path.join(out, "inside"))
        except OSError as error:
            with open(os.path.join(out, "overlaps"), "a", encoding="utf-8") as overlaps:
                overlaps.write("foreign %s\n" % error)
        os.unlink(file)
        time.sleep(0.003)
    with open(os.path.join(out, "foreign-entered"), "w", encoding="utf-8") as mark:
        mark.write(str(entered))
else:
    if mode == "steal" and os.path.exists(file):
        os.unlink(file)
    if not acquire():
        sys.exit(1)
    hold()
