"""The module of examples/python, in a repository where ann holds `taken`. Says "ok"."""

import os
import signal
import subprocess
import sys
import threading

import lockkeeper
from lockkeeper import Cancel, Error, Realm


def refused(code, call):
    try:
        call()
    except Error as error:
        assert error.code == code, (error.code, error.message)
        return error
    raise AssertionError(f"not refused: {code}")


def command_line(*words):
    environment = {**os.environ, "LOCKKEEPER_AGENT": "lead"}
    return subprocess.run([os.environ["LOCKKEEPER"], *words], env=environment,
                          capture_output=True, text=True)


with Realm(agent="py") as realm, Realm(agent="py") as other:
    assert realm.whoami()["agent"] == "py"

    # Refusals, in the words and the JSON of the command line.
    held = refused("held", lambda: realm.acquire(["taken", "free"]))
    assert held.answer["conflicts"][0]["agent"] == "ann", held.answer
    assert "a rewrite" in held.message and held.hint
    refused("held", lambda: realm.check(["taken"]))
    refused("timeout", lambda: realm.acquire(["taken"], wait=0.001))
    refused("invalid_resource", lambda: realm.acquire(["../outside"]))
    refused("usage", lambda: realm.acquire([]))

    # Both ways.
    with realm.acquire(["src/", "db:migration-slot"], reason="größer", ttl=lockkeeper.FOREVER) as lease:
        assert lease.answer["lease"]["expires_at"] is None and len(lease.id) == 32
        assert lease.answer["lease"]["reason"] == "größer"
        lease.check()
        assert not lease.lost
        assert realm.check(["src/a.py"], fence=lease.fence)["mine"]
        refused("held", lambda: other.acquire(["src/a.py"]))
        assert command_line("acquire", "src/a.py").returncode == 75
        assert realm.renew(["src/", "db:migration-slot"])[0]["id"] == lease.id
        assert [each["mine"] for each in realm.list(agent="py")["leases"]] == [True]
    other.acquire(["src/a.py"]).release()

    # A cancel from another thread.
    cancel = Cancel()
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(
        refused("failed", lambda: realm.acquire(["taken"], wait=lockkeeper.FOREVER, cancel=cancel))))
    waiter.start()
    while not realm.list()["waiters"]:
        pass
    cancel.request()
    waiter.join()
    assert answers[0].answer["outcome"] == "interrupted"

    # A loss is told in a thread of the library.
    told, seen = threading.Event(), []
    lease = realm.acquire(["a"], on_lost=lambda error: (seen.append(error), told.set()))
    assert command_line("break", "--lease", lease.id, "--reason", "taking over").returncode == 0
    assert told.wait(60) and seen[0].code == "lost" and "taking over" in seen[0].message
    assert lease.lost
    refused("lost", lease.check)
    lease.close()
    refused("usage", lease.check)

    # A forked child has nothing; kill -9 frees what it took itself.
    mine = realm.acquire(["mine"])
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        error = refused("lost", mine.check)
        own = Realm(agent="child").acquire(["b"])
        os.write(writing, b"b" if mine.lost else b"?")
        signal.pause()
    assert os.read(reading, 1) == b"b"
    refused("held", lambda: realm.acquire(["b"]))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    realm.acquire(["b"], wait=60).close()
    mine.check()
    mine.release()

    stolen = command_line("acquire", "c", "--json")
    assert stolen.returncode == 0, stolen.stderr
    broken = realm.break_lease(realm.list(agent="lead")["leases"][0]["id"], "not needed")
    assert broken[0]["agent"] == "lead"

print("ok")
sys.stdout.flush()
