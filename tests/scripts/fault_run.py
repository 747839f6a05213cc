"""What the fault scripts share: running store_faults, and a folder in memory when there is one."""
import os
import shutil
import subprocess
import sys
import tempfile
import time


KINDS = [kind for kind in ("sqlite", "files") if kind in os.environ.get("PAL_STORES", "sqlite files")]
UNSYNCED = {"sqlite": "?sync=off", "files": "?sync=never"}


def program():
    return os.path.join(sys.argv[1], "store_faults")


def setting(name, default):
    """How much to do: small in `make test`, more in `make soak`."""
    return int(os.environ.get(name, default))


class Folder:
    """A folder that goes away. Syncs are only worth their time where power is cut."""

    def __init__(self, parent=None, kind="sqlite"):
        if parent is None and os.access("/dev/shm", os.W_OK):
            parent = "/dev/shm"
        self.path = tempfile.mkdtemp(prefix="pal_", dir=parent)
        self.url = f"{kind}:" + os.path.join(self.path, "store.db")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def run(*words, fault=None, sticky=False, timeout=120):
    env = dict(os.environ)
    if fault:
        env["PAL_FAULT"] = fault
    if sticky:
        env["PAL_FAULT_STICKY"] = "1"
    done = subprocess.run([program(), *words], env=env, timeout=timeout, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def write_and_kill(url, seconds, fault=None, when="done", wait_for_open=True):
    """Lets 8 threads append for a while, then kills them: all the whole lines that they said."""
    env = dict(os.environ, **({"PAL_FAULT": fault} if fault else {}))
    words = [program(), "write", url, "8", when]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE) as writer:
        first = writer.stdout.readline() if wait_for_open else b""
        time.sleep(seconds)
        writer.kill()
        text = first + writer.stdout.read()
    return text.decode().split("\n")[:-1]


def acknowledged(lines):
    return [line.split()[1:3] for line in lines if line.startswith("ack ")]


def dump(url):
    """{conversation: [text of seq 1, 2, ...]}, whether the record is there, and the faults."""
    status, lines, errors = run("dump", url)
    logs, record, faults = {}, False, []
    if status != 0 or not lines or lines[-1] != "end":
        faults.append(f"dump ended with {status}: {lines[-3:]} {errors[-500:]}")
    for line in lines:
        words = line.split(" ", 3)
        if words[0] == "entry":
            log = logs.setdefault(words[1], [])
            if int(words[2]) != len(log) + 1:
                faults.append(f"gap in {words[1]} before {words[2]}")
            log.append(words[3])
        elif words[0] == "record":
            record = True
        elif words[0] not in ("end", "readable"):
            faults.append(line)
    return logs, record, faults


def report(title, failures, figures):
    print(f"{title}: {figures}; {len(failures)} failures")
    for failure in failures[:20]:
        print("  " + failure)
    sys.stdout.flush()
    return len(failures)


def finish(title, failures, figures):
    sys.exit(1 if report(title, failures, figures) else 0)
