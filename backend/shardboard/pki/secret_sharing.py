"""Shamir's secret sharing: enough shares reveal a secret, and fewer reveal nothing about it."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

PRIME = 2**521 - 1
SECRET_BYTES = 32


class Share(NamedTuple):
    """A point of the polynomial whose value at 0 is the secret."""

    number: int
    value: int


def split(secret: bytes, coefficients: Sequence[int], numbers: Collection[int]) -> list[Share]:
    """Return shares with these positive numbers. One more than there are coefficients, which must be random, reveal the secret."""
    polynomial = [int.from_bytes(secret), *coefficients]
    return [Share(number, _value(polynomial, number)) for number in numbers]


def combine(shares: Sequence[Share]) -> bytes:
    """Return the secret. The result is another one if the shares do not belong together. Raises ValueError if it cannot be one."""
    total = 0
    for number, value in shares:
        numerator = denominator = 1
        for other, _ in shares:
            if other != number:
                numerator = numerator * other % PRIME
                denominator = denominator * (other - number) % PRIME
        total += value * numerator * pow(denominator, -1, PRIME)
    try:
        return (total % PRIME).to_bytes(SECRET_BYTES)
    except OverflowError as error:
        raise ValueError("the shares do not belong together") from error


def _value(polynomial: Sequence[int], number: int) -> int:
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * number + coefficient) % PRIME
    return value
