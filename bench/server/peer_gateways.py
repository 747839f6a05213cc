"""Other gateways beside ours, fetched from their registries into the build folder: nginx, LiteLLM's
proxy and Portkey's gateway, each as its own documents start it, in front of the same upstream."""
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def fetch(folder, command):
    """None, or why it cannot be had."""
    mark = os.path.join(folder, "fetched")
    if os.path.exists(mark):
        return None
    os.makedirs(folder, exist_ok=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)[-200:]
    if done.returncode:
        return done.stderr.strip()[-200:]
    open(mark, "w").close()
    return None


def wait_for(port, process, seconds=120):
    """Until it listens; False: it will not."""
    for _ in range(seconds * 5):
        if process.poll() is not None:
            return False
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            time.sleep(0.2)
    return False


def find_nginx(build):
    """The machine's, or one from apt, unpacked into the build folder; None: there is none."""
    if shutil.which("nginx"):
        return shutil.which("nginx")
    place = os.path.join(build, "peers", "nginx")
    program = os.path.join(place, "usr", "sbin", "nginx")
    if not os.path.exists(program):
        reason = fetch(place, ["sh", "-c", f"cd '{place}' && apt-get -q download nginx && "
                                           "dpkg -x nginx_*.deb ."])
        if reason:
            return None
    return program if os.path.exists(program) else None


class Peer:
    """One gateway that runs, or the reason why not."""

    def __init__(self, name, reason=None, process=None, port=0, headers=""):
        self.name, self.reason, self.process = name, reason, process
        self.port, self.headers = port, headers


def started(name, command, port, headers, environment, folder):
    with open(os.path.join(folder, name + ".log"), "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder,
                                   env={**os.environ, **environment})
    if wait_for(port, process):
        return Peer(name, process=process, port=port, headers=headers)
    process.kill()
    with open(os.path.join(folder, name + ".log"), errors="replace") as log:
        return Peer(name, reason="it does not start: " + log.read()[-300:])


def start_litellm(build, folder, upstream):
    place = os.path.join(build, "peers", "litellm")
    reason = fetch(place, [sys.executable, "-m", "pip", "install", "-q", "--no-compile",
                           "--disable-pip-version-check", "--target", place, "litellm[proxy]"])
    if reason:
        return Peer("litellm", reason)
    settings = os.path.join(folder, "litellm.yaml")
    with open(settings, "w") as file:
        file.write("model_list:\n  - model_name: m\n    litellm_params:\n      model: openai/m\n"
                   f"      api_base: http://127.0.0.1:{upstream}/v1\n      api_key: none\n")
    port, key = free_port(), "sk-" + secrets.token_hex(24)  # It does not start without one.
    run = "import sys; from litellm import run_server; sys.exit(run_server())"
    return started("litellm", [sys.executable, "-c", run, "--config", settings, "--host",
                               "127.0.0.1", "--port", str(port), "--num_workers", "1"], port,
                   f"Authorization: Bearer {key}\r\n",
                   {"PYTHONPATH": place, "LITELLM_MASTER_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                    "LITELLM_LOG": "ERROR"}, folder)


def start_portkey(build, folder, upstream):
    if not shutil.which("npm") or not shutil.which("node"):
        return Peer("portkey", "node and npm are not installed")
    place = os.path.join(build, "peers", "portkey")
    reason = fetch(place, ["npm", "install", "--prefix", place, "--no-audit", "--no-fund",
                           "--fetch-retries=0", "@portkey-ai/gateway"])
    if reason:
        return Peer("portkey", reason)
    port = free_port()
    start = os.path.join(place, "node_modules", "@portkey-ai", "gateway", "build",
                         "start-server.js")
    headers = ("Authorization: Bearer none\r\nx-portkey-provider: openai\r\n"
               f"x-portkey-custom-host: http://127.0.0.1:{upstream}/v1\r\n")
    return started("portkey", ["node", start, f"--port={port}", "--headless"], port, headers, {},
                   folder)
