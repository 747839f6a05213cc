"""SIGKILL while it appends, again and again: nothing acknowledged is lost, be it when it was done or
as soon as the store said that it is written; nothing is there twice, no gap, and the store always
opens. A control that acknowledges before it writes must lose."""
import random
import sys
import time

from fault_run import KINDS, Folder, acknowledged, dump, report, setting, write_and_kill

def one_life(url, rng, when):
    """Starts a writer, kills it; gives the acknowledgements that came out whole, and errors."""
    # One life in five is killed while it opens and recovers.
    opened = rng.random() < 0.8
    lines = write_and_kill(url, rng.uniform(0.002, 0.030), when=when, wait_for_open=opened)
    return acknowledged(lines), [line for line in lines if line.startswith(("error", "cannot"))]


def check(url, acks):
    logs, _, faults = dump(url)
    for name, log in logs.items():
        if len(set(log)) != len(log):
            faults.append(f"{name} has something twice")
    lost = [text for name, text in acks if text not in set(logs.get(name, []))]
    return lost, faults, sum(len(log) for log in logs.values())


def cycles(kind, count, rng, when):
    lives, acks, lost, stored, failures = 0, 0, [], 0, []
    while lives < count:
        with Folder(kind=kind) as folder:
            promised = []
            for _ in range(min(25, count - lives)):
                lives += 1
                got, faults = one_life(folder.url, rng, rng.choice(when))
                promised += got
                failures += faults
                gone, faults, have = check(folder.url, promised[-2000:])
                lost += gone
                failures += faults
            gone, faults, have = check(folder.url, promised)
            lost += gone
            acks += len(promised)
            stored += have
    return lives, acks, lost, stored, failures


def check_kind(kind, seed):
    count = setting("PAL_KILL_CYCLES", 100)
    rng = random.Random(seed)
    lives, acks, lost, stored, failures = cycles(kind, count, rng, ["done", "written"])
    failures += [f"acknowledged and lost: {text}" for text in lost]
    control = cycles(kind, 25, rng, ["early"])
    if not control[2]:
        failures.append("the control lost nothing, so this test proves nothing")
    if acks < lives:
        failures.append(f"only {acks} acknowledgements in {lives} lives")
    return report(f"kill, {kind}", failures, f"{lives} kills, {acks} acknowledged, {len(lost)} lost, {stored} stored"
                  f" (control: {control[0]} kills, {control[1]} acknowledged, {len(control[2])} lost;"
                  f" seed {seed})")


def main():
    seed = setting("PAL_SEED", int(time.time()))
    sys.exit(1 if sum([check_kind(kind, seed) for kind in KINDS]) else 0)


main()
