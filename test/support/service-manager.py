"""Stands in for systemd where a test needs its protocol alone: holds listening sockets, hands them to a service as
sd_listen_fds(3) says, and tells what the service notifies, with the process that the kernel says sent it.

Usage: service-manager.py JSON, with members "sockets" (name to port on 127.0.0.1), "command", "watchdogMicroseconds",
"environment". Lines on standard input: "start", or a signal's name for the main process. One JSON object a line on
standard output: {"event": "listening" | "started" | "message" | "ended", ...}. It ends, with its service, at the end of its input.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

task = json.loads(sys.argv[1])
said = threading.Lock()


def say(**event):
    with said:
        print(json.dumps(event), flush=True)


def listening(port):
    held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", port))
    held.listen(4096)
    return held


sockets = {name: listening(port) for name, port in task.get("sockets", {}).items()}
directory = tempfile.TemporaryDirectory(prefix="signetd-notify-")
path = os.path.join(directory.name, "notify")
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
if task.get("abstract"):
    receiver.bind("\0" + path)
    path = "@" + path
else:
    receiver.bind(path)


def receive():
    while True:
        text, ancillary, _, _ = receiver.recvmsg(8192, socket.CMSG_SPACE(12))
        pid = None
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                pid = struct.unpack("iii", data[:12])[0]
        say(event="message", pid=pid, text=text.decode())


threading.Thread(target=receive, daemon=True).start()
say(event="listening", ports={name: held.getsockname()[1] for name, held in sockets.items()})
service = None


def start():
    global service
    descriptors = [held.fileno() for held in sockets.values()]
    environment = dict(os.environ, NOTIFY_SOCKET=path, **task.get("environment", {}))
    if "watchdogMicroseconds" in task:
        environment["WATCHDOG_USEC"] = str(task["watchdogMicroseconds"])
    if sockets:
        environment["LISTEN_FDS"] = str(len(sockets))
        environment["LISTEN_FDNAMES"] = ":".join(sockets)
    # The shell knows its process id, which the service inherits; and it puts the sockets where they have to be.
    moves = "".join(f" {3 + index}<&{100 + index} {100 + index}<&-" for index in range(len(descriptors)))
    script = f'export LISTEN_PID=$$ WATCHDOG_PID=$$; exec "$@"{moves}'
    high = []
    for index, descriptor in enumerate(descriptors):
        os.dup2(descriptor, 100 + index, inheritable=True)
        high.append(100 + index)
    service = subprocess.Popen(
        ["bash", "-c", script, "service", *task["command"]], env=environment, pass_fds=high, stdout=sys.stderr
    )
    say(event="started", pid=service.pid)
    started = service
    threading.Thread(target=lambda: say(event="ended", pid=started.pid, status=started.wait()), daemon=True).start()


for line in sys.stdin:
    word = line.strip()
    if word == "start":
        start()
    else:
        service.send_signal(getattr(signal, word))
if service is not None and service.poll() is None:
    service.kill()
    service.wait()
