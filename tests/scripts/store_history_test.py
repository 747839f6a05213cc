"""16 clients append to lists and read them while the process is killed and paused: no anomaly."""
import random
import signal
import subprocess
import sys
import threading
import time

from fault_run import KINDS, Folder, dump, program, report, setting
from list_append import History, check, self_test


def one_life(url, run, seconds, rng, history):
    with subprocess.Popen([program(), "history", url, "16", run], stdout=subprocess.PIPE) as process:
        first = process.stdout.readline()
        pauses = 0
        end = time.monotonic() + seconds

        def watch():
            nonlocal pauses
            while time.monotonic() < end:
                time.sleep(rng.uniform(0.02, 0.1))
                if rng.random() < 0.3:
                    process.send_signal(signal.SIGSTOP)
                    time.sleep(0.01)
                    process.send_signal(signal.SIGCONT)
                    pauses += 1
            process.kill()
        watcher = threading.Thread(target=watch)
        watcher.start()
        text = first + process.stdout.read()
        watcher.join()
    lines = text.decode().split("\n")[:-1]
    for line in lines:
        history.add(line)
    return pauses


def check_kind(kind):
    wanted, rng = setting("PAL_HISTORY_OPERATIONS", 20000), random.Random()
    failures, operations, kills, pauses = [], 0, 0, 0
    while operations < wanted:
        history = History()
        with Folder(kind=kind) as folder:
            for life in range(6):
                pauses += one_life(folder.url, f"r{life}", rng.uniform(0.1, 0.4), rng, history)
                kills += 1
            lists, _, faults = dump(folder.url)
            failures += faults
        failures += check(history, lists)
        operations += history.count()
    return report(f"list-append, {kind}", failures,
                  f"{operations} operations of 16 clients, {kills} kills, {pauses} pauses")


def main():
    self_test()
    sys.exit(1 if sum([check_kind(kind) for kind in KINDS]) else 0)


main()
