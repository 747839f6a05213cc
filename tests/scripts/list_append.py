"""Checks a history of appends and reads of lists: what was acknowledged is there once, in one order
that every read saw a beginning of, and time never ran backwards."""


def fnv(value, start=14695981039346656037):
    for byte in value.encode():
        start = ((start ^ byte) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return start


class History:
    """Appends: value -> [began, ended or None, outcome]; reads: (began, ended, length, hash)."""

    def __init__(self):
        self.appends, self.reads = {}, {}

    def add(self, line):
        words = line.split(" ")
        if words[0] == "b":
            self.appends.setdefault(words[2], {})[words[3]] = [int(words[1]), None, "unknown"]
        elif words[0] == "e":
            entry = self.appends[words[2]][words[3]]
            entry[1], entry[2] = int(words[1]), words[4]
        elif words[0] == "r":
            self.reads.setdefault(words[3], []).append(
                (int(words[1]), int(words[2]), int(words[4]), int(words[5])))

    def count(self):
        return sum(map(len, self.appends.values())) + sum(map(len, self.reads.values()))


def behind(events, queries):
    """events: (time known, position); queries: (time, position). Gives the queries that are below a
    position that was known before they began."""
    events, at, most = sorted(events), 0, 0
    for time, position, what in sorted(queries):
        while at < len(events) and events[at][0] < time:
            most = max(most, events[at][1])
            at += 1
        if position < most:
            yield what


def check_list(name, final, appends, reads):
    place = {value: i + 1 for i, value in enumerate(final)}
    if len(place) != len(final):
        yield f"{name}: duplicate"
    for value in final:
        if value not in appends:
            yield f"{name}: phantom {value}"
        elif appends[value][2] == "fail":
            yield f"{name}: aborted read of {value}"
    known = []
    for value, (_, ended, outcome) in appends.items():
        if outcome == "ok" and value not in place:
            yield f"{name}: lost {value}"
        elif outcome == "ok":
            known.append((ended, place[value]))
    hashes, hash_now = [fnv("")], fnv("")
    for value in final:
        hash_now = fnv(value + ",", hash_now)
        hashes.append(hash_now)
    for _, _, length, seen in reads:
        if length >= len(hashes) or hashes[length] != seen:
            yield f"{name}: a read of {length} is no beginning of the list"
    yield from behind(known, [(began, length, f"{name}: stale read of {length}")
                              for began, _, length, _ in reads])
    yield from behind([(ended, length) for _, ended, length, _ in reads],
                      [(began, length, f"{name}: a later read is shorter, {length}")
                       for began, _, length, _ in reads])
    # An append that began after another was acknowledged stands behind it.
    yield from behind(known, [(appends[value][0], place[value], f"{name}: {value} stands too early")
                              for value in final if value in appends])


def check(history, lists):
    for name in set(history.appends) | set(lists):
        yield from check_list(name, lists.get(name, []), history.appends.get(name, {}),
                              history.reads.get(name, []))


def self_test():
    """Planted faults must be found."""
    def faults(lines, final):
        history = History()
        for line in lines:
            history.add(line)
        return " ".join(check(history, {"c": final}))
    appends = ["b 1 c x", "e 2 c x ok", "b 3 c y", "e 4 c y ok"]
    read = f"r 5 6 c 2 {fnv('y,', fnv('x,'))}"
    assert not faults(appends + [read], ["x", "y"])
    assert "lost" in faults(appends, ["x"])
    assert "duplicate" in faults(appends, ["x", "y", "y"])
    assert "too early" in faults(appends, ["y", "x"])
    assert "phantom" in faults(appends, ["x", "y", "z"])
    assert "no beginning" in faults(appends + ["r 5 6 c 2 7"], ["x", "y"])
    assert "stale" in faults(appends + [f"r 5 6 c 1 {fnv('x,')}"], ["x", "y"])
    assert "aborted" in faults(["b 1 c x", "e 2 c x fail"], ["x"])
    assert "shorter" in faults(appends[:2] + ["b 3 c y", read, f"r 7 8 c 1 {fnv('x,')}"], ["x", "y"])
