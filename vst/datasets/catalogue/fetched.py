"""The paper's four data sets that are downloaded, and two parts of them with their own names."""

from vst.datasets.catalogue.info import CC_BY, UCI, DataFile, DatasetInfo, InPaper

BUCKET = "https://storage.googleapis.com/bandits_datasets"
UCI_FILES = "https://archive.ics.uci.edu/ml/machine-learning-databases"
RIQUELME = (
    "Riquelme, Tucker and Snoek (2018). Deep Bayesian bandits showdown: an empirical comparison "
    "of Bayesian deep networks for Thompson sampling. ICLR."
)

TO_FETCH = (
    DatasetInfo(
        name="song",
        title="year of release of a song from its timbre",
        task="regression",
        rows=515345,
        features=90,
        target="year",
        target_label="year of release",
        limits=(1922.0, 2011.0),
        source=UCI,
        url="https://doi.org/10.24432/C50K61",
        licence=CC_BY,
        citation=(
            "Bertin-Mahieux, Ellis, Whitman and Lamere (2011). The million song dataset. ISMIR."
        ),
        files=(
            DataFile(
                "YearPredictionMSD.txt.zip",
                None,
                layout="song zip",
                url=f"{UCI_FILES}/00203/YearPredictionMSD.txt.zip",
            ),
        ),
        paper=InPaper("Song", 514345, 90),
        changes="column names added; the year moved from the first column to the last",
        note="The paper prints 514,345 rows; UCI's file has 515,345.",
    ),
    DatasetInfo(
        name="ct_slices",
        title="position of a CT slice along the body",
        task="ood",
        rows=53500,
        features=384,
        target="reference",
        target_label="position along the body (0-180)",
        limits=(0.0, 180.0),
        source=UCI,
        url="https://doi.org/10.24432/C5CP6G",
        licence=CC_BY,
        citation=(
            "Graf, Kriegel, Schubert, Pölsterl and Cavallaro (2011). 2D image registration in CT "
            "images using radial image descriptors. MICCAI."
        ),
        files=(
            DataFile(
                "slice_localization_data.zip",
                None,
                layout="ct zip",
                url=f"{UCI_FILES}/00206/slice_localization_data.zip",
            ),
        ),
        paper=InPaper("Relative location of CT slices on axial axis"),
        changes="the patient's number, which is no feature, left out",
    ),
    DatasetInfo(
        name="jester",
        title="ratings of 40 jokes, contexts and rewards of the jester bandit",
        task="bandit",
        rows=19181,
        features=32,
        target=None,
        arms=8,
        limits=(-10.0, 10.0),
        source="Jester, UC Berkeley; selected by Riquelme et al. (2018)",
        url="https://eigentaste.berkeley.edu/dataset/",
        licence="free for research, with citation",
        citation=(
            "Goldberg, Roeder, Gupta and Perkins (2001). Eigentaste: a constant time "
            f"collaborative filtering algorithm. Information Retrieval 4, 133-151; {RIQUELME}"
        ),
        files=(
            DataFile(
                "jester_data_40jokes_19181users.npy",
                None,
                layout="ratings",
                url=f"{BUCKET}/jester_data_40jokes_19181users.npy",
            ),
            DataFile(
                "jester.csv.gz",
                "ad1fe2e821b848fa0ce92b249f9fa93f76ee1c5a249d1af77b4fec9d0d82d52f",
                caveat="rebuilt from Jester-1: which 8 jokes are the arms may differ",
            ),
        ),
        paper=InPaper("Jester", 19181, 32),
        note=(
            "The first 32 jokes are the context and the last 8 the arms. jester.csv.gz was "
            "rebuilt from Jester-1 (the 40 jokes rated most, by the users who rated them all): "
            "the same 19181 users, but which 8 jokes are the arms may differ from the published "
            "file, whose column order is not documented."
        ),
    ),
    DatasetInfo(
        name="stock",
        title="daily price changes of 21 stocks, contexts of the financial bandit",
        task="bandit",
        rows=3713,
        features=21,
        target=None,
        limits=None,
        source="NYSE and Nasdaq prices collected by Riquelme et al. (2018)",
        url="https://github.com/tensorflow/models/tree/archive/research/deep_contextual_bandits",
        licence="none stated for the data",
        citation=RIQUELME,
        files=(
            DataFile(
                "raw_stock_contexts",
                "cf468e5aae150dfd5c6b096464cd11e85f8b01198f8e49bedb941948850a6315",
                layout="stock text",
                url=f"{BUCKET}/raw_stock_contexts",
            ),
            DataFile(
                "stock.csv.gz", "a6b35ddc904c6d3ed3c1a5f1aba28ffe02d55690f27e4c422ff6c5b77e8ce591"
            ),
        ),
        paper=InPaper("Financial", 3713, 21),
        note="Contexts only: the bandit draws the 8 portfolios that are its arms.",
    ),
)

PARTS = (
    DatasetInfo(
        name="song_8k",
        title="8162 rows of song",
        task="regression",
        rows=8162,
        features=90,
        target="year",
        target_label="year of release",
        limits=(1922.0, 2011.0),
        source=UCI,
        url="https://doi.org/10.24432/C50K61",
        licence=CC_BY,
        citation=TO_FETCH[0].citation,
        files=(
            DataFile(
                "song_8k.csv.gz",
                "34a255aa2251ce4f04be6c418b5e2b890003e9f5b4a282b4a722cb7265ef9aed",
                caveat="8162 of the 515,345 rows of song",
            ),
        ),
        changes="8162 of 515,345 rows: the first 1176, and a uniform sample of the training part",
        note="A part of song; results on it are results on song (8k), not on song.",
        part_of="song",
        label="song (8k)",
    ),
    DatasetInfo(
        name="ctslice_757",
        title="757 rows of ct_slices, from 50 patients",
        task="ood",
        rows=757,
        features=384,
        target="reference",
        target_label="position along the body (0-180)",
        limits=(0.0, 180.0),
        source=UCI,
        url="https://doi.org/10.24432/C5CP6G",
        licence=CC_BY,
        citation=TO_FETCH[1].citation,
        files=(
            DataFile(
                "ctslice_757.csv.gz",
                "92318798519a506a85d2febcf67e6a9eb5855385423c09e6692da71ba1695a8b",
                layout="ct",
                caveat="757 of the 53,500 rows of ct slices",
            ),
        ),
        changes="757 of 53,500 rows; the patient's number, which is no feature, left out",
        note="A part of ct_slices; results on it are results on ct slices (757), not on ct slices.",
        part_of="ct_slices",
        label="ct slices (757)",
    ),
)
