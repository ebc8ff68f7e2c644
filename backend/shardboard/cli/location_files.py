"""Files of storage locations that commands read on their machine, without a console and its nodes."""

from contextlib import closing
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from shardboard.contract.file_streams import SendFile
from shardboard.contract.locations import Location, MountPoint
from shardboard.errors import CommandError
from shardboard.transfer.errors import TransferError
from shardboard.transfer.locations import open_store
from shardboard.transfer.specification import Specification


def fetch(location_file: Path, path: str, target: Path) -> None:
    """Copy a file of a location to a new file. `location_file` contains the settings of the location as JSON, in the format of the
    REST API. Raises CommandError.
    """
    try:
        location: Location = TypeAdapter(Location).validate_json(location_file.read_bytes())
        request = SendFile(location=location, path=path, bytes=0)
    except OSError as error:
        raise CommandError(f"the location file {location_file} is not readable: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise CommandError(f"{location_file} is not the JSON of a location: {field}: {first['msg']}") from None
    roots = [Path(location.path)] if isinstance(location, MountPoint) else []
    try:
        with (
            closing(open_store(Specification(transfer=request, backup_roots=roots))) as store,
            target.open("xb") as file,
        ):
            for part in store.read(path):
                file.write(part)
    except TransferError as error:
        raise CommandError(f"{path} cannot be read: {error}") from error
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror}") from error
