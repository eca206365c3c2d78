"""Reading: what an ensemble is given, checked before anything is learned."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, has_fit_parameter

from mgvae.classifiers.bags import Positions
from mgvae.classifiers.members import ClassifiedRows
from mgvae.classifiers.priors import Floats, class_shares
from mgvae.errors import DataError, ParameterError
from mgvae.samplers import check_labels, count_missing

__all__ = ["read_rows", "weights_option"]


def read_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
) -> ClassifiedRows:
    """Return the rows that an ensemble is trained on, as it takes them.

    Parameters
    ----------
    estimator : classifier
        Whose copies are trained.
    X : array or table
        The rows.
    y : array-like of shape (n_samples,)
        Their classes.
    sample_weight, groups : array-like of shape (n_samples,), optional
        The weight and the group of each row.
    """
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None.")
    if sparse.issparse(X):
        X = X.tocsr()  # whose rows can be taken
    elif isinstance(X, dict):
        raise DataError("X must be an array or a table; got a dict. Make a DataFrame of it.")
    elif not hasattr(X, "__getitem__"):
        X = np.asarray(X)
    check_labels(y)
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        held = f"one class only ({classes[0]!s})" if len(classes) else "no label"
        raise DataError(
            f"y must hold two classes or more; it holds {held}. Check that y is the right column."
        )
    weight = None if sample_weight is None else _weights(estimator, sample_weight, len(y))
    priors = class_shares(codes, len(classes), weight)
    if not priors.all():
        raise DataError(
            "sample_weight must be greater than 0 for some row of every class; all weights of "
            f"class {classes[priors.argmin()]!s} are 0."
        )
    members = None if groups is None else _groups(groups, len(y))
    return ClassifiedRows(X, y, codes, classes, priors, weight, members)


def weights_option(estimator: Any) -> str | None:
    """Return the name by which ``fit`` takes weights of rows, None if it takes none.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weights_option(make_pipeline(StandardScaler(), LogisticRegression()))
    'logisticregression__sample_weight'
    >>> weights_option(KNeighborsClassifier())
    """
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if hasattr(estimator, "steps") and not get_config()["enable_metadata_routing"]:
        name, last = estimator.steps[-1]
        if has_fit_parameter(last, "sample_weight"):
            return f"{name}__sample_weight"
    return None


def _weights(estimator: Any, given: Any, n: int) -> Floats:
    if weights_option(estimator) is None:
        raise ParameterError(
            f"sample_weight: {type(estimator).__name__} takes no weights. Leave them out, or use "
            "an estimator whose fit takes sample_weight."
        )
    weight: Floats = _check_sample_weight(
        given, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True
    )
    return weight


def _groups(given: Any, n: int) -> Positions:
    missing = count_missing(np.asarray(given, dtype=object).ravel().tolist())
    if missing:
        raise DataError(
            f"groups has {missing} missing values, and a row without a group cannot be kept with "
            "its relatives. Give each such row a group of its own."
        )
    groups = column_or_1d(given)
    if len(groups) != n:
        raise DataError(
            f"groups must name a group for each row: X has {n} rows, groups has {len(groups)}."
        )
    members = np.unique(groups, return_inverse=True)[1]
    if members.max() == 0:
        raise DataError(
            f"groups must hold two groups or more; it holds one ({groups[0]!s}). Leave groups out."
        )
    return members
