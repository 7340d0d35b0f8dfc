#!/usr/bin/env python3
"""Counts in a file that several processes share: counter.py FILE TIMES

Start several at once, and those in other languages too: none of the additions is lost, whoever is
killed in between.
"""

import os
import sys

import lockkeeper


def add_one(path):
    try:
        with open(path) as file:
            number = int(file.read() or 0)
    except FileNotFoundError:
        number = 0
    with open(path + ".new", "w") as file:
        file.write(f"{number + 1}\n")
    os.replace(path + ".new", path)  # whole or not at all


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: counter.py FILE TIMES")
    path, times = sys.argv[1], int(sys.argv[2])
    with lockkeeper.Realm(agent="counter") as realm:
        for _ in range(times):
            with realm.acquire([path], wait=60, ttl=30, reason="counting") as lease:
                lease.check()  # right before what the lock guards: is it still ours?
                add_one(path)
    print(f"{path}: added {times}")


if __name__ == "__main__":
    try:
        main()
    except lockkeeper.Error as error:
        sys.exit(f"counter: {error.message}\n  hint: {error.hint}")
