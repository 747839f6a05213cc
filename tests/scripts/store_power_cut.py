"""Power cuts: ext4 on a loop device whose I/O stops at once, so that what was not synced is gone.
Nothing acknowledged may be lost; the same store without syncs is the control that must lose.

    store_power_cut.py BUILD SOURCE [CUTS]     needs root, loop devices and mkfs.ext4"""
import fcntl
import os
import random
import signal
import struct
import subprocess
import sys
import time

from fault_run import KINDS, UNSYNCED, Folder, dump, program, report

GOING_DOWN = 0x8004587D  # _IOR('X', 125, uint32_t)
NO_LOG_FLUSH = 2


def mount(image, place):
    subprocess.run(["mount", "-o", "loop", image, place], check=True)


def cut_power(place):
    folder = os.open(place, os.O_RDONLY)
    fcntl.ioctl(folder, GOING_DOWN, struct.pack("I", NO_LOG_FLUSH))
    os.close(folder)


def thread_states(pid):
    states = set()
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii", errors="replace") as file:
            states.add(file.read().rsplit(")", 1)[1].split()[0])
    return states


def stop(process):
    """Returns when no thread can run its own code any more. The signal goes to one thread, which on
    a busy machine may take long to get to it; from then on a thread that waits for the disk (D)
    stops before it returns to the program."""
    process.send_signal(signal.SIGSTOP)
    while True:
        states = thread_states(process.pid)
        if "T" in states and states <= {"T", "D"}:
            return
        time.sleep(0.001)


def one_cut(kind, image, place, options, rng):
    """A store that is made, written and cut off; gives acknowledged, lost, and faults."""
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    mount(image, place)
    url = f"{kind}:{place}/store.db"
    with subprocess.Popen([program(), "write", url + options, "8"],
                          stdout=subprocess.PIPE) as writer:
        text = writer.stdout.readline()
        time.sleep(rng.uniform(0.01, 0.25))
        # Power takes the process and the disk at one moment. Without this, a sync that is under
        # way when the file system goes down may return success, and be acknowledged.
        stop(writer)
        cut_power(place)
        writer.kill()
        text += writer.stdout.read()
    subprocess.run(["umount", place], check=True)
    acks = [line.split()[1:3] for line in text.decode().split("\n")[:-1]
            if line.startswith("ack ")]
    mount(image, place)
    logs, _, faults = dump(url)
    subprocess.run(["umount", place], check=True)
    lost = sum(text not in set(logs.get(name, [])) for name, text in acks)
    return len(acks), lost, faults


def series(kind, folder, options, cuts, rng):
    image, place = os.path.join(folder, "disk.img"), os.path.join(folder, "disk")
    os.makedirs(place, exist_ok=True)
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    acks, lost, faults = 0, 0, []
    for _ in range(cuts):
        done, gone, wrong = one_cut(kind, image, place, options, rng)
        acks, lost, faults = acks + done, lost + gone, faults + wrong
    return acks, lost, faults


def cut_kind(kind, folder, cuts):
    rng = random.Random()
    acks, lost, failures = series(kind, folder, "", cuts, rng)
    if lost:
        failures.append(f"{lost} acknowledged entries were lost")
    control = series(kind, folder, UNSYNCED[kind], max(3, cuts // 10), rng)
    if not control[1]:
        failures.append("the control without syncs lost nothing, so this proves nothing")
    return report(f"power cut, {kind}", failures, f"{cuts} cuts, {acks} acknowledged, {lost} lost"
                  f" (control without syncs: {control[0]} acknowledged, {control[1]} lost)")


def inside(folder, cuts):
    sys.exit(1 if sum([cut_kind(kind, folder, cuts) for kind in KINDS]) else 0)


def main():
    cuts = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    if len(sys.argv) > 4:
        inside(sys.argv[4], cuts)
    if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
        print("skipped: power cuts need root and loop devices")
        return
    with Folder("/tmp") as folder:
        words = ["unshare", "-m", sys.executable, os.path.abspath(__file__), *sys.argv[1:3]]
        sys.exit(subprocess.run([*words, str(cuts), folder.path], check=False).returncode)


main()
