"""A disk of 400 KB fills up: the append is refused, everything is still readable, and appends work
again by themselves when the disk has grown. Runs in a mount namespace of its own."""
import os
import subprocess
import sys

from fault_run import KINDS, Folder, dump, program, report

SMALL, LARGE = "400k", "8m"


def small_store(folder, url):
    """A disk of 2 MB with 300 messages of 1 KB on it: the program, and the words that name the store."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], check=True)
    pal, store = [os.path.join(sys.argv[1], "pal")], ["--store", url]
    lines = "\n".join(['{"role":"user","content":"%s"}' % ("x" * 1000)] * 300)
    subprocess.run(pal + ["append", "a"] + store, input=lines.encode(), check=True,
                   stdout=subprocess.DEVNULL)
    return pal, store


def erase_when_full(folder):
    """Removing needs space too: it is refused as no_space, says what to do, and works afterwards."""
    pal, store = small_store(folder, f"sqlite:{folder}/store.db")
    filler, failures = os.path.join(folder, "filler"), []
    for left, advice in ((0, "free some space"), (4, "free some space"),
                         (60, "free some outside the store first")):
        free = os.statvfs(folder)
        with open(filler, "wb") as file:
            file.write(bytes(free.f_bavail * free.f_frsize - left * 1024))
        done = subprocess.run(pal + ["erase", "a"] + store, capture_output=True, check=False)
        if done.returncode != 12 or advice.encode() not in done.stderr:
            failures.append(f"{left} KB left: status {done.returncode}, {done.stderr.decode()}")
        os.remove(filler)
    done = subprocess.run(pal + ["erase", "a"] + store, capture_output=True, check=False)
    if not done.stdout.startswith(b"erased 300 entries"):
        failures.append(f"with space again: {done.stdout.decode()}{done.stderr.decode()}")
    subprocess.run(["umount", folder], check=True)
    return failures


def backup_when_full(kind, folder):
    """There is no room for a second one of it: refused as no_space, and nothing is left behind."""
    pal, store = small_store(folder, f"{kind}:{folder}/store")
    free = os.statvfs(folder)
    with open(os.path.join(folder, "filler"), "wb") as file:
        file.write(bytes(max(0, free.f_bavail * free.f_frsize - 200 * 1024)))
    before, failures = sorted(os.listdir(folder)), []
    done = subprocess.run(pal + ["backup", f"{folder}/copy"] + store, capture_output=True,
                          check=False)
    if done.returncode != 12 or b"no_space" not in done.stderr:
        failures.append(f"{kind}: status {done.returncode}, {done.stderr.decode()}")
    if sorted(os.listdir(folder)) != before:
        failures.append(f"{kind}: left behind: {sorted(os.listdir(folder))}")
    subprocess.run(["umount", folder], check=True)
    return failures


def fill(kind, folder):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "none", folder], check=True)
    url = f"{kind}:{folder}/store.db"
    failures, acks = [], []
    with subprocess.Popen([program(), "fill", url, "900"], text=True, bufsize=1,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as filler:
        def until_waiting():
            lines = []
            for line in filler.stdout:
                lines.append(line.strip())
                if line.startswith("ack"):
                    acks.append(line.split()[2])
                if line.startswith(("waiting", "cannot_open")):
                    return lines
            return lines
        first = until_waiting()
        before = len(acks)
        if not any(line.startswith("refused no_space") for line in first):
            failures.append(f"a full disk was not reported as no_space: {first[-3:]}")
        if before and f"readable {before}" not in first:
            failures.append(f"not readable on a full disk: {first[-3:]}")
        filler.stdin.write("again\n")
        again = until_waiting()
        if not any(line.startswith("refused no_space") for line in again):
            failures.append(f"still full, but not refused: {again[-3:]}")
        subprocess.run(["mount", "-o", f"remount,size={LARGE}", folder], check=True)
        filler.stdin.write("again\n")
        third = until_waiting()
        if not any(line.startswith("ack") for line in third):
            failures.append(f"did not work again when space returned: {third[:3]}")
        filler.stdin.write("end\n")
        filler.stdin.close()
    logs, _, faults = dump(url)
    if logs.get("own", []) != acks:
        failures.append(f"{len(acks)} acknowledged, {len(logs.get('own', []))} there")
    subprocess.run(["umount", folder], check=True)
    return report(f"disk full, {kind}", failures + faults,
                  f"{before} appends until {SMALL} was full, {len(acks)} after it grew to {LARGE}")


def inside(folder):
    failures = erase_when_full(folder)
    count = report("erase on a full disk", failures, "at 3 fillings")
    failures = [failure for kind in KINDS for failure in backup_when_full(kind, folder)]
    count += report("backup on a full disk", failures, "of each kind")
    sys.exit(1 if count + sum([fill(kind, folder) for kind in KINDS]) else 0)


def main():
    if len(sys.argv) > 3:
        inside(sys.argv[3])
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("skipped: mounting a small disk needs a mount namespace (root)")
        return
    with Folder() as folder:
        words = ["unshare", "-m", sys.executable, os.path.abspath(__file__), *sys.argv[1:3]]
        sys.exit(subprocess.run([*words, folder.path], check=False).returncode)


main()
