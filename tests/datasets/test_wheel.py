"""The bundled files travel with the package."""

import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from vst.datasets.catalogue import WHOLE_SETS

ROOT = Path(__file__).parents[2]


def test_a_wheel_holds_every_bundled_file_where_it_is_looked_for(tmp_path):
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        for info in WHOLE_SETS:
            if info.bundled:
                (name,) = (file.name for file in info.files)
                there = archive.read(f"vst/_bundled/{name}")
                assert there == (ROOT / "data" / name).read_bytes()
