"""Contents of the wheel besides Python: migrations, the built web UI and the programs of `engine/`.

`shardboard.kit.resources` finds them there. An editable installation has them in the checkout, built or not.
"""

import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RESOURCES = {
    "migrations": "migrations",
    "frontend/dist": "page",
    "engine/target/release/shardboard-proxy": "programs/shardboard-proxy",
    "engine/target/release/shardboard-load": "programs/shardboard-load",
    "engine/target/release/shardboard-mover": "programs/shardboard-mover",
    "engine/target/release/libshardboard_tier.so": "programs/libshardboard_tier.so",
}


class Resources(BuildHookInterface[Any]):
    """Puts them in, and says which platform the programs are for."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        missing = [source for source in RESOURCES if not Path(self.root, source).exists()]
        if missing:
            self.app.abort(f"not built yet: {', '.join(missing)}; `make wheel` builds them and the wheel")
        build_data["force_include"] |= {
            str(Path(self.root, source)): f"shardboard/resources/{inside}" for source, inside in RESOURCES.items()
        }
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().translate(str.maketrans('-.', '__'))}"
