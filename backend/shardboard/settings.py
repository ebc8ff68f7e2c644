"""Knobs of the console, read from `SHARDBOARD_*` environment variables."""

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """All settings have a default that is safe on a laptop; the README documents the public ones."""

    model_config = SettingsConfigDict(env_prefix="SHARDBOARD_", extra="ignore")

    admin_user: str = "admin@shardboard.local"
    admin_password: SecretStr | None = Field(
        default=None, description="first start only; generated and printed once when absent"
    )
    state_dir: Path = Path("var")
    database_url: str | None = Field(
        default=None, description="SQLAlchemy URL; SQLite in the state directory when absent"
    )
    https_host: str = "0.0.0.0"  # noqa: S104 - the console is a server; the plain HTTP port below is loopback only
    https_port: int = Field(default=9443, ge=1, le=65535)
    http_port: int = Field(default=8080, ge=0, le=65535, description="loopback only; 0 turns it off")
    metrics_port: int = Field(default=8070, ge=0, le=65535, description="metrics for Prometheus, HTTPS; 0 turns it off")
    page_dir: Path = Field(
        default=Path(__file__).resolve().parents[2] / "frontend" / "dist", description="built web page"
    )
    public_names: list[str] = Field(
        default_factory=list, description="more host names and addresses for the console's certificate"
    )
    tls_cert: Path | None = Field(
        default=None, description="certificate chain (PEM) to use instead of the self-signed one"
    )
    tls_key: Path | None = None
    smtp_password_file: Path | None = Field(default=None, description="password of the mail server, for notifications")

    @property
    def store_url(self) -> str:
        """SQLAlchemy URL with an async driver filled in where the given one names none."""
        if self.database_url is None:
            return f"sqlite+aiosqlite:///{(self.state_dir / 'console.db').resolve()}"
        if self.database_url.startswith(("postgresql://", "postgres://")):
            return "postgresql+asyncpg://" + self.database_url.split("://", 1)[1]
        return self.database_url
