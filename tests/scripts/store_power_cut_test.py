"""A few power cuts; store_power_cut.py makes many in `make soak`. Skipped, and that is said, where
the machine does not let us mount a disk of our own."""
import os
import subprocess
import sys

from fault_run import Folder

CUTS = "2"


def mountable():
    """Whether root, loop devices, ext4 and mount are all there: tried, on a small disk."""
    with Folder("/tmp") as folder:
        image, place = os.path.join(folder.path, "disk.img"), os.path.join(folder.path, "disk")
        os.mkdir(place)
        with open(image, "wb") as file:
            file.truncate(4 << 20)
        tried = f"mkfs.ext4 -q -F {image} && mount -o loop {image} {place} && umount {place}"
        try:
            return subprocess.run(["unshare", "-m", "sh", "-c", tried], capture_output=True,
                                  timeout=60, check=False).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False


def main():
    if not mountable():
        print("skipped: power cuts need root, loop devices, mkfs.ext4 and mount")
        return
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "store_power_cut.py")
    sys.exit(subprocess.run([sys.executable, script, *sys.argv[1:3], CUTS], check=False).returncode)


main()
