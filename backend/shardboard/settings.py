"""Settings of the console, read from `SHARDBOARD_*` environment variables."""

from contextlib import suppress
from pathlib import Path

from pydantic import AliasChoices, Field, FilePath, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from shardboard.kit.database_url import parse, secrets_of
from shardboard.kit.resources import WEB_UI


class Settings(BaseSettings):
    """Settings of the console. The defaults are safe on a laptop; docs/guide/install.md documents the public settings."""

    model_config = SettingsConfigDict(env_prefix="SHARDBOARD_", extra="ignore", populate_by_name=True)

    admin_user: str = "admin@shardboard.local"
    admin_password: SecretStr | None = Field(
        default=None, description="only used on the first start; generated and printed once if not set"
    )
    admin_password_file: Path | None = Field(
        default=None, description="file that contains the administrator's password"
    )
    cluster_name: str = Field(
        default="shardboard.local", description="host name of the cluster; only used on the first start"
    )
    state_dir: Path = Path("var")
    database_url: str | None = Field(
        default=None, description="SQLAlchemy URL; SQLite in the state directory if not set"
    )
    database_password_file: FilePath | None = Field(
        default=None, description="file that contains the password for that URL"
    )
    store_key: SecretStr | None = Field(default=None, description="one or more keys that encrypt the store's secrets")
    store_key_file: Path | None = Field(
        default=None, description="file that contains the keys; by default store.key in the state directory"
    )
    store_key_command: str | None = Field(
        default=None, description="command that prints the keys, such as one of a vault"
    )
    https_host: str = Field(default="", description="address of the HTTPS ports; all IPv4 and IPv6 addresses if empty")
    https_port: int = Field(default=9443, ge=1, le=65535)
    http_port: int = Field(default=8080, ge=0, le=65535, description="loopback only; 0 disables it")
    metrics_port: int = Field(default=8070, ge=0, le=65535, description="metrics for Prometheus, HTTPS; 0 disables it")
    web_ui_dir: Path = Field(
        default=WEB_UI,
        description="built web UI",
        validation_alias=AliasChoices("SHARDBOARD_WEB_UI_DIR", "SHARDBOARD_PAGE_DIR"),
    )
    trusted_proxies: list[str] = Field(
        default_factory=list,
        description="addresses of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are accepted",
    )
    public_names: list[str] = Field(
        default_factory=list,
        description="additional host names and addresses of the console, for its certificate and for requests to loopback ports",
    )
    advertise_url: str = Field(
        default="", description="URL of this console in the list of consoles; host name and HTTPS port if empty"
    )
    tls_cert: Path | None = Field(
        default=None, description="certificate chain (PEM) to use instead of a certificate of the console CA"
    )
    tls_key: Path | None = None
    smtp_password_file: Path | None = Field(default=None, description="password of the mail server, for notifications")

    @field_validator("store_key", "store_key_file", "store_key_command", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        """Treat empty variables as unset: environment files cannot omit them."""
        return None if value == "" else value

    @property
    def key_file(self) -> Path:
        """File with the store's keys, unless the environment or a command provides them."""
        return self.store_key_file or self.state_dir / "store.key"

    @property
    def configured_password(self) -> str | None:
        """The configured administrator password; None if there is none. Raises OSError."""
        if self.admin_password_file is not None:
            return _secret(self.admin_password_file)
        return self.admin_password.get_secret_value() if self.admin_password else None

    @property
    def store_url(self) -> str:
        """The URL with an async driver, if it names none, and with the password from its file. Raises OSError, and ValueError if
        the URL is invalid.
        """
        if self.database_url is None:
            return f"sqlite+aiosqlite:///{(self.state_dir / 'console.db').resolve()}"
        url = parse(self.database_url)
        if self.database_password_file is not None:
            url = url.set(password=_secret(self.database_password_file))
        return url.render_as_string(hide_password=False)

    def secrets(self) -> set[str]:
        """Return all passwords configured for the console, including those in files. Unreadable files are skipped."""
        files = (self.admin_password_file, self.database_password_file, self.smtp_password_file)
        secret_values = {self.admin_password.get_secret_value() if self.admin_password else ""}
        secret_values.update(secrets_of(self.database_url) if self.database_url else ())
        for file in files:
            with suppress(OSError):
                secret_values.add(_secret(file) if file is not None else "")
        secret_values.update(self.store_key.get_secret_value().split() if self.store_key else ())
        with suppress(OSError):
            secret_values.update(self.key_file.read_text().split())
        return secret_values - {""}


def _secret(file: Path) -> str:
    return file.read_text().removesuffix("\n")
