import subprocess
import sys


def test_the_package_runs_as_the_command_does():
    done = subprocess.run(
        [sys.executable, "-P", "-m", "barnabas", "--help"], capture_output=True, text=True, check=True
    )
    assert "zookeeper" in done.stdout
