"""The certificates that all consoles of the store share, encrypted (`pki/certificate_state.py`). The table has one row."""

from sqlalchemy import event, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.pki.certificate_state import CertificateState
from shardboard.pki.console_ca import ConsoleCa
from shardboard.store.db import Base
from shardboard.store.encrypted_columns import EncryptedText

KIND = "console_certificates"


class ConsoleCertificates(Base):
    """Contents are PEM, each with its private key."""

    __tablename__ = "console_certificates"
    __kind__ = KIND

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ca: Mapped[str] = mapped_column(EncryptedText("console_certificates.ca"))
    next_ca: Mapped[str | None] = mapped_column(EncryptedText("console_certificates.next_ca"))
    former_ca: Mapped[str | None] = mapped_column(EncryptedText("console_certificates.former_ca"))
    requested_ca: Mapped[str | None] = mapped_column(EncryptedText("console_certificates.requested_ca"))
    client: Mapped[str] = mapped_column(EncryptedText("console_certificates.client"))
    installed: Mapped[str | None] = mapped_column(EncryptedText("console_certificates.installed"))


_COLUMNS = ("ca", "next_ca", "former_ca", "requested_ca", "client", "installed")


async def find(session: AsyncSession, known: CertificateState | None = None) -> CertificateState | None:
    """Return the certificates; None before the first start of a console. `known` is returned if the row contains the same, because
    parsing takes a millisecond. Raises ValueError if they are not usable.
    """
    row = await _row(session)
    if row is None:
        return None
    columns = {name: getattr(row, name) for name in _COLUMNS}
    return known if known is not None and columns == known.stored else CertificateState.read(columns)


async def save(session: AsyncSession, state: CertificateState) -> None:
    """Store certificates. The cluster must be locked."""
    if (row := await _row(session)) is None:
        session.add(ConsoleCertificates(uid=1, **state.stored))
    else:
        for name, content in state.stored.items():
            setattr(row, name, content)


async def replace(session: AsyncSession, ca: ConsoleCa, state: CertificateState) -> None:
    """Store certificates. This console uses them when the transaction has been committed, and other consoles follow."""
    await save(session, state)
    event.listen(session.sync_session, "after_commit", lambda _: ca.apply(state), once=True)


async def refresh(session: AsyncSession, ca: ConsoleCa) -> CertificateState:
    """Return the certificates and use them in this console. The cluster must be locked, so that they cannot change."""
    if (state := await find(session, ca.state)) is not None:
        ca.apply(state)
    return ca.state


async def follow(session: AsyncSession, ca: ConsoleCa) -> None:
    """Use the certificates of the store. In a session that only reads, this must be the first statement: a result that is older
    than a change applied in the meantime is ignored.
    """
    generation = ca.generation
    state = await find(session, ca.state)
    if state is not None and generation == ca.generation:
        ca.apply(state)


async def _row(session: AsyncSession) -> ConsoleCertificates | None:
    query = select(ConsoleCertificates).execution_options(populate_existing=True)
    return (await session.execute(query)).scalar_one_or_none()
