"""Loads a data set by its name."""

from vst.datasets.catalogue import DatasetInfo, describe
from vst.datasets.dataset import Dataset
from vst.datasets.places import VARIABLE, Found, cache_directory, find
from vst.datasets.reading import read
from vst.errors import MissingDataError


def load_dataset(name: str) -> Dataset:
    """Load a data set by its name in the catalogue.

    Bundled data sets come with the package. Others are looked up in the directory named by the
    environment variable ``VST_DATA``, then in the user's cache, and otherwise downloaded into the
    cache. Every file is checked against its checksum, if known, and against the catalogue's shape; a
    file that fails raises an error.

    Parameters
    ----------
    name
        For example ``"boston"``; ``vst data list`` shows the names.

    Returns
    -------
    Dataset
        ``ds.X`` holds the features as a DataFrame and ``ds.y`` the target as a Series; also
        ``ds.name``, ``ds.n``, ``ds.d``, ``ds.source``, ``ds.licence``, ``ds.sha256``.

    Examples
    --------
    >>> ds = load_dataset("boston")
    >>> ds.n, ds.d, ds.y.name
    (506, 13, 'MEDV')
    """
    info = describe(name)
    found = find(info)
    if found is None:
        found = fetch(info)
    return load_found(info, found)


def load_found(info: DatasetInfo, found: Found) -> Dataset:
    """Read and check a file that was found."""
    table, digest = read(info, found.path, found.file, remedy=_remedy(info, found))
    targets = table.columns[-info.arms :] if info.arms else ([info.target] if info.target else [])
    return Dataset(
        name=info.name,
        table=table,
        targets=tuple(targets),
        source=info.source,
        licence=info.licence,
        sha256=digest,
        label=info.label,
        caveat=found.file.caveat,
    )


def fetch(info: DatasetInfo) -> Found:
    """Download a data set into the user's cache."""
    from vst.datasets.download import (
        download,
    )  # imported here: most programs do not need the network

    file = info.download
    if info.bundled or file is None or file.url is None:
        raise MissingDataError(_ways(info))
    try:
        path = download(
            file.url,
            cache_directory() / file.name,
            sha256=file.sha256,
            check=lambda path: read(info, path, file, remedy="nothing was kept: download it again"),
        )
    except MissingDataError as error:
        raise MissingDataError(f"{_ways(info)}. The download failed: {error}") from error
    return Found(path, file, "cache")


def _ways(info: DatasetInfo) -> str:
    if info.bundled:
        return (
            f"{info.files[0].name}, which comes with the package, is missing: reinstall the package, "
            f"or restore data/{info.files[0].name} in the repository"
        )
    names = " or ".join(file.name for file in info.files)
    ways = (
        f"{info.name} is not on this machine. Ways to get it: (1) set {VARIABLE} to a directory "
        f"that holds {names}; (2) put that file into {cache_directory()}; "
    )
    if info.download is None:
        return ways + f"(3) use the whole data set {info.part_of}: vst data fetch {info.part_of}"
    return ways + (
        f"(3) run `vst data fetch {info.name}` with a network connection; it downloads "
        f"{info.download.url}"
    )


def _remedy(info: DatasetInfo, found: Found) -> str:
    if found.place == "bundled":
        return (
            f"restore it with `git checkout -- data/{found.file.name}` in a checkout, or reinstall "
            "the package"
        )
    if found.place == "cache" and found.file.url:
        return f"replace it with `vst data fetch --again {info.name}`"
    return "replace it with a good copy, or remove it"
