"""Runs a command on a pseudo-terminal and answers its prompts: guided.py PROMPTS COMMAND...

PROMPTS is a JSON list of [text of the prompt, answer]. Prints all that the terminal showed; the exit code is the command's.
"""

import json
import os
import pty
import select
import sys
import time

dialogue = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b''
unread = 0
deadline = time.monotonic() + 240
while time.monotonic() < deadline:
    ready, _, _ = select.select([terminal], [], [], 1)
    if ready:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            break
        if chunk == b'':
            break
        shown += chunk
    if dialogue:
        prompt, answer = dialogue[0]
        at = shown.find(prompt.encode(), unread)
        if at >= 0:
            unread = at + len(prompt.encode())
            dialogue.pop(0)
            os.write(terminal, answer.encode() + b'\r')
else:
    os.kill(pid, 9)
sys.stdout.buffer.write(shown)
sys.stdout.flush()
_, status = os.waitpid(pid, 0)
if dialogue:
    print('never asked:', dialogue[0][0])
    sys.exit(125)
sys.exit(os.waitstatus_to_exitcode(status))
