"""Errors that a user can put right."""


class UserError(Exception):
    """Something the user can put right: the command line shows it as a sentence, without a traceback."""


class DataError(UserError, ValueError):
    """A data set that is missing, damaged or not what was asked for."""


class MissingDataError(DataError):
    """A data set that is not on this machine and could not be downloaded."""
