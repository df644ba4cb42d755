"""The ten data sets that come with the package: nine for regression, and the mushroom bandit's."""

from vst.datasets.catalogue.info import CC_BY, UCI, DataFile, DatasetInfo, InPaper, Package

HEADER = "column names added"


def _uqregressors(member: str) -> Package:
    return Package("uqregressors", "1.0.13", "MIT", f"examples/datasets/{member}")


BUNDLED = (
    DatasetInfo(
        name="boston",
        title="median home values of Boston's census tracts, 1970",
        task="regression",
        rows=506,
        features=13,
        target="MEDV",
        target_label="home value (1000 US $)",
        limits=(5.0, 50.0),
        source="StatLib, Carnegie Mellon University",
        url="https://lib.stat.cmu.edu/datasets/boston",
        licence="none stated; public since 1978",
        citation=(
            "Harrison and Rubinfeld (1978). Hedonic housing prices and the demand for clean air. "
            "Journal of Environmental Economics and Management 5, 81-102."
        ),
        files=(
            DataFile(
                "boston.csv", "2e9ed5fb7666cd29a47dd3c87ea1c5bea2390b2dd12caa21a46d6ff6447b0233"
            ),
        ),
        paper=InPaper("Boston", 506, 13),
        package=Package(
            "mlxtend", "0.25.0", "BSD-3-Clause", "mlxtend/data/data/boston_housing.csv"
        ),
        changes=f"{HEADER}; 115 numbers differ in their 16th digit, by a parser's rounding",
        note=(
            "Contested. The column B is 1000 (Bk - 0.63)^2, where Bk is the share of Black "
            "residents of a town: it builds a model of racial segregation as a price factor into "
            "the data, cannot be undone (two shares give one B), and led scikit-learn to remove "
            "the data set in version 1.2. It is here because the paper reports it, and should be "
            "used for nothing but comparison with it."
        ),
    ),
    DatasetInfo(
        name="naval",
        title="compressor decay of a simulated frigate's gas turbine",
        task="regression",
        rows=11934,
        features=16,
        target="gt_compressor_decay",
        target_label="compressor decay coefficient",
        limits=(0.95, 1.0),
        source=UCI,
        url="https://doi.org/10.24432/C5K31K",
        licence=CC_BY,
        citation=(
            "Coraddu, Oneto, Ghio, Savio, Anguita and Figari (2016). Machine learning approaches "
            "for improving condition-based maintenance of naval propulsion plants. Journal of "
            "Engineering for the Maritime Environment 230, 136-153."
        ),
        files=(
            DataFile(
                "naval.csv.gz", "93a397b22e0a594d41d1204b1e2a2d15e4769f6f4c1a651e3c7913e89b7dfdc3"
            ),
        ),
        paper=InPaper("Naval", 11934, 16),
        package=_uqregressors("naval_propulsion.txt"),
        changes=(
            f"{HEADER}; target rebuilt: the package keeps only the turbine's decay, but rows "
            "follow the simulator's grid of 51 compressor levels x 26 turbine levels x 9 speeds, "
            "so the compressor's decay is 0.95 + 0.001 (row // 234)"
        ),
        note="Two features are constant: the compressor's inlet temperature and inlet pressure.",
    ),
    DatasetInfo(
        name="power",
        title="hourly output of a combined cycle power plant",
        task="regression",
        rows=9568,
        features=4,
        target="PE",
        target_label="power output (MW)",
        limits=(420.26, 495.76),
        source=UCI,
        url="https://doi.org/10.24432/C5002N",
        licence=CC_BY,
        citation=(
            "Tüfekci (2014). Prediction of full load electrical power output of a base load "
            "operated combined cycle power plant using machine learning methods. International "
            "Journal of Electrical Power and Energy Systems 60, 126-140."
        ),
        files=(
            DataFile(
                "power.csv", "3c1fc11025f8424f8d95802d8b7086dffd3f73a552c6dcab3d973620986194b2"
            ),
        ),
        paper=InPaper("Power", 9568, 4),
        package=_uqregressors("power_plant.xlsx"),
        changes="first of the workbook's five sheets, which hold the same rows in five orders",
    ),
    DatasetInfo(
        name="protein",
        title="error of predicted protein structures (CASP 5-9)",
        task="regression",
        rows=45730,
        features=9,
        target="RMSD",
        target_label="RMSD (Å)",
        limits=(0.0, 20.999),
        source=UCI,
        url="https://doi.org/10.24432/C5QW3H",
        licence=CC_BY,
        citation=(
            "Rana (2013). Physicochemical properties of protein tertiary structure. UCI Machine "
            "Learning Repository."
        ),
        files=(
            DataFile(
                "protein.csv.gz", "bd880c3331cfce01785c6d2803a0bcb1da2f123fb224ab07053932dc848d6c2f"
            ),
        ),
        paper=InPaper("Protein", 45730, 9),
        package=_uqregressors("protein_structure.csv"),
        changes=(
            "features are the package's z-scores, to 7 digits (harmless: every model here "
            "standardises them anyway); the package divides the target by its mean, which is "
            "undone and rounded to the original's 3 decimals"
        ),
    ),
    DatasetInfo(
        name="yacht",
        title="residuary resistance of sailing yachts",
        task="regression",
        rows=308,
        features=6,
        target="residuary_resistance",
        target_label="resistance per unit of displacement",
        limits=(0.01, 62.42),
        source=UCI,
        url="https://doi.org/10.24432/C5XG7R",
        licence=CC_BY,
        citation=(
            "Gerritsma, Onnink and Versluis (1981). Geometry, resistance and stability of the "
            "Delft systematic yacht hull series. International Shipbuilding Progress 28, 276-297."
        ),
        files=(
            DataFile(
                "yacht.csv", "1d30de284ae234ebc0e9d5e8a62e04acaf61cce12e4545ecd9d18565e513983e"
            ),
        ),
        paper=InPaper("Yacht", 308, 6),
        package=_uqregressors("yacht_hydrodynamics.txt"),
        changes=HEADER,
    ),
    DatasetInfo(
        name="concrete",
        title="compressive strength of concrete",
        task="regression",
        rows=1030,
        features=8,
        target="compressive_strength",
        target_label="compressive strength (MPa)",
        limits=(2.331807832, 82.5992248),
        source=UCI,
        url="https://doi.org/10.24432/C5PK67",
        licence=CC_BY,
        citation=(
            "Yeh (1998). Modeling of strength of high-performance concrete using artificial "
            "neural networks. Cement and Concrete Research 28, 1797-1808."
        ),
        files=(
            DataFile(
                "concrete.csv", "88a4b0f41e03d278fe2ca562778fbb5dd051b0113d70ed98ca4b6853d62e54e8"
            ),
        ),
        paper=InPaper("Concrete", 1030, 8),
        package=_uqregressors("concrete.xls"),
        changes="short column names; numbers to 10 digits",
    ),
    DatasetInfo(
        name="energy",
        title="heating load of simulated buildings",
        task="regression",
        rows=768,
        features=8,
        target="heating_load",
        target_label="heating load (kWh/m²)",
        limits=(6.01, 43.1),
        source=UCI,
        url="https://doi.org/10.24432/C51307",
        licence=CC_BY,
        citation=(
            "Tsanas and Xifara (2012). Accurate quantitative estimation of energy performance of "
            "residential buildings using statistical machine learning tools. Energy and Buildings "
            "49, 560-567."
        ),
        files=(
            DataFile(
                "energy.csv", "15bcfc654b7c5067945efd970686188be630281161a62743eb986ff86ff998e8"
            ),
        ),
        paper=InPaper("Energy", 768, 8),
        package=_uqregressors("energy_efficiency.xlsx"),
        changes="short column names; the second target, cooling load, left out",
    ),
    DatasetInfo(
        name="kin8nm",
        title="forward kinematics of an 8-link robot arm",
        task="regression",
        rows=8192,
        features=8,
        target="y",
        target_label="distance of the hand from a target",
        limits=(0.040165378, 1.4585206),
        source="DELVE, University of Toronto",
        url="https://www.cs.toronto.edu/~delve/data/kin/desc.html",
        licence="none stated; public since 1996",
        citation=(
            "Rasmussen, Neal, Hinton, van Camp, Revow, Ghahramani, Kustra and Tibshirani (1996). "
            "The DELVE manual. University of Toronto."
        ),
        files=(
            DataFile(
                "kin8nm.csv.gz", "0bfc160393b078105a841ad00b321b03d5799b7600ec1b5a4f774ed93761bf40"
            ),
        ),
        paper=InPaper("Kin8nm", 8192, 8),
        package=_uqregressors("kin8nm.arff"),
        changes="ARFF to CSV",
    ),
    DatasetInfo(
        name="wine",
        title="taste scores of red vinho verde",
        task="regression",
        rows=1599,
        features=11,
        target="quality",
        target_label="taste score (0-10)",
        limits=(3.0, 8.0),
        source=UCI,
        url="https://doi.org/10.24432/C56S3T",
        licence=CC_BY,
        citation=(
            "Cortez, Cerdeira, Almeida, Matos and Reis (2009). Modeling wine preferences by data "
            "mining from physicochemical properties. Decision Support Systems 47, 547-553."
        ),
        files=(
            DataFile(
                "wine.csv", "0a217383ca4f6abe5f4df1bfa741de54979537957374d8a4c0b44960db1be840"
            ),
        ),
        paper=InPaper("Wine", 1599, 11),
        package=_uqregressors("winequality-red.csv"),
        changes="semicolons to commas; column names without spaces",
        note=(
            "The target takes six values only: a model of densities can narrow around them and "
            "earn an arbitrarily high log-likelihood."
        ),
    ),
    DatasetInfo(
        name="mushroom",
        title="edible and poisonous mushrooms, contexts of the mushroom bandit",
        task="bandit",
        rows=8124,
        features=22,
        target="class",
        target_label="class (e edible, p poisonous)",
        limits=None,
        source=UCI,
        url="https://doi.org/10.24432/C5959T",
        licence=CC_BY,
        citation=(
            "Schlimmer (1987). Mushroom. UCI Machine Learning Repository; drawn from Lincoff "
            "(1981), The Audubon Society field guide to North American mushrooms."
        ),
        files=(
            DataFile(
                "mushroom.csv",
                "3730c299b51ce21faf014b4302b195463b88c2465ac7a34f903915e42a24873f",
                layout="categories",
            ),
        ),
        paper=InPaper("Mushroom", 7310, 22),
        package=Package("wittgenstein", "0.3.4", "MIT", "tests/mushroom.csv"),
        changes="UCI's column names; the class moved from the first column to the last",
        note=(
            "The paper says 7310 samples; UCI's file has 8124. All features are categories, and "
            "'?' in stalk-root is UCI's mark for 'missing', kept as a category."
        ),
    ),
)
