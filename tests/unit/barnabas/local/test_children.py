import subprocess
import sys
import textwrap

import psutil

from barnabas.local.children import Children


def test_a_child_runs_in_its_directory_and_its_output_is_kept(tmp_path):
    children = Children()
    code = "import os; print('here', os.getcwd())"
    process = children.start([sys.executable, "-c", code], tmp_path, tmp_path / "console.log")
    assert process.wait(20) == 0
    assert (tmp_path / "console.log").read_text() == f"here {tmp_path}\n"
    children.close()


def test_children_end_with_their_parent_however_that_happens(tmp_path):
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(f"""
                import pathlib, sys, time
                from barnabas.local.children import Children
                at = pathlib.Path({str(tmp_path)!r})
                sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
                child = Children().start(sleep, at, at / "log")
                print(child.pid, flush=True)
                time.sleep(600)
            """),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert psutil.wait_procs([child], timeout=20)[1] == []
