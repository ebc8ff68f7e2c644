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
"""Minimum interval between two requests to an unreachable provider."""
KEYS_RETRY_SECONDS = 1.0
"""Minimum interval between two requests for the keys. Sign-ins wait for it: a provider may sign with a new key at any time."""
LEEWAY_SECONDS = 120
"""Accepted difference between the clocks of the provider and of the console."""
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
            claim_names = {provider.username_claim, provider.groups_claim}
            if provider.username_claim == "email":
                claim_names.add("email_verified")
            endpoint = known.metadata.get("userinfo_endpoint")
            has_all_claims = all(oidc.claim(claims, name) is not None for name in claim_names)
            if has_all_claims or not isinstance(endpoint, str) or _url_error(provider, endpoint):
                return claims
            bearer = {"Authorization": f"Bearer {tokens.get('access_token', '')}"}
            user_info = await _json(client, "GET", endpoint, headers=bearer)
            if user_info.get("sub") != claims["sub"]:
                raise SignInRefused(
                    "provider_fault", "The provider returned information about a different user than the ID token."
                )
            return {**user_info, **claims}

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
        cached = self._known.get(cache_key)
        if cached is not None and cached.is_fresh:
            return cached
        async with self._asking:
            cached, failure = self._known.get(cache_key), self._failures.get(cache_key)
            if cached is not None and cached.is_fresh:
                return cached
            if failure is not None and time.monotonic() - failure.at < RETRY_SECONDS:
                raise SignInRefused(failure.refused.code, failure.refused.message)
            try:
                return await self._discover(provider)
            except SignInRefused as error:
                self._failures = {cache_key: _Failure(error, time.monotonic())}
                raise

    async def _discover(self, provider: Provider) -> _Known:
        context = tls_trust.context(provider.ca)
        async with self._client(context) as client:
            metadata = await _json(client, "GET", f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        if metadata.get("issuer") != provider.issuer:
            issuer = str(metadata.get("issuer"))[:200]
            raise SignInRefused(
                "provider_fault", f"The provider reports the issuer {issuer}: configure exactly this issuer."
            )
        for name in _ENDPOINTS:
            url = metadata.get(name)
            if (error := _url_error(provider, url) if isinstance(url, str) else "is missing") is not None:
                raise SignInRefused("provider_fault", f"The metadata of the provider is invalid: {name} {error}.")
        discovered = _Known(metadata, context, time.monotonic())
        self._known = {(provider.issuer, provider.ca): discovered}  # there is only one provider at a time
        return discovered

    async def _key(self, client: httpx.AsyncClient, known: _Known, header: Mapping[str, Any]) -> jwt.PyJWK:
        """Return the key that signed a token. If it is unknown, the keys are requested again."""
        fitting = _matching_keys(known.keys, header)
        if len(fitting) != 1:
            fitting = _matching_keys(await self._read_newer_keys(client, known, known.keys_at), header)
        if len(fitting) != 1:
            message = (
                f"The provider's token is signed with an unknown key ({str(header.get('kid'))[:100]}, "
                f"{str(header.get('alg'))[:20]}). The provider has {len(known.keys)} keys."
            )
            raise SignInRefused("provider_fault", message)
        return fitting[0]

    async def _read_newer_keys(
        self, client: httpx.AsyncClient, known: _Known, read_at: float
    ) -> Sequence[Mapping[str, Any]]:
        """Return keys that were requested after `read_at`. Concurrent calls share one request."""
        async with self._asking:
            if known.keys_at > read_at:
                return known.keys
            if known.keys:
                await asyncio.sleep(max(0.0, KEYS_RETRY_SECONDS - (time.monotonic() - known.keys_at)))
            return await _read_keys(client, known)

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
            key, read_at = await self._key(client, known, header), known.keys_at
            try:
                claims = _decode(token, key, provider)
            except jwt.InvalidSignatureError:
                # The provider may have replaced a key without giving the new one another id.
                await self._read_newer_keys(client, known, read_at)
                claims = _decode(token, await self._key(client, known, header), provider)
        except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError) as error:
            raise SignInRefused("provider_fault", _clock_message(token, error)) from error
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


def _decode(token: str, key: jwt.PyJWK, provider: Provider) -> dict[str, Any]:
    claims: dict[str, Any] = jwt.decode(
        token,
        key,
        algorithms=ALGORITHMS,
        audience=provider.client_id,
        issuer=provider.issuer,
        leeway=LEEWAY_SECONDS,
        options={"require": ["exp", "iat", "aud", "iss", "sub"]},
    )
    return claims


def _clock_message(token: str, error: jwt.PyJWTError) -> str:
    """Return a message for a token whose signature is valid, but whose times do not fit."""
    issued_at = jwt.decode(token, options={"verify_signature": False}).get("iat")
    difference = f"{issued_at - time.time():+.0f} s" if isinstance(issued_at, int | float) else "unknown"
    return (
        f"The provider's ID token is invalid: {error}. The provider issued it at {difference} by the console's clock, and at most "
        f"{LEEWAY_SECONDS} s are accepted. Synchronize the clocks of both machines."
    )


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


def _matching_keys(keys: Sequence[Mapping[str, Any]], header: Mapping[str, Any]) -> list[jwt.PyJWK]:
    """Return the keys that may have signed a token with this header. A key without an algorithm is valid for all algorithms that it
    supports (RFC 7517, 4.4)."""
    algorithm, kid, matching_keys = header.get("alg"), header.get("kid"), []
    for each in keys if algorithm in ALGORITHMS else ():
        if (
            each.get("use", "sig") != "sig"
            or each.get("alg", algorithm) != algorithm
            or kid not in (None, each.get("kid"))
        ):
            continue
        with suppress(jwt.PyJWTError, ValueError, TypeError):
            matching_keys.append(jwt.PyJWK(dict(each), algorithm))
    return matching_keys


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
    methods = metadata.get("token_endpoint_auth_methods_supported")
    if provider.client_secret and (not isinstance(methods, list) or "client_secret_basic" in methods):
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
            if reply.headers.get("Content-Encoding", "identity") != "identity":  # a small part could become very large
                raise SignInRefused("provider_fault", f"The response of {host} is compressed, which was not requested.")
            async for part in reply.aiter_bytes():
                body += part
                if len(body) > MAX_BYTES:
                    raise SignInRefused("provider_fault", f"The response of {host} is larger than {MAX_BYTES} bytes.")
    except (httpx.TimeoutException, TimeoutError):
        message = f"The provider ({host}) did not respond within {TIMEOUT_SECONDS} s."
        raise SignInRefused("provider_unreachable", message) from None
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
