"""The settings that a sampler was fitted with, every ``"auto"`` replaced by what it stood for."""

from dataclasses import fields
from typing import Any

from mgvae.common.runtime import resolve_device
from mgvae.networks import is_small

__all__ = ["resolved_settings"]


def resolved_settings(sampler: Any) -> dict[str, Any]:
    """Return the parameters of a sampler as plain data.

    Parameters
    ----------
    sampler : object or None
        Any over-sampler. Of a fitted sampler of this package every ``"auto"`` is replaced.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from mgvae import MGVAE
    >>> X, y = make_classification(200, 4, n_redundant=0, weights=[0.8], random_state=0)
    >>> sampler = MGVAE(pretrain_steps=5, finetune_steps=5, random_state=0, device="cpu").fit(X, y)
    >>> found = resolved_settings(sampler)
    >>> found["generation"], found["network"], found["constraints"]
    ('bridge', 'mlp', 'none found')
    >>> found["sampling_strategy"], (y == 0).sum()
    ("{'1': 157}", np.int64(157))
    >>> "auto" in found.values()
    False
    """
    if sampler is None:
        return {}
    settings = dict(sampler.get_params(deep=False))
    if hasattr(sampler, "state_"):
        settings |= _found(sampler, settings)
    return {
        k: v if isinstance(v, str | int | float | None) else str(v) for k, v in settings.items()
    }


def _found(sampler: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return what a fitted sampler used where it was not told."""
    state = sampler.state_
    settings = state.method.settings
    method = {one.name: getattr(settings, one.name) for one in fields(settings)}
    found = {name: value for name, value in method.items() if name in given}
    found["device"] = str(resolve_device(sampler.device))
    if found.get("network") == "auto":
        found["network"] = "mlp" if is_small(state.samples.shape) else state.method.convolutions
    rates = [method.get(f"{stage}_learning_rate") for stage in ("pretrain", "finetune")]
    if "learning_rate" in given and None not in rates:
        found["learning_rate"] = str(tuple(rates))
    weights = getattr(sampler, "ewc_weights_", None)
    if weights:
        found["ewc_weight"] = ", ".join(
            f"{weight:g} for class {name}" for name, weight in weights.items()
        )
    if isinstance(given["sampling_strategy"], str):
        had = {str(label): n for label, n in zip(state.classes, state.counts, strict=True)}
        new = {str(label): int(n) for label, n in sampler.sampling_strategy_.items()}
        found["sampling_strategy"] = str({name: had[name] + n for name, n in new.items() if n})
    if given.get("constraints") == "auto":
        texts = [relation.text for relation in getattr(sampler.codec_, "relations", ())]
        found["constraints"] = "; ".join(texts) or "none found"
    return found
