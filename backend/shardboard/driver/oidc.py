"""The provider of single sign-on, over HTTP (OpenID Connect Core 1.0, Discovery 1.0; PKCE: RFC 7636; issuer in replies: RFC 9207).

Tokens are judged by PyJWT. What the provider says is never shown to anybody, but for the claims that an administrator chose.
"""

import asyncio
import base64
import hashlib
import json
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx
import jwt

from shardboard.domain import oidc
from shardboard.domain.oidc import Attempt, Provider, Refused
from shardboard.driver import trust

PATIENCE_SECONDS = 10
"""For all of a reply."""
MOST_BYTES = 1 << 20
KEPT_SECONDS = 600.0
AGAIN_SECONDS = 10.0
"""Between two looks for a key that was not there, and for a provider that was not."""
LEEWAY_SECONDS = 60
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Those with a key that only the provider has."""
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@dataclass
class _Known:
    """What a provider says of itself."""

    metadata: Mapping[str, Any]
    trusted: ssl.SSLContext
    at: float
    keys: Sequence[Mapping[str, Any]] = ()
    keys_at: float = 0.0

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() - self.at < KEPT_SECONDS


@dataclass(frozen=True)
class _Failure:
    """Of asking a provider what it is."""

    refused: Refused
    at: float


class OidcClient:
    """One for the console. `transport` takes the network's place in tests."""

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        self._known: dict[tuple[str, str], _Known] = {}
        self._failures: dict[tuple[str, str], _Failure] = {}
        self._asking = asyncio.Lock()

    async def look(self, provider: Provider) -> None:
        """Whether it is one, anew. Raises Refused."""
        async with self._asking:
            known = await self._discover(provider)
            async with self._client(known.trusted) as client:
                await _read_keys(client, known)

    async def authorization_url(self, provider: Provider, attempt: Attempt) -> str:
        """Where the browser goes to sign in. Raises Refused."""
        known = await self._what_it_is(provider)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": provider.client_id,
            "redirect_uri": attempt.redirect_uri,
            "scope": provider.scope,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        endpoint = known.metadata["authorization_endpoint"]
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    async def claims(self, provider: Provider, attempt: Attempt, reply: Mapping[str, str]) -> dict[str, Any]:
        """What the provider says of the person, against its reply in the browser's address. Raises Refused."""
        known = await self._what_it_is(provider)
        _insist_on_issuer(known.metadata, provider, reply)
        async with self._client(known.trusted) as client:
            tokens = await _exchange(client, known.metadata, provider, attempt, reply["code"])
            claims = await self._judge(client, known, provider, attempt, tokens)
            wanted = {provider.username_claim, provider.groups_claim}
            if provider.username_claim == "email":
                wanted.add("email_verified")
            endpoint = known.metadata.get("userinfo_endpoint")
            if wanted <= claims.keys() or not isinstance(endpoint, str) or _url_fault(provider, endpoint):
                return claims
            bearer = {"Authorization": f"Bearer {tokens.get('access_token', '')}"}
            more = await _json(client, "GET", endpoint, headers=bearer)
            if more.get("sub") != claims["sub"]:
                raise Refused("provider_fault", "The provider told of another person than of whom it had vouched for.")
            return {**more, **claims}

    def _client(self, trusted: ssl.SSLContext) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            headers={"Accept-Encoding": "identity"},
            timeout=PATIENCE_SECONDS,
            follow_redirects=False,
            verify=trusted,
            transport=self._transport,
            trust_env=False,
        )

    async def _what_it_is(self, provider: Provider) -> _Known:
        """As it was told lately. Who asks while it is being asked waits, and a failure counts for all who come within seconds."""
        place = (provider.issuer, provider.ca)
        known = self._known.get(place)
        if known is not None and known.is_fresh:
            return known
        async with self._asking:
            known, failure = self._known.get(place), self._failures.get(place)
            if known is not None and known.is_fresh:
                return known
            if failure is not None and time.monotonic() - failure.at < AGAIN_SECONDS:
                raise Refused(failure.refused.code, failure.refused.sentence)
            try:
                return await self._discover(provider)
            except Refused as refused:
                self._failures = {place: _Failure(refused, time.monotonic())}
                raise

    async def _discover(self, provider: Provider) -> _Known:
        trusted = trust.context(provider.ca)
        async with self._client(trusted) as client:
            metadata = await _json(client, "GET", f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        if metadata.get("issuer") != provider.issuer:
            said = str(metadata.get("issuer"))[:200]
            raise Refused("provider_fault", f"The provider calls itself {said}: the issuer must be written as it does.")
        for name in _ENDPOINTS:
            url = metadata.get(name)
            if (fault := _url_fault(provider, url) if isinstance(url, str) else "is missing") is not None:
                raise Refused("provider_fault", f"What the provider says of itself cannot be used: {name} {fault}.")
        found = _Known(metadata, trusted, time.monotonic())
        self._known = {(provider.issuer, provider.ca): found}  # there is one provider at a time
        return found

    async def _key(self, client: httpx.AsyncClient, known: _Known, header: Mapping[str, Any]) -> jwt.PyJWK:
        """Of a token that was signed by it; keys that were changed since are asked for."""
        fitting = _fitting(known.keys, header)
        if len(fitting) != 1:
            async with self._asking:
                fitting = _fitting(known.keys, header)
                if len(fitting) != 1 and (not known.keys or time.monotonic() - known.keys_at >= AGAIN_SECONDS):
                    fitting = _fitting(await _read_keys(client, known), header)
        if len(fitting) != 1:
            raise Refused("provider_fault", "The provider's token is signed with a key that it does not tell of.")
        return fitting[0]

    async def _judge(
        self, client: httpx.AsyncClient, known: _Known, provider: Provider, attempt: Attempt, tokens: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The claims of the ID token, which is the provider's, for this console and this attempt."""
        token = tokens.get("id_token")
        if not isinstance(token, str):
            raise Refused("provider_fault", "The provider gave no ID token; does the scope have openid in it?")
        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(client, known, header)
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=provider.client_id,
                issuer=provider.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "aud", "iss", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise Refused("provider_fault", f"The provider's ID token does not hold: {error}.") from error
        audience = claims["aud"]
        if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != provider.client_id:
            raise Refused("provider_fault", "The provider's ID token is for others as well.")
        if claims.get("azp", provider.client_id) != provider.client_id:
            raise Refused("provider_fault", "The provider's ID token was given to somebody else.")
        if claims.get("nonce") != attempt.nonce:
            raise Refused("provider_fault", "The provider's ID token belongs to another sign-in.")
        return claims


def _url_fault(provider: Provider, url: str) -> str | None:
    return oidc.url_fault(url, of_remote=oidc.is_remote(provider.issuer))


async def _read_keys(client: httpx.AsyncClient, known: _Known) -> Sequence[Mapping[str, Any]]:
    known.keys_at = time.monotonic()
    said = (await _json(client, "GET", known.metadata["jwks_uri"])).get("keys")
    try:
        jwt.PyJWKSet.from_dict({"keys": said})
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:
        raise Refused("provider_fault", "The keys that the provider signs with cannot be read.") from error
    known.keys = [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []
    return known.keys


def _fitting(keys: Sequence[Mapping[str, Any]], header: Mapping[str, Any]) -> list[jwt.PyJWK]:
    """Those by which a token with that header may be signed. Keys need not say for which algorithm they are: one that they are fit
    for (RFC 7517, 4.4)."""
    algorithm, kid, found = header.get("alg"), header.get("kid"), []
    for each in keys if algorithm in ALGORITHMS else ():
        if (
            each.get("use", "sig") != "sig"
            or each.get("alg", algorithm) != algorithm
            or kid not in (None, each.get("kid"))
        ):
            continue
        with suppress(jwt.PyJWTError, ValueError, TypeError):
            found.append(jwt.PyJWK(dict(each), algorithm))
    return found


async def _exchange(
    client: httpx.AsyncClient,
    metadata: Mapping[str, Any],
    provider: Provider,
    attempt: Attempt,
    code: str,
) -> dict[str, Any]:
    """The code for tokens."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": attempt.redirect_uri,
        "code_verifier": attempt.verifier,
    }
    headers = {}
    # Basic is what providers must know; its parts are form-encoded first (RFC 6749, 2.3.1).
    known = metadata.get("token_endpoint_auth_methods_supported")
    if provider.client_secret and (not isinstance(known, list) or "client_secret_basic" in known):
        pair = ":".join(quote(part, safe="") for part in (provider.client_id, provider.client_secret))
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    else:
        form["client_id"] = provider.client_id
        if provider.client_secret:
            form["client_secret"] = provider.client_secret
    return await _json(client, "POST", metadata["token_endpoint"], data=form, headers=headers)


def _insist_on_issuer(metadata: Mapping[str, Any], provider: Provider, reply: Mapping[str, str]) -> None:
    """Of a provider that says who it is in its reply, no other one's reply is taken."""
    says = metadata.get("authorization_response_iss_parameter_supported") is True or "iss" in reply
    if says and reply.get("iss") != provider.issuer:
        raise Refused("provider_fault", "The reply is another provider's.")


async def _json(client: httpx.AsyncClient, method: str, url: str, **more: Any) -> dict[str, Any]:
    host = urlsplit(url).hostname
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), client.stream(method, url, **more) as reply:
            body = b""
            async for part in reply.aiter_bytes():
                body += part
                if len(body) > MOST_BYTES:
                    raise Refused("provider_fault", f"{host} answers with more than {MOST_BYTES} bytes.")
    except (httpx.TimeoutException, TimeoutError):
        sentence = f"The provider ({host}) does not answer within {PATIENCE_SECONDS} s."
        raise Refused("provider_unreachable", sentence) from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise Refused("provider_unreachable", f"The provider ({host}) cannot be reached: {error}.") from error
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if not reply.is_success:
        reason = said.get("error") if isinstance(said, dict) else None
        told = f": {str(reason)[:100]}" if reason else ""
        raise Refused("provider_fault", f"The provider ({host}) answers {reply.status_code}{told}.")
    if not isinstance(said, dict):
        raise Refused("provider_fault", f"The provider ({host}) answers with something other than a JSON object.")
    return said
