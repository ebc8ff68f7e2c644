"""Entry point of Alembic; runs in a connection of the console."""

from typing import Any, Literal

from alembic import context
from sqlalchemy import Connection

import shardboard.state  # noqa: F401 - registers the tables
from shardboard.state.alerting.events import EventDetails
from shardboard.store.db import Base, UtcDateTime
from shardboard.store.encrypted_columns import EncryptedJson, EncryptedText

FORMS = {
    UtcDateTime: "sa.DateTime(timezone=True)",
    EncryptedText: "sa.String()",
    EncryptedJson: "sa.JSON()",
    EventDetails: "sa.JSON()",
}


def render_item(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    # Migrations must not depend on current code.
    for type_, rendered in FORMS.items():
        if kind == "type" and isinstance(item, type_):
            return rendered
    return False


def migrate(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=True,
        render_item=render_item,
        include_object=context.config.attributes.get("include_object"),  # from scripts/check-migrations
    )
    with context.begin_transaction():
        context.run_migrations()


migrate(context.config.attributes["connection"])
