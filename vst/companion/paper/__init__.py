"""The paper as data: its printed numbers, its artefacts, its bold rule and its inconsistencies."""

from vst.companion.paper.artefacts import ARTEFACT_BY_ID, ARTEFACTS, Artefact
from vst.companion.paper.bold_rule import bold, bold_cells, departures
from vst.companion.paper.compare import outcomes
from vst.companion.paper.inconsistencies import INCONSISTENCIES, Inconsistency
from vst.companion.paper.tables import BANDITS, DATASETS, TABLES, Table, printed

__all__ = [
    "ARTEFACTS",
    "ARTEFACT_BY_ID",
    "BANDITS",
    "DATASETS",
    "INCONSISTENCIES",
    "TABLES",
    "Artefact",
    "Inconsistency",
    "Table",
    "bold",
    "bold_cells",
    "departures",
    "outcomes",
    "printed",
]
