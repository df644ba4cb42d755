"""What can be wrong with data, said so that the reader knows what to do."""

from vst.errors import UserError


class DataError(UserError, ValueError):
    """A data set that is missing, damaged or not what was asked for."""


class MissingDataError(DataError):
    """A data set that is not on this machine and could not be downloaded."""
