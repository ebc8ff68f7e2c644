"""A fake OpenID Connect provider inside the test, which can also sign tokens that a real one never issues."""

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec

START, BACK = "/v1/session/sso/start", "/v1/session/sso/callback"
COOKIE = "__Host-shardboard_sso"
ISSUER, CLIENT, SECRET = "https://login.example.org", "shardboard", "s%c:ret"

SETTINGS: dict[str, Any] = {
    "name": "Example",
    "issuer": ISSUER,
    "client_id": CLIENT,
    "client_secret": SECRET,
    "roles": [{"group": "admins", "role_uid": 1}, {"group": "shop", "role_uid": 4}],
}


class SigningKey:
    """A signing key of a provider."""

    def __init__(self, kid: str = "k1") -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.kid = kid

    def public(self) -> dict[str, Any]:
        key: dict[str, Any] = jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {**key, "kid": self.kid, "use": "sig", "alg": "ES256"}

    def sign(self, claims: dict[str, Any]) -> str:
        return jwt.encode(claims, self.key, "ES256", headers={"kid": self.kid})


class FakeProvider:
    """A provider without a network. Tests change its attributes."""

    def __init__(self) -> None:
        self.signer = SigningKey()
        self.keys = [self.signer.public()]
        self.metadata: dict[str, Any] = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
            "userinfo_endpoint": f"{ISSUER}/me",
        }
        self.claims: dict[str, Any] = {
            "email": "ann@example.org",
            "email_verified": True,
            "name": "Ann",
            "groups": ["shop"],
        }
        self.info: dict[str, Any] = {}
        self.nonce = ""
        self.token: Callable[[], str] = self.id_token
        self.answers: dict[str, Callable[[httpx.Request], httpx.Response | Awaitable[httpx.Response]]] = {}
        self.requests: list[httpx.Request] = []

    def id_token(self, **other: Any) -> str:
        now = int(time.time())
        defaults = {"iss": ISSUER, "sub": "4711", "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": self.nonce}
        return self.signer.sign(
            {name: value for name, value in {**defaults, **self.claims, **other}.items() if value is not None}
        )

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._answer)

    def authorization_query(self, url: str) -> dict[str, str]:
        """Return the query with which the browser arrives at the provider. Its nonce is used in the next token."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        self.nonce = query["nonce"]
        return query

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        path = request.url.path
        if path in self.answers:
            answer = self.answers[path](request)
            return await answer if isinstance(answer, Awaitable) else answer
        match path:
            case "/.well-known/openid-configuration":
                return httpx.Response(200, content=json.dumps(self.metadata))
            case "/keys":
                return httpx.Response(200, json={"keys": self.keys})
            case "/token":
                return httpx.Response(200, content=json.dumps({"access_token": "at", "id_token": self.token()}))
            case "/me":
                return httpx.Response(200, json={"sub": "4711", **self.info})
        return httpx.Response(404)


async def sign_in_with_provider(browser: httpx.AsyncClient, provider: FakeProvider, **other: str) -> httpx.Response:
    """Go to the provider and return to the console. The provider signs in any user."""
    start = await browser.get(START, params={"next": "/databases"})
    assert start.status_code == 303, start.text
    query = provider.authorization_query(start.headers["location"])
    return await browser.get(BACK, params={"code": "c", "state": query["state"], **other})


def error_code_of(reply: httpx.Response) -> str:
    """Return the error code in the redirect to the sign-in page."""
    assert reply.status_code == 303, reply.text
    target = urlsplit(reply.headers["location"])
    assert target.path == "/login"
    return parse_qs(target.query)["refused"][0]


async def refused_sign_in(browser: httpx.AsyncClient, provider: FakeProvider, **other: str) -> str:
    """Expect a refused sign-in, and return its error code."""
    code = error_code_of(await sign_in_with_provider(browser, provider, **other))
    assert (await browser.get("/v1/session")).status_code == 401
    return code


async def sign_out(browser: httpx.AsyncClient) -> None:
    assert (await browser.delete("/v1/session", headers={"X-Requested-With": "shardboard"})).status_code < 300
