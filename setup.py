"""The step of the build that pyproject.toml cannot state: generating the gRPC code from proto/."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PACKAGE = Path("barnabas/cluster/rpc")
"""Where the generated modules go. protoc derives imports from the path of its input: a copy lies there."""


class BuildWithGrpc(build_py):
    """Copy the packages, then generate ``*_pb2.py``, ``*_pb2.pyi`` and ``*_pb2_grpc.py`` beside them."""

    def run(self) -> None:
        """Build into the wheel's folder; in an editable install, generate into the checkout what is missing.

        There the stubs are left to scripts/proto, which makes better ones and takes them for its stamp.
        """
        super().run()
        if not self.editable_mode:
            self._generate(Path(self.build_lib), "python", "pyi", "grpc_python")
        elif not (PACKAGE / "control_pb2_grpc.py").exists():
            self._generate(Path(), "python", "grpc_python")

    @staticmethod
    def _generate(target: Path, *kinds: str) -> None:
        from grpc_tools import protoc  # noqa: PLC0415 - a build requirement, which `setup.py sdist` lacks

        with tempfile.TemporaryDirectory() as folder:
            laid = Path(folder, PACKAGE)
            laid.mkdir(parents=True)
            sources = [str(shutil.copy(source, laid)) for source in sorted(Path("proto").glob("*.proto"))]
            outputs = [f"--{kind}_out={target}" for kind in kinds]
            status = protoc.main(["protoc", f"-I{folder}", *outputs, *sources])
        if status or not sources:
            raise SystemExit(f"protoc could not compile {sources or 'proto/*.proto, which is missing'}")


setup(cmdclass={"build_py": BuildWithGrpc})
