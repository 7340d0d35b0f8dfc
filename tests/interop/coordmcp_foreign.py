"""CoordMCP's way of locking, written from what is known of its storage: load the whole file, check,
write the whole file under a fixed name beside it, rename. There is no lock between processes.
Corrupt JSON is "no data". Times are datetime.now().

Each step is one JSON line on stdout.
"""
import argparse
import json
import os
import random
import sys
import time
from datetime import datetime, timedelta

TIMEOUT = timedelta(hours=24)


def say(**words):
    print(json.dumps(dict(words, at=time.time())), flush=True)


class ProjectStore:
    """agents/locks/{project}.json, keys are absolute paths, times as str() has them."""

    def __init__(self, options):
        self.agent = options.agent
        self.own = os.path.join(options.data, "agents", "locks", options.project + ".json")
        self.workspace = options.workspace

    def files(self):
        return [self.own]

    def key(self, name):
        return os.path.join(self.workspace, name)

    def entry(self, name, reason):
        now = datetime.now()
        return {"file_path": self.key(name), "locked_at": str(now), "locked_by": self.agent,
                "reason": reason, "expected_unlock_time": str(now + timedelta(hours=1)),
                "lock_scope": "file", "priority": 0}

    def whole(self, locks):
        return {"locks": locks, "updated_at": datetime.now().isoformat()}


class AgentStore(ProjectStore):
    """agents/{agent}/locked_files.json, keys as asked for, times as isoformat() has them."""

    def __init__(self, options):
        super().__init__(options)
        self.agents = os.path.join(options.data, "agents")
        self.own = os.path.join(self.agents, options.agent, "locked_files.json")

    def files(self):
        found = [os.path.join(self.agents, name, "locked_files.json")
                 for name in sorted(os.listdir(self.agents))] if os.path.isdir(self.agents) else []
        return [path for path in found if os.path.exists(path) and path != self.own] + [self.own]

    def key(self, name):
        return name

    def entry(self, name, reason):
        now = datetime.now()
        return {"file_path": name, "locked_by": self.agent, "locked_at": now.isoformat(),
                "reason": reason, "expected_duration_minutes": 60,
                "expected_unlock_time": (now + timedelta(hours=1)).isoformat()}

    def whole(self, locks):
        return {"locks": locks}


def load(path):
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream).get("locks", {})
    except FileNotFoundError:
        return {}
    except json.JSONDecodeError:
        say(event="corrupt", path=path)
        return {}


def save(store, locks):
    os.makedirs(os.path.dirname(store.own), exist_ok=True)
    beside = os.path.splitext(store.own)[0] + ".tmp"
    with open(beside, "w", encoding="utf-8") as stream:
        json.dump(store.whole(locks), stream, indent=2)
    os.replace(beside, store.own)


def is_stale(entry):
    # As its reader compares: an aware time here would be a TypeError.
    return datetime.now() - datetime.fromisoformat(entry["locked_at"]) > TIMEOUT


def holder(store, name):
    for path in store.files():
        entry = load(path).get(store.key(name))
        if entry and entry["locked_by"] != store.agent and not is_stale(entry):
            return entry["locked_by"]
    return None


def lock(store, name, until=None, stale=False):
    begun = time.time()
    by = holder(store, name)
    if by:
        say(event="refused", file=name, by=by, begun=begun)
        return False
    locks = load(store.own)
    if until:  # between its check and its write
        say(event="checked", file=name)
        while not os.path.exists(until):
            time.sleep(0.005)
    if not stale:
        locks = load(store.own)
    locks[store.key(name)] = store.entry(name, "foreign work")
    save(store, locks)
    say(event="locked", file=name, begun=begun)
    return True


def unlock(store, name):
    begun = time.time()
    locks = load(store.own)
    entry = locks.get(store.key(name))
    if not entry or entry["locked_by"] != store.agent:
        say(event="lost", file=name, by=entry and entry["locked_by"])
        return
    del locks[store.key(name)]
    save(store, locks)
    say(event="unlocked", file=name, begun=begun)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["lock", "unlock", "loop", "show"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--shape", choices=["project", "agent"], default="project")
    parser.add_argument("--data", required=True)
    parser.add_argument("--project", default="demo")
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--agent", default="foreign")
    parser.add_argument("--until", help="wait for this file between check and write")
    parser.add_argument("--stale", action="store_true", help="write what was read before that")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    store = (ProjectStore if options.shape == "project" else AgentStore)(options)
    if options.what == "lock":
        return 0 if all([lock(store, name, options.until, options.stale) for name in options.files]) else 75
    if options.what == "unlock":
        for name in options.files:
            unlock(store, name)
        return 0
    if options.what == "show":
        say(event="show", held={name: holder(store, name) for name in options.files})
        return 0
    chance = random.Random(options.seed)
    end = time.time() + options.seconds
    while time.time() < end:
        name = chance.choice(options.files)
        if lock(store, name):
            time.sleep(chance.choice([0, 0, 0.001, 0.005, 0.02]))
            unlock(store, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
