"""Private eval sets: what they are called and made of in the open, everything else sealed."""

from datetime import datetime

from sqlalchemy import ForeignKey, ForeignKeyConstraint, LargeBinary, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from monitor.store.tables.metadata import Table


class Suite(Table):
    __tablename__ = "suite"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    created_at: Mapped[datetime]


class SuiteVersion(Table):
    """`sha256` is over the items, `key_id` names the key that sealed them without telling it, and `head` is sealed: the
    canary, and how many items there are of which kind. The version imported last is the one in use."""

    __tablename__ = "suite_version"
    __table_args__ = (UniqueConstraint("suite", "sha256"),)

    suite: Mapped[str] = mapped_column(ForeignKey("suite.name", ondelete="CASCADE"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sha256: Mapped[str] = mapped_column(String(64))
    format: Mapped[str] = mapped_column(String(16))
    items: Mapped[int]
    chunks: Mapped[int]
    key_id: Mapped[str] = mapped_column(String(16))
    head: Mapped[bytes] = mapped_column(LargeBinary)
    imported_by: Mapped[str] = mapped_column(String(128))
    imported_at: Mapped[datetime]


class SuiteChunk(Table):
    """Some items in a row, compressed and sealed; few enough that one is held in memory at a time."""

    __tablename__ = "suite_chunk"
    __table_args__ = (
        ForeignKeyConstraint(
            ["suite", "version"], ["suite_version.suite", "suite_version.version"], ondelete="CASCADE"
        ),
    )

    suite: Mapped[str] = mapped_column(String(64), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
