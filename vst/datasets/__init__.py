"""The data sets of the paper: the catalogue, their sources and their readers."""

from vst.datasets.catalogue import CATALOGUE, DatasetInfo, describe
from vst.datasets.dataset import Dataset
from vst.datasets.loading import load_dataset

__all__ = ["CATALOGUE", "Dataset", "DatasetInfo", "describe", "load_dataset"]
