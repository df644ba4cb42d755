"""Errors that a user can fix."""


class UserError(Exception):
    """An error the user can fix: the command line shows its message without a traceback."""


class DataError(UserError, ValueError):
    """A data set that is missing, damaged or not the requested one."""


class MissingDataError(DataError):
    """A data set that is not on this machine and could not be downloaded."""
