"""Actions as the previous release stored them."""

from typing import Any

from shardboard.console import Console
from shardboard.state.cluster.actions import Action

NAMES = {
    "SMSwitchBack": "SMReturnPrimaries",
    "SMRecoverReplicas": "SMReviveReplicas",
    "SMDemoteStalePrimaries": "SMDemoteRivals",
}
KEYS = {
    "attempts": "tries",
    "concurrent_databases": "at_once",
    "concurrent_pairs": "pairs_at_once",
    "desired": "wanted",
    "failed_handovers": "handovers",
    "new_shard": "newcomer",
    "new_shards": "newcomers",
    "pause_until": "rest_until",
    "promote": "leads",
    "promote_new_shard": "takes_lead",
    "promoted": "heir",
    "removed": "leaves",
    "removed_shards": "leaving",
    "retry_at": "again_at",
    "staying": "stay",
}


def with_former_keys(value: Any) -> Any:
    """Return JSON with the keys of the previous release."""
    if isinstance(value, dict):
        return {KEYS.get(key, key): with_former_keys(each) for key, each in value.items()}
    return [with_former_keys(each) for each in value] if isinstance(value, list) else value


async def store_as_previous_release(console: Console, uid: str) -> None:
    """Change the stored name and parameters of an action to those of the previous release."""
    async with console.store.begin() as session:
        action = await session.get_one(Action, uid)
        action.name = NAMES.get(action.name, action.name)
        action.params = with_former_keys(action.params)
