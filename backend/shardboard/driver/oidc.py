"""Client for the single sign-on provider (OpenID Connect Core 1.0, Discovery 1.0; PKCE: RFC 7636; issuer in responses: RFC 9207).

PyJWT verifies the tokens. Responses of the provider are not shown to users, except for the claims that an administrator selected.
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

from shardboard.domain.access import oidc
from shardboard.domain.access.oidc import Provider, SignInAttempt, SignInRefused
from shardboard.driver import tls_trust

TIMEOUT_SECONDS = 10
"""Limit for a complete response."""
MAX_BYTES = 1 << 20
CACHE_SECONDS = 600.0
RETRY_SECONDS = 10.0
"""Minimum interval between two requests for a missing key, and between two requests to an unreachable provider."""
LEEWAY_SECONDS = 60
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Asymmetric algorithms, whose signing key only the provider has."""
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@dataclass
class _Known:
    """Metadata and keys of a provider."""

    metadata: Mapping[str, Any]
    trusted: ssl.SSLContext
    at: float
    keys: Sequence[Mapping[str, Any]] = ()
    keys_at: float = 0.0

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() - self.at < CACHE_SECONDS


@dataclass(frozen=True)
class _Failure:
    """A failed request for the metadata of a provider."""

    refused: SignInRefused
    at: float


class OidcClient:
    """A client that all requests of the console share. Tests use `transport` instead of the network."""

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        self._known: dict[tuple[str, str], _Known] = {}
        self._failures: dict[tuple[str, str], _Failure] = {}
        self._asking = asyncio.Lock()

    async def check(self, provider: Provider) -> None:
        """Check the provider without using cached metadata. Raises Refused."""
        async with self._asking:
            known = await self._discover(provider)
            async with self._client(known.trusted) as client:
                await _read_keys(client, known)

    async def authorization_url(self, provider: Provider, attempt: SignInAttempt) -> str:
        """Return the URL that the browser opens to sign in. Raises Refused."""
        known = await self._metadata(provider)
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

    async def claims(self, provider: Provider, attempt: SignInAttempt, reply: Mapping[str, str]) -> dict[str, Any]:
        """Return the claims about the user for the provider's response in the callback URL. Raises Refused."""
        known = await self._metadata(provider)
        _require_issuer(known.metadata, provider, reply)
        async with self._client(known.trusted) as client:
            tokens = await _exchange(client, known.metadata, provider, attempt, reply["code"])
            claims = await self._verify_id_token(client, known, provider, attempt, tokens)
            needed = {provider.username_claim, provider.groups_claim}
            if provider.username_claim == "email":
                needed.add("email_verified")
            endpoint = known.metadata.get("userinfo_endpoint")
            if needed <= claims.keys() or not isinstance(endpoint, str) or _url_error(provider, endpoint):
                return claims
            bearer = {"Authorization": f"Bearer {tokens.get('access_token', '')}"}
            more = await _json(client, "GET", endpoint, headers=bearer)
            if more.get("sub") != claims["sub"]:
                raise SignInRefused(
                    "provider_fault", "The provider returned information about another user than the ID token."
                )
            return {**more, **claims}

    def _client(self, trusted: ssl.SSLContext) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            headers={"Accept-Encoding": "identity"},
            timeout=TIMEOUT_SECONDS,
            follow_redirects=False,
            verify=trusted,
            transport=self._transport,
            trust_env=False,
        )

    async def _metadata(self, provider: Provider) -> _Known:
        """Return cached or new metadata. Concurrent calls share one request; its failure is cached for some seconds."""
        cache_key = (provider.issuer, provider.ca)
        known = self._known.get(cache_key)
        if known is not None and known.is_fresh:
            return known
        async with self._asking:
            known, failure = self._known.get(cache_key), self._failures.get(cache_key)
            if known is not None and known.is_fresh:
                return known
            if failure is not None and time.monotonic() - failure.at < RETRY_SECONDS:
                raise SignInRefused(failure.refused.code, failure.refused.message)
            try:
                return await self._discover(provider)
            except SignInRefused as refused:
                self._failures = {cache_key: _Failure(refused, time.monotonic())}
                raise

    async def _discover(self, provider: Provider) -> _Known:
        trusted = tls_trust.context(provider.ca)
        async with self._client(trusted) as client:
            metadata = await _json(client, "GET", f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        if metadata.get("issuer") != provider.issuer:
            reported = str(metadata.get("issuer"))[:200]
            raise SignInRefused(
                "provider_fault", f"The provider reports the issuer {reported}: configure exactly this issuer."
            )
        for name in _ENDPOINTS:
            url = metadata.get(name)
            if (fault := _url_error(provider, url) if isinstance(url, str) else "is missing") is not None:
                raise SignInRefused("provider_fault", f"The metadata of the provider is invalid: {name} {fault}.")
        found = _Known(metadata, trusted, time.monotonic())
        self._known = {(provider.issuer, provider.ca): found}  # there is only one provider at a time
        return found

    async def _key(self, client: httpx.AsyncClient, known: _Known, header: Mapping[str, Any]) -> jwt.PyJWK:
        """Return the key that signed a token. If it is unknown, the keys are requested again."""
        fitting = _fitting(known.keys, header)
        if len(fitting) != 1:
            async with self._asking:
                fitting = _fitting(known.keys, header)
                if len(fitting) != 1 and (not known.keys or time.monotonic() - known.keys_at >= RETRY_SECONDS):
                    fitting = _fitting(await _read_keys(client, known), header)
        if len(fitting) != 1:
            raise SignInRefused("provider_fault", "The provider's token is signed with an unknown key.")
        return fitting[0]

    async def _verify_id_token(
        self,
        client: httpx.AsyncClient,
        known: _Known,
        provider: Provider,
        attempt: SignInAttempt,
        tokens: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Verify that the ID token is from the provider, for this console and for this attempt, and return its claims."""
        token = tokens.get("id_token")
        if not isinstance(token, str):
            raise SignInRefused(
                "provider_fault", "The provider returned no ID token. Check that the scope contains openid."
            )
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
            raise SignInRefused("provider_fault", f"The provider's ID token is invalid: {error}.") from error
        audience = claims["aud"]
        if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != provider.client_id:
            raise SignInRefused("provider_fault", "The provider's ID token has additional audiences.")
        if claims.get("azp", provider.client_id) != provider.client_id:
            raise SignInRefused("provider_fault", "The provider's ID token was issued to another client.")
        if claims.get("nonce") != attempt.nonce:
            raise SignInRefused("provider_fault", "The provider's ID token belongs to another sign-in.")
        return claims


def _url_error(provider: Provider, url: str) -> str | None:
    return oidc.url_error(url, of_remote=oidc.is_remote(provider.issuer))


async def _read_keys(client: httpx.AsyncClient, known: _Known) -> Sequence[Mapping[str, Any]]:
    known.keys_at = time.monotonic()
    keys = (await _json(client, "GET", known.metadata["jwks_uri"])).get("keys")
    try:
        jwt.PyJWKSet.from_dict({"keys": keys})
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:
        raise SignInRefused("provider_fault", "The provider's signing keys are invalid.") from error
    known.keys = [each for each in keys if isinstance(each, dict)] if isinstance(keys, list) else []
    return known.keys


def _fitting(keys: Sequence[Mapping[str, Any]], header: Mapping[str, Any]) -> list[jwt.PyJWK]:
    """Return the keys that may have signed a token with this header. A key without an algorithm is valid for all algorithms that it
    supports (RFC 7517, 4.4)."""
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
    attempt: SignInAttempt,
    code: str,
) -> dict[str, Any]:
    """Exchange the code for tokens."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": attempt.redirect_uri,
        "code_verifier": attempt.verifier,
    }
    headers = {}
    # All providers must support Basic authentication; its parts are form-encoded first (RFC 6749, 2.3.1).
    known = metadata.get("token_endpoint_auth_methods_supported")
    if provider.client_secret and (not isinstance(known, list) or "client_secret_basic" in known):
        pair = ":".join(quote(part, safe="") for part in (provider.client_id, provider.client_secret))
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    else:
        form["client_id"] = provider.client_id
        if provider.client_secret:
            form["client_secret"] = provider.client_secret
    return await _json(client, "POST", metadata["token_endpoint"], data=form, headers=headers)


def _require_issuer(metadata: Mapping[str, Any], provider: Provider, reply: Mapping[str, str]) -> None:
    """Require the right issuer in the response of a provider that includes it."""
    has_issuer = metadata.get("authorization_response_iss_parameter_supported") is True or "iss" in reply
    if has_issuer and reply.get("iss") != provider.issuer:
        raise SignInRefused("provider_fault", "The response is from another provider.")


async def _json(client: httpx.AsyncClient, method: str, url: str, **more: Any) -> dict[str, Any]:
    host = urlsplit(url).hostname
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), client.stream(method, url, **more) as reply:
            body = b""
            async for part in reply.aiter_bytes():
                body += part
                if len(body) > MAX_BYTES:
                    raise SignInRefused("provider_fault", f"The response of {host} is larger than {MAX_BYTES} bytes.")
    except (httpx.TimeoutException, TimeoutError):
        sentence = f"The provider ({host}) did not respond within {TIMEOUT_SECONDS} s."
        raise SignInRefused("provider_unreachable", sentence) from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise SignInRefused("provider_unreachable", f"The provider ({host}) is unreachable: {error}.") from error
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not reply.is_success:
        reason = content.get("error") if isinstance(content, dict) else None
        detail = f": {str(reason)[:100]}" if reason else ""
        raise SignInRefused(
            "provider_fault", f"The provider ({host}) responded with status {reply.status_code}{detail}."
        )
    if not isinstance(content, dict):
        raise SignInRefused("provider_fault", f"The response of the provider ({host}) is not a JSON object.")
    return content
