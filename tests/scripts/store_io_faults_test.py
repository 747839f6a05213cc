"""Every write, sync and truncate of a scenario fails once, in every way: the store opens again and
holds what was acknowledged, plus at most what was in doubt, and nothing else."""
import itertools
import random
import sys

from fault_run import (KINDS, Folder, acknowledged, dump, report, run, setting,
                       write_and_kill)

FAULTS = [("write", "EIO"), ("write", "ENOSPC"), ("write", "SHORT"), ("write", "KILL"),
          ("sync", "EIO"), ("sync", "ENOSPC"), ("sync", "KILL"),
          ("truncate", "EIO"), ("truncate", "KILL")]


def append(name, texts, create=False):
    def step(state):
        if name in state or create:
            state.setdefault(name, []).extend(texts)
    return step


def fork(state):
    if len(state.get("a", [])) >= 2 and "f" not in state:
        state["f"] = state["a"][:2] + ["f3", "large.4"]
        state["shared"] = True


def scrub(state):
    for name in ("a", "f"):
        if name == "a" or "shared" in state:
            if state.get(name):
                state[name][0] = "scrubbed"


def erase(name):
    return lambda state: state.pop(name, None)


STEPS = {
    "s1": append("a", ["a1"], create=True), "s2": append("a", ["a2", "large.3"]),
    "s3": append("b", ["b1", "large.2"], create=True), "s4": fork, "s5": append("a", ["compaction"]),
    "s6": scrub, "s7": erase("b"), "s8": append("a", ["a5"]),
    "s9": lambda state: state.__setitem__("record", True),
    "s10": erase("a"), "s11": append("f", ["f4"]),
}


def outcomes(lines):
    """{step: ok | unknown | failed}; a step that began and did not end is unknown."""
    found = {}
    for line in lines:
        words = line.split(" ")
        if words[0] in STEPS:
            found[words[0]] = {"ok": "ok", "begins": "unknown",
                               "outcome_unknown": "unknown"}.get(words[1], "failed")
    return found


def possible_states(found):
    """All the states that the outcomes allow."""
    doubtful = [step for step, how in found.items() if how == "unknown"]
    for choice in itertools.product([False, True], repeat=len(doubtful)):
        state = {}
        for step, effect in STEPS.items():
            how = found.get(step, "failed")
            if how == "ok" or (how == "unknown" and choice[doubtful.index(step)]):
                effect(state)
        state.pop("shared", None)
        yield state


def one_fault(kind, op, how, nth):
    """None when the fault was not reached, else a list of what is wrong."""
    with Folder(kind=kind) as folder:
        fault = f"{op}:{how}:{nth}"
        status, lines, errors = run("scenario", folder.url, fault=fault)
        calls = [line.split()[1:] for line in lines if line.startswith("calls")]
        if calls and int(calls[0][["write", "sync", "truncate"].index(op)]) < nth:
            return None
        wrong = []
        if status not in (0, 4, -9):
            wrong.append(f"{fault}: ended with {status} {errors[-300:]}")
        found = outcomes(lines)
        logs, record, faults = dump(folder.url)
        have = dict(logs)
        if record:
            have["record"] = True
        # A scenario that could not open its store did nothing; a dump then makes an empty one.
        if have not in list(possible_states(found)):
            wrong.append(f"{fault}: {found} left {have}")
        return wrong + [f"{fault}: {text}" for text in faults]


def groups(kind, count, rng):
    """A fault while many threads share commits: whoever was told "done" is done, and once."""
    failures, acks, errors, after = [], 0, 0, 0
    for _ in range(count):
        op, how = rng.choice([("sync", "EIO"), ("write", "EIO"), ("write", "ENOSPC")])
        fault = f"{op}:{how}:{rng.randrange(1, 12 if op == 'sync' else 150)}"
        with Folder(kind=kind) as folder:
            lines = write_and_kill(folder.url, 0.15, fault=fault)
            wrong = [n for n, line in enumerate(lines) if line.startswith("error")]
            errors += len(wrong)
            after += bool(wrong) and any(line.startswith("ack") for line in lines[wrong[-1]:])
            logs, _, faults = dump(folder.url)
            failures += [f"{fault}: {text}" for text in faults]
            failures += [f"{fault}: {name} has something twice" for name, log in logs.items()
                         if len(set(log)) != len(log)]
            done = acknowledged(lines)
            acks += len(done)
            failures += [f"{fault}: acknowledged and lost: {text}" for name, text in done
                         if text not in set(logs.get(name, []))]
    if not after:
        failures.append("no store worked again after its fault")
    return failures, f"{count} in groups: {acks} acknowledged, {errors} refused, {after} went on"


def check_kind(kind):
    stride = setting("PAL_FAULT_STRIDE", 9)
    failures, runs = [], {}
    for op, how in FAULTS:
        # Few and telling calls are all made to fail; of writes, each kind begins at another one.
        step = stride if op == "write" else 1
        nth = 1 + (len(runs) % step)
        while True:
            wrong = one_fault(kind, op, how, nth)
            if wrong is None:
                break
            runs[op, how] = runs.get((op, how), 0) + 1
            failures += wrong
            nth += step
    figures = ", ".join(f"{op} {how} {count}" for (op, how), count in runs.items())
    if len(runs) < len(FAULTS):
        failures.append("a kind of fault was never reached")
    wrong, shared = groups(kind, setting("PAL_GROUP_FAULTS", 8), random.Random())
    return report(f"faults of the disk, {kind}", failures + wrong,
                  f"{sum(runs.values())} faults ({figures}); {shared}")


def main():
    sys.exit(1 if sum([check_kind(kind) for kind in KINDS]) else 0)


main()
