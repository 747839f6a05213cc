#!/usr/bin/env python3
"""bench_gateway.py PROGRAM: what the gateway adds to a request and to an event of a stream.

PROGRAM is build/.../bench_gateway, which is the upstream, the bare relay and the clients (epoll, one
thread each), so that none of them is what is measured; `pal` stands beside it. Connections are kept,
arms take turns, and goals are ratios within one run. nginx comes from the machine or from apt,
LiteLLM's proxy and Portkey's gateway from their registries (PEERS=0 leaves these two out).
Stateful turns are on SQLite with full durability; two fdatasync are measured beside them.
nginx has one worker and pal its threads, each as it comes; PAL_NETWORK_THREADS=1 compares one with one.
"""
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from peer_gateways import find_nginx, start_litellm, start_portkey

PROGRAM = os.path.abspath(sys.argv[1])
BUILD = os.path.dirname(PROGRAM)
PAL = os.path.join(BUILD, "pal")
STREAMS, EVENTS_HELD = 2000, 8
missed = []


def goal(text, value, most):
    print(f"  {text}: {value:.2f}, goal {most:.2f}" + ("" if value <= most else "  MISSED"))
    if value > most:
        missed.append(text)


def run(*words):
    """Each line that the program prints, as a number."""
    done = subprocess.run([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, text=True, timeout=600)
    if done.returncode:
        sys.exit("bench_gateway " + " ".join(map(str, words)) + " failed")
    return [float(line) for line in done.stdout.split()]


def start_end(*words):
    """The upstream or the relay, and its port; it ends when its input does."""
    process = subprocess.Popen([PROGRAM, *map(str, words)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


def start_pal(folder, upstream):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "palimpsest.toml"), "w") as file:
        file.write(f'[models.m]\nproxy = "none"\nurl = "http://127.0.0.1:{upstream}/v1"\n')
    process = subprocess.Popen([PAL, "serve", "--listen", "127.0.0.1:0", "--json", "--model", "m",
                                "--log-level", "quiet"], cwd=folder, stdout=subprocess.PIPE)
    return process, int(json.loads(process.stdout.readline())["listen"].rsplit(":", 1)[1])


def start_nginx(program, folder, upstream):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    paths = "".join(f"{name}_temp_path {folder}; "
                    for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(os.path.join(folder, "nginx.conf"), "w") as file:
        file.write(f"""daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log /dev/null;
events {{}} http {{ access_log off; {paths} upstream up {{ server 127.0.0.1:{upstream}; keepalive 16; keepalive_requests 1000000000; }}
server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000000; location / {{ proxy_pass http://up; proxy_http_version 1.1;
proxy_set_header Connection ""; proxy_buffering off; }} }} }}""")
    process = subprocess.Popen([program, "-p", folder, "-c", os.path.join(folder, "nginx.conf")])
    time.sleep(0.5)
    return process, port


def start_peers(folder, upstream):
    if os.environ.get("PEERS") == "0":
        return []
    peers = [start(BUILD, folder, upstream) for start in (start_litellm, start_portkey)]
    for peer in peers:
        if peer.reason:
            print(f"{peer.name}: skipped, {peer.reason}")
    return [peer for peer in peers if not peer.reason]


def two_syncs(folder, thinks_ms):
    """As far apart as those of a turn: a disk that had nothing to do takes longer."""
    times = []
    with open(os.path.join(folder, "sync"), "ab") as file:
        for _ in range(20):
            spent = 0
            for pause_ms in (0, thinks_ms):
                time.sleep(pause_ms / 1e3)
                start = time.perf_counter()
                file.write(b"x" * 4096)
                file.flush()
                os.fdatasync(file.fileno())
                spent += time.perf_counter() - start
            times.append(spent)
    return statistics.median(times) * 1e6


def added(arms, rounds, clients, thinks_ms=0, between=lambda: None):
    """Microseconds that each arm adds to the upstream's own time; medians of five parts, because
    the machine's speed changes while they are taken. `between` is called behind each."""
    parts = []
    for _ in range(5):
        parts.append(run("ask", rounds // 5, clients, thinks_ms, *arms.values()))
        between()
    times = dict(zip(arms, map(statistics.median, zip(*parts))))
    for name, took in times.items():
        print(f"  {name:13} {took:7.0f} us, adds {took - times['direct']:7.0f} us")
    return {name: took - times["direct"] for name, took in times.items()}


def measure_requests(arms, peers, folder):
    for clients, rounds, thinks_ms in ((1, 1000, 0), (1, 1000, 5), (16, 60, 0)):
        thinks = f"thinks for {thinks_ms} ms" if thinks_ms else "answers at once"
        print(f"{clients} client{'s' * (clients > 1)}, one request each at a time, the model {thinks}")
        syncs = []
        adds = added(arms, rounds, clients, thinks_ms, lambda: syncs.append(two_syncs(folder, thinks_ms)))
        if "nginx" not in arms:
            continue
        how = f"{clients} client{'s' * (clients > 1)}, {thinks}"
        goal(f"pass-through to nginx, {how}", adds["pass-through"] / adds["nginx"], 1.2)
        if clients == 1:
            synced = statistics.median(syncs)
            print(f"  two fdatasync: {synced:.0f} us")
            goal(f"stateful to 2 nginx and two fdatasync, {thinks}",
                 adds["stateful"] / (2 * adds["nginx"] + synced), 1)
    if peers:
        adds = added({**peers, "pass-through": arms["pass-through"], "direct": arms["direct"]}, 100, 1)
        for name in peers:
            goal(f"pass-through to a tenth of {name}", 10 * adds["pass-through"] / adds[name], 1)


def measure_events(arms, relay):
    streamed = {**arms, "bare relay": relay}
    delays = dict(zip(streamed, run("delays", 10, *streamed.values())))
    print("an event of a stream, from its making to the client")
    for name, delay in delays.items():
        print(f"  {name:13} {delay:7.0f} us")
    for name in ("pass-through", "stateful"):
        goal(f"event of {name} to the bare relay's", delays[name] / delays["bare relay"], 1.3)


def hold_streams(folder, upstream, header, name):
    process, port = start_pal(os.path.join(folder, name.replace(" ", "_")), upstream)
    try:
        measure_held(process, f"{port}{header}", name)
    finally:
        process.terminate()
        process.wait(30)


def measure_held(process, arm, name):
    held = subprocess.Popen([PROGRAM, "hold", str(STREAMS), str(arm)], stdout=subprocess.PIPE, text=True)
    assert held.stdout.readline() == "open\n"
    with open(f"/proc/{process.pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    megabytes, threads = int(fields["VmHWM"].split()[0]) / 1024, int(fields["Threads"])
    events = int(held.stdout.readline())
    held.wait()
    print(f"{STREAMS} open streams, {name}: {megabytes:.0f} MB at most, {threads} threads, {events} events")
    goal(f"megabytes, {name}", megabytes, 200)
    goal(f"lost events, {name}", STREAMS * EVENTS_HELD - events, 0)


def main():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    processes = []

    def keep(started):
        processes.append(started[0])
        return started
    with tempfile.TemporaryDirectory(dir=".") as folder:
        try:
            upstream = keep(start_end("upstream"))[1]
            relay = keep(start_end("relay", upstream))[1]
            port = keep(start_pal(folder, upstream))[1]
            arms = {"direct": upstream, "pass-through": port, "stateful": f"{port},X-Conversation-Id: bench#"}
            nginx = find_nginx(BUILD)
            if nginx:
                arms["nginx"] = keep(start_nginx(nginx, os.path.abspath(folder), upstream))[1]
            else:
                print("nginx: skipped, it is neither installed nor to be had from apt")
            peers = {peer.name: f"{keep((peer.process, peer.port))[1]}," + peer.headers.strip()
                     for peer in start_peers(os.path.abspath(folder), upstream)}
            measure_requests(arms, peers, folder)
            measure_events(arms, relay)
            if hard < 2 * STREAMS + 100:
                print("open streams: skipped, too few file descriptors are allowed")
            else:
                hold_streams(folder, upstream, "", "passed on")
                hold_streams(folder, upstream, ",X-Conversation-Id: held#", "turns")
        finally:
            for process in processes:
                process.terminate()
                process.wait(30)
    if missed:
        sys.exit("goals missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
