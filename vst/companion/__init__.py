"""Everything that rebuilds the paper, on top of the library.

Layers, each of which imports only those before it: ``protocol`` (splits, prepared data), ``peers``,
``models`` (the registry), ``bandits``, ``experiments``, ``paper`` (its numbers, claims and verdicts),
``report`` (tables and figures) and ``driver`` (from notebooks to pages).
"""
