"""A process that has imported a broker once, and forks one for each line of its standard input.

A broker spends most of its start with imports (0.6 s of CPU time). Test runs start several at once, and start
them again after each fault; their copies of this process skip the imports. Nothing of gRPC or of an event
loop may run here before the fork, because threads do not survive it.

Each line of the input is a JSON object: ``arguments`` (of the broker's command line), ``directory`` and
``output``. Each line of the output is one, too: ``started`` with the process id, or ``ended`` with it and
``status`` (negative: the signal). The process ends with its input.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
from importlib import import_module
from typing import Any, NoReturn

from barnabas.broker.__main__ import prepare, run_broker


class _Forked(Exception):  # no error: the way out of the loop in a new broker
    """Raised in a new broker, with the arguments of its command line."""


def main() -> NoReturn:
    """Serve until the input ends; a forked broker leaves by the same exit."""
    tie_to_parent(int(sys.argv[1]))
    prepare()
    gc.disable()  # importing leaves little garbage, and searching for it takes an eighth of the time
    import_module("barnabas.broker.command")
    gc.collect()
    gc.freeze()  # the forked processes leave these objects alone, and so share their memory
    gc.enable()
    try:
        _serve()
    except _Forked as forked:
        sys.argv = ["barnabas.broker", *forked.args]
        sys.exit(run_broker())
    sys.exit(0)


def tie_to_parent(parent: int) -> None:
    """Ask Linux to kill this process when its parent ends; a parent that is gone already ends it now."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415  # not on every platform

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit("the parent process is gone")


def _serve() -> None:
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    _say({"ready": os.getpid()})
    rest = b""
    children: set[int] = set()
    while True:
        ready, _, _ = select.select([sys.stdin.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _reap(children)
        if sys.stdin.fileno() in ready:
            data = os.read(sys.stdin.fileno(), 65536)
            if not data:
                # Linux ends the children with this process, other systems do not.
                for pid in children:
                    os.kill(pid, signal.SIGKILL)
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                children.add(_fork(json.loads(line)))


def _reap(children: set[int]) -> None:
    """Report all children that have ended, and forget them."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        children.discard(pid)
        _say({"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def _fork(request: dict[str, Any]) -> int:
    """Start a broker, report it, and return its process id.

    Raises:
        _Forked: This is the new broker.
    """
    parent = os.getpid()
    settled, settling = os.pipe()
    pid = os.fork()
    if pid:
        os.close(settling)
        os.read(settled, 1)  # the parent waits until the broker has a session of its own, or has ended
        os.close(settled)
        _say({"started": pid})
        return pid
    tie_to_parent(parent)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.close(settled)
    os.close(settling)
    os.chdir(request["directory"])
    output = os.open(request["output"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, source in ((0, nothing), (1, output), (2, output)):
        os.dup2(source, descriptor)
    os.close(output)
    os.close(nothing)
    raise _Forked(*request["arguments"])


def _say(what: dict[str, int]) -> None:
    os.write(sys.stdout.fileno(), json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    main()
