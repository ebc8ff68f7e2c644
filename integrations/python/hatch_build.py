"""Generate `shardboard_client.rest` from the OpenAPI description before a wheel is built.

The description is `docs/openapi.json` of the checkout, or `openapi.json` of a source distribution.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GenerateClient(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel":
            generate(Path(self.root))


def generate(folder: Path) -> None:
    """Write the generated package. `folder` contains this file."""
    descriptions = (folder / "openapi.json", folder.parents[1] / "docs" / "openapi.json")
    description = next(path for path in descriptions if path.exists())
    paths = ["--path", description, "--config", folder / "generator.yaml"]
    output = ["--meta", "none", "--overwrite", "--output-path", folder / "src" / "shardboard_client" / "rest"]
    generator = [sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"]
    subprocess.run([*generator, *paths, *output], check=True)
