"""Cores of a node, and their use by its processes."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from shardboard.contract import PinningReport, cpu_pinning

NOT_PINNED = PinningReport().model_dump()


class NumaNodeOut(BaseModel):
    id: int
    cores: str = Field(description="Its cores that are online and that the agent may use, for example `0-11,24-35`.")


class Cpus(BaseModel):
    """Cores of the machine."""

    numa_nodes: list[NumaNodeOut]
    siblings: list[str] = Field(description="Cores that are threads of the same physical core, if there are several.")
    offline: str = Field(description="Cores that are offline; empty if there are none.")


Mode = Annotated[
    Literal["off", "numa", "cores"],
    Field(
        description="`numa`: each shard runs on the cores of one NUMA node, and the NUMA nodes get the same number of shards. "
        "`cores`: shards run on the cores in `shards`."
    ),
]
ShardList = Annotated[
    str,
    Field(
        max_length=4096,
        description="Cores of shards in mode `cores`, for example `0-3,8`. If empty, shards may use all cores.",
    ),
]
ProxyList = Annotated[
    str,
    Field(
        max_length=4096,
        description="Cores of the proxy, which shards in mode `numa` do not use. If empty, the proxy may use all cores.",
    ),
]
CoresPerShard = Annotated[
    int,
    Field(
        ge=0,
        le=cpu_pinning.MAX_CORE,
        description="Divides the cores in `shards` into groups of this size, and each shard runs on one group. Cores that "
        "remain are not used. 0: all shards share the cores.",
    ),
]


class CpuPinning(BaseModel):
    """Cores on which the processes of a node run."""

    mode: Mode
    shards: ShardList
    proxy: ProxyList
    cores_per_shard: CoresPerShard


class CpuPinningUpdate(BaseModel):
    """Cores on which the processes of a node must run. Replaces the previous setting."""

    model_config = ConfigDict(strict=True, extra="forbid")

    mode: Mode = "off"
    shards: ShardList = ""
    proxy: ProxyList = ""
    cores_per_shard: CoresPerShard = 0

    @field_validator("shards", "proxy")
    @classmethod
    def _check_cores(cls, value: str) -> str:
        try:
            return cpu_pinning.format_cores(cpu_pinning.parse_cores(value))
        except ValueError as error:
            raise PydanticCustomError("cores", "{what}", {"what": str(error)}) from None


class ShardCores(BaseModel):
    cores: str
    numa_nodes: str = Field(description="NUMA nodes of these cores.")


class PinningState(BaseModel):
    """The pinning that the agent has applied."""

    state: str = Field(json_schema_extra={"enum": ["off", "active", "failed"]})
    detail: str = Field(description="Why the setting, or a part of it, is not applied.")
    shards: dict[str, ShardCores] = Field(description="Cores of each running shard by uid; empty without pinning.")
    proxy: str = Field(description="Cores of the proxy; empty if it is not pinned.")
