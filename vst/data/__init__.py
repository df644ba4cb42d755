"""The data: what there is, where it comes from, and how it becomes arrays for a model."""

from vst.data.catalogue import CATALOGUE, DatasetInfo, describe
from vst.data.dataset import Dataset
from vst.data.errors import DataError, MissingDataError
from vst.data.loading import load_dataset
from vst.data.ood import OODSet, ood_set
from vst.data.prepared import Prepared, prepare
from vst.data.splits import Folds, Split, make_folds, split_rows
from vst.data.tables import load_table

__all__ = [
    "CATALOGUE",
    "DataError",
    "Dataset",
    "DatasetInfo",
    "Folds",
    "MissingDataError",
    "OODSet",
    "Prepared",
    "Split",
    "describe",
    "load_dataset",
    "load_table",
    "make_folds",
    "ood_set",
    "prepare",
    "split_rows",
]
