#!/usr/bin/env python3
"""coverage.py SUMMARY: lines and branches that the tests reach, by folder, from gcovr's summary.

Fails when core, store or engine are below nine lines in ten.
"""
import json
import sys

WANTED = {"core": 90, "store": 90, "engine": 90}


def share(part, whole):
    return 100 * part / whole if whole else 100.0


def main():
    with open(sys.argv[1], encoding="utf8") as file:
        files = json.load(file)["files"]
    missed = 0
    for folder in sorted({one["filename"].split("/")[1] for one in files}):
        mine = [one for one in files if one["filename"].split("/")[1] == folder]
        total = {key: sum(one[key] for one in mine)
                 for key in ("line_covered", "line_total", "branch_covered", "branch_total")}
        lines = share(total["line_covered"], total["line_total"])
        branches = share(total["branch_covered"], total["branch_total"])
        goal = WANTED.get(folder)
        met = "" if goal is None else f"  goal {goal} % of lines: {'met' if lines >= goal else 'NOT MET'}"
        missed += goal is not None and lines < goal
        print(f"{folder:8} lines {lines:5.1f} %  branches {branches:5.1f} %{met}")
    return 1 if missed else 0


sys.exit(main())
