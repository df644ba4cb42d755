"""The reproduction of the paper, on top of the library.

Each layer imports only earlier ones: ``protocol`` (splits, prepared data), ``peers``, ``models`` (the
registry), ``bandits``, ``experiments``, ``paper`` (its numbers, claims and verdicts), ``report``
(tables and figures) and ``driver`` (builds pages from notebooks).
"""
