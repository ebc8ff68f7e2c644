"""Tests of password hashes. Several passwords of a user are compared with one hash computation."""

from argon2 import PasswordHasher

from shardboard.services.access import passwords


async def test_matching_password_of_several_is_found() -> None:
    first = await passwords.hash_password("alpha")
    second = await passwords.hash_password("beta", first)
    assert second.split("$")[:-1] == first.split("$")[:-1]
    assert second != first
    assert await passwords.find_matching_hash("alpha", [first, second]) == first
    assert await passwords.find_matching_hash("beta", [first, second]) == second
    assert await passwords.find_matching_hash("gamma", [first, second]) is None
    assert await passwords.find_matching_hash("alpha", []) is None
    assert await passwords.hash_password("alpha", first) == first


async def test_hashes_are_compatible_with_the_argon2_library() -> None:
    library = PasswordHasher()
    weaker = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1, salt_len=9, hash_len=20)
    for each in (library, weaker):
        password_hash = each.hash("alpha")
        assert await passwords.find_matching_hash("alpha", [password_hash]) == password_hash
        assert each.verify(await passwords.hash_password("beta", password_hash), "beta")


async def test_invalid_hashes_match_nothing() -> None:
    parts = (await passwords.hash_password("alpha")).split("$")
    for junk in ("", "$", "x" * 10_000, "$".join([*parts[:-2], "not base64!", parts[-1]]), "$".join(parts[:-1])):
        assert await passwords.find_matching_hash("alpha", [junk]) is None


async def test_each_user_has_a_different_salt() -> None:
    assert await passwords.hash_password("alpha") != await passwords.hash_password("alpha")
