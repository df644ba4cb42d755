"""Errors that a user can put right."""


class UserError(Exception):
    """Something the user can put right: the command line shows it as a sentence, without a traceback."""
