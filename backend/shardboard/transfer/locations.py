"""Choice of the store of a location. Libraries are only imported for locations that need them."""

from shardboard.contract.locations import Ftp, MountPoint, Sftp, Url
from shardboard.transfer.specification import Specification
from shardboard.transfer.stores.store import Store


def open_store(specification: Specification) -> Store:
    """Return the store of the transfer's location. Raises TransferError."""
    match specification.transfer.location:
        case MountPoint() as location:
            from shardboard.transfer.stores.folders import Folder

            return Folder(location, specification.backup_roots, specification.private_folders)
        case Ftp() as location:
            from shardboard.transfer.stores.ftp import FtpServer

            return FtpServer(location)
        case Sftp() as location:
            from shardboard.transfer.stores.sftp import SftpServer

            return SftpServer(location)
        case Url() as location:
            from shardboard.transfer.stores.urls import WebFile

            return WebFile(location)
        case location:
            from shardboard.transfer.stores.objects import ObjectStore

            return ObjectStore(location, is_check=specification.transfer.kind == "check_location")
