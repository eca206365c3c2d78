"""Further real tables, for the protocol ``folds``: files of a folder, with columns of any kind.

``tabular/`` holds tables with a header whose last column, ``target``, is 1 for the minority;
``keel/`` likewise;
``mixed/`` holds Adult and Bank Marketing as UCI gives them, where ``?`` is a missing cell. All
files may be packed (``.gz``). Their contents are compared with the checksums of those that the
published results were made from.
"""

import gzip
import hashlib
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from mgvae.errors import DataError
from mgvae.experiments.tables import LabelledTable
from mgvae_paper.sources import ENVIRONMENT, read_source

__all__ = ["KEEL_TABLES", "REAL_TABLES", "read_labelled_table"]

_TABULAR = {
    "abalone": "e2ed673ad8cafa2f",
    "adbench_annthyroid": "172305a965e84564",
    "adbench_cardio": "e4c1e74d328c48a4",
    "adbench_internetads": "f72d12ec846ec4c7",
    "adbench_pageblocks": "25bda5523ba467a1",
    "adbench_wilt": "dc209a46a3ac6bc0",
    "car_eval_34": "e711187def5f2488",
    "car_eval_4": "062d7ac51500bd91",
    "cm1": "e92ac02226efd0cd",
    "ecoli": "1040557158571549",
    "hiva": "80032c6a2f5ca9e2",
    "hypothyroid": "de483cd938155f54",
    "kc1": "7b642810377021df",
    "letter_img": "99713e45b0c5b350",
    "libras_move": "45a4201ab016b41a",
    "optical_digits": "c9a193fb8958726a",
    "pc1": "676e1e4532558a05",
    "pen_digits": "d5726851be7f840e",
    "sylva": "67353c9908db420f",
    "thyroid_sick_train": "23c882b88dd49c5d",
    "wine_quality": "1fbeb795442621e5",
}
_KEEL = {
    "abalone-17_vs_7-8-9-10": "30e4cfd8bd032cce",
    "abalone19": "31eb2e4361bcd31f",
    "abalone9-18": "0cfb28e52a935178",
    "car-good": "0d573c3e014fbb30",
    "cleveland-0_vs_4": "014e2363113581e0",
    "ecoli-0-1-4-7_vs_2-3-5-6": "cb7376e63f28d92b",
    "ecoli1": "94ba371d3b68c653",
    "ecoli3": "6444e19d775c7378",
    "flare-F": "8babfd9be7b826b7",
    "glass1": "5e39db64a22f5abb",
    "glass2": "a9c333fc0473bb89",
    "glass6": "818a1b9e0e67dd86",
    "haberman": "9f69fdb1ffd2d0b3",
    "kr-vs-k-zero_vs_eight": "69ebcbcb15be508a",
    "led7digit-0-2-4-5-6-7-8-9_vs_1": "77028749544a7b69",
    "page-blocks0": "79653ade5372fbd9",
    "pima": "d978d90958cbc1cc",
    "poker-8-9_vs_5": "67aa933f7182558c",
    "vehicle1": "c40e98ec30b855ab",
    "vehicle3": "ad6c470b4d99bca8",
    "vowel0": "e7c2e6dcd172048d",
    "winequality-red-4": "d132dce9d7fb2665",
    "winequality-red-8_vs_6-7": "c5917602ebabde1d",
    "winequality-white-3-9_vs_5": "87e1cd548816cd79",
    "wisconsin": "949e563b12f32424",
    "yeast-0-5-6-7-9_vs_4": "07760524632a79d8",
    "yeast-1_vs_7": "fbb809a4d62f82a0",
    "yeast1": "1d0f497c0df550f9",
    "yeast3": "1a2d94607879fe5d",
    "yeast4": "8c922a4939a21207",
    "yeast6": "dfb679bc88821ce2",
}
_MIXED = {
    "adult": (("adult.data", "5b00264637dbfec3"), ("adult.test", "72567b94f5c1a6f8")),
    "bank": (("bank-full.csv", "d1513ec63b385506"),),
}
_ADULT = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
)  # fmt: skip

REAL_TABLES = (*_TABULAR, *_MIXED)
"""The tables by name."""

KEEL_TABLES = tuple(_KEEL)
"""The tables of KEEL by name: small and hard, free for design."""


def read_labelled_table(family: str, folder: str | Path | None = None) -> LabelledTable:
    """Read a table with two classes.

    Parameters
    ----------
    family : str
        One of :data:`REAL_TABLES` or :data:`KEEL_TABLES`, or a table that
        :func:`mgvae_paper.sources.read_source` knows.
    folder : path, optional
        Where the data sets are; by default the folder that the variable ``MGVAE_DATA`` names.

    Raises
    ------
    mgvae.errors.DataError
        If the data are not there, or are not those of the published results.

    Examples
    --------
    >>> read_labelled_table("abalone", "no/such/folder")
    Traceback (most recent call last):
    ...
    mgvae.errors.DataError: The data set 'abalone' is not at hand: put tabular/abalone.csv...
    """
    if family not in (*REAL_TABLES, *KEEL_TABLES):
        source = read_source(family, folder)
        return LabelledTable(source.X, source.y, source.groups)
    root = folder or os.environ.get(ENVIRONMENT)
    if family in _TABULAR:
        table = _read(family, root, f"tabular/{family}.csv", _TABULAR[family])
        return _labelled(table, "target", 1)
    if family in _KEEL:
        return _labelled(_read(family, root, f"keel/{family}.csv", _KEEL[family]), "target", 1)
    texts = [(f"mixed/{name}", sha256) for name, sha256 in _MIXED[family]]
    if family == "bank":
        return _labelled(_read(family, root, *texts[0], delimiter=";"), "y", "yes")

    parts = [_read(family, root, *text, delimiter=",", names=_ADULT) for text in texts]
    table = pa.concat_tables(parts)
    income = np.char.rstrip(np.asarray(table["income"].to_pylist()), ".")  # a dot ends test rows
    return LabelledTable(table.drop_columns(["income"]), (income == ">50K").astype(np.int64))


def _read(
    family: str,
    root: str | Path | None,
    name: str,
    sha256: str,
    *,
    delimiter: str = ",",
    names: Sequence[str] | None = None,
) -> Any:
    """Read a delimited file, missing cells empty or ``?``."""
    places = [] if root is None else [Path(root) / f"{name}.gz", Path(root) / name]
    path = next((place for place in places if place.exists()), None)
    if path is None:
        raise DataError(
            f"The data set {family!r} is not at hand: put {name} (or {name}.gz) into a folder and "
            f"say --data FOLDER (or set {ENVIRONMENT}=FOLDER)."
        )
    content = path.read_bytes()
    try:
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError) as error:
        raise DataError(f"{path} is damaged: {error}.") from error
    if not hashlib.sha256(content).hexdigest().startswith(sha256):
        raise DataError(
            f"{path} is not the file that the published results are made from: its checksum "
            "differs. Look for another copy, and name its folder with --data."
        )
    return csv.read_csv(
        io.BytesIO(content.replace(b", ", b",")),
        csv.ReadOptions(column_names=names),
        csv.ParseOptions(delimiter=delimiter),
        csv.ConvertOptions(null_values=["", "?"], strings_can_be_null=True),
    )


def _labelled(table: Any, target: str, minority: Any) -> LabelledTable:
    labels = np.asarray(table[target].to_pylist())
    return LabelledTable(table.drop_columns([target]), (labels == minority).astype(np.int64))
