"""Hashes of passwords: several of one user are told apart by one computation."""

from argon2 import PasswordHasher

from shardboard.services import passwords


async def test_which_of_several_it_is() -> None:
    first = await passwords.hashed("alpha")
    second = await passwords.hashed("beta", first)
    assert second.split("$")[:-1] == first.split("$")[:-1]
    assert second != first
    assert await passwords.matching("alpha", [first, second]) == first
    assert await passwords.matching("beta", [first, second]) == second
    assert await passwords.matching("gamma", [first, second]) is None
    assert await passwords.matching("alpha", []) is None
    assert await passwords.hashed("alpha", first) == first


async def test_what_the_library_made_is_known_and_the_other_way_round() -> None:
    library = PasswordHasher()
    weaker = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1, salt_len=9, hash_len=20)
    for each in (library, weaker):
        made = each.hash("alpha")
        assert await passwords.matching("alpha", [made]) == made
        assert each.verify(await passwords.hashed("beta", made), "beta")


async def test_junk_matches_nothing() -> None:
    parts = (await passwords.hashed("alpha")).split("$")
    for junk in ("", "$", "x" * 10_000, "$".join([*parts[:-2], "not base64!", parts[-1]]), "$".join(parts[:-1])):
        assert await passwords.matching("alpha", [junk]) is None


async def test_a_new_user_has_a_salt_of_its_own() -> None:
    assert await passwords.hashed("alpha") != await passwords.hashed("alpha")
