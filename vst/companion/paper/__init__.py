"""The paper as data: its printed numbers, its artefacts, its bold rule and its inconsistencies."""

from vst.companion.paper.artefacts import ARTEFACT_BY_ID, ARTEFACTS, Artefact
from vst.companion.paper.bold_rule import bold, bold_cells, departures
from vst.companion.paper.compare import outcomes
from vst.companion.paper.inconsistencies import INCONSISTENCIES, Inconsistency
from vst.companion.paper.models import GROUPS, MODEL_BY_ID, MODELS, Model, label
from vst.companion.paper.tables import BANDITS, DATASETS, TABLES, Table, printed

__all__ = [
    "ARTEFACTS",
    "ARTEFACT_BY_ID",
    "BANDITS",
    "DATASETS",
    "GROUPS",
    "INCONSISTENCIES",
    "MODELS",
    "MODEL_BY_ID",
    "TABLES",
    "Artefact",
    "Inconsistency",
    "Model",
    "Table",
    "bold",
    "bold_cells",
    "departures",
    "label",
    "outcomes",
    "printed",
]
