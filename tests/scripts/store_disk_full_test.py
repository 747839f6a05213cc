"""A disk of 400 KB fills up: the append is refused, everything is still readable, and appends work
again by themselves when the disk has grown. Runs in a mount namespace of its own."""
import os
import subprocess
import sys

from fault_run import Folder, dump, finish, program

SMALL, LARGE = "400k", "8m"


def inside(folder):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "none", folder], check=True)
    url = f"sqlite:{folder}/store.db"
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
    finish("disk full", failures + faults,
           f"{before} appends until {SMALL} was full, {len(acks)} after it grew to {LARGE}")


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
