"""Traversal of the dependencies of an endpoint."""

from collections.abc import Iterator

from fastapi.dependencies.models import Dependant


def flatten(dependant: Dependant) -> Iterator[Dependant]:
    """Yield a dependant and all its dependencies."""
    yield dependant
    for each in dependant.dependencies:
        yield from flatten(each)
