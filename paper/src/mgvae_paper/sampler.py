"""The samplers of cells; nothing else here knows their insides.

Trainings that many cells share are kept on disk.

The cells of one MGVAE differ in what comes after pre-training: the EWC weight, the imbalance ratio,
the seed. A pre-trained model is kept in a file named by a hash of all that it depends on: the
settings, the seeds, and the majority's rows as the network saw them. One that is cut off goes on
where it was a minute before. A fine-tuning leaves its model
for cells whose classifiers alone differ; at a constant learning rate, where a short training is the
beginning of a long one, also at each quarter of its length, for cells that take fewer steps.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from mgvae import CGAN, CVAE, MGVAE, __version__
from mgvae.common.atomic import atomic_write
from mgvae.common.locks import alone
from mgvae.common.runtime import build, torch_generator
from mgvae.methods.method import Job
from mgvae.methods.mgvae.classes import Pretrained
from mgvae.methods.mgvae.method import MajorityGuided
from mgvae.methods.mgvae.settings import MGVAESettings
from mgvae.methods.mgvae.together import Models
from mgvae.methods.settings import as_plain, count_steps
from mgvae.training import History
from mgvae.training.checkpoints import StageFile, Stateful
from mgvae_paper.machine import as_json, plain_settings
from mgvae_paper.methods import find_class

__all__ = [
    "AFTERWARDS",
    "Generative",
    "SharedMGVAE",
    "hash_of",
    "is_generative",
    "make_sampler",
    "pretraining_seconds",
    "share_pretraining",
    "used_settings",
]

Generative = MGVAE | CVAE | CGAN
"""The samplers of the library."""

AFTERWARDS = tuple(f.name for f in fields(MGVAESettings) if f.metadata["decides"] != "pre-training")
"""Settings that fine-tuning and generation use alone: one pre-training serves all values."""

_QUARTERS = 4  # of a fine-tuning, after each of which its model is kept
_MINUTE = 60.0  # seconds between two states of a pre-training


def make_sampler(parameters: Mapping[str, Any], seed: int) -> Any:
    """Make the sampler of a cell, which shares nothing with others.

    Parameters
    ----------
    parameters : mapping
        ``sampler`` and ``settings`` of a cell. Settings of an MGVAE that are no parameters of its
        constructor, such as the prior, are its expert settings.
    seed : int
        Decides all of the sampler's randomness.

    Examples
    --------
    >>> settings = {"preset": "paper-tables", "latent_size": 5}
    >>> make_sampler({"sampler": "mgvae:MGVAE", "settings": settings}, 0).latent_size
    5
    """
    sampler_class = find_class(parameters["sampler"])
    given = dict(parameters.get("settings", {}))
    known = signature(sampler_class).parameters
    if "random_state" in known:
        given["random_state"] = seed
    if issubclass(sampler_class, CVAE):  # a cell that does not say is as published
        given.setdefault("balanced", False)
    if issubclass(sampler_class, CGAN):
        given.setdefault("recipe", "paper")
    if not issubclass(sampler_class, MGVAE):
        return sampler_class(**given)
    given.setdefault("augment", None)  # as all results before there was such a setting
    if "preset" in given:
        given["recipe"] = given.pop("preset")
    if "likelihood" in given:
        likelihood = given.pop("likelihood")
        given |= {"table_likelihood": likelihood, "image_likelihood": likelihood}
    if given.get("prior") == "standard":  # which has no exemplars to draw near
        given.setdefault("generation", "translate")
    sampler = sampler_class(**{name: value for name, value in given.items() if name in known})
    sampler.expert_settings = {k: v for k, v in given.items() if k not in known}
    return sampler


def share_pretraining(sampler: Any, parameters: Mapping[str, Any], cache: Path) -> Any:
    """Let an MGVAE share its pre-training with other cells; return any other sampler as it is.

    Parameters
    ----------
    sampler : sampler
        From :func:`make_sampler`.
    parameters : mapping
        Those of its cell, which may have a ``pretrain_seed``.
    cache : path
        Where pre-trained models are kept.
    """
    if not isinstance(sampler, MGVAE):
        return sampler
    shared = SharedMGVAE(**sampler.get_params())
    shared.expert_settings = sampler.expert_settings
    shared.cache, shared.pretrain_seed = cache, parameters.get("pretrain_seed")
    return shared


def is_generative(sampler: Any) -> TypeGuard[Generative]:
    """Return whether a sampler is one of the library's, which take tables and images."""
    return isinstance(sampler, Generative)


def used_settings(sampler: Any) -> dict[str, Any]:
    """Return the settings that a fitted sampler has used, as JSON can hold them."""
    if not is_generative(sampler):
        return plain_settings(sampler)
    codec = {k: v for k, v in sampler.codec_options()._asdict().items() if v is not None}
    return as_json({**codec, **as_plain(sampler.state_.method.settings)})


def pretraining_seconds(sampler: Generative) -> float | None:
    """Return how long the pre-training took, be it long ago for another cell; None without one."""
    first = sampler.history_.get("pre-training")
    return None if first is None else first.seconds


class SharedMGVAE(MGVAE):
    """An MGVAE that looks for its pre-training in a folder before it does one.

    Attributes
    ----------
    cache : path
        The folder; to be set before fitting.
    pretrain_seed : int or None
        Decides the pre-training in place of ``random_state``, so that several seeds share it.
    """

    cache: Path
    pretrain_seed: int | None = None

    def method_of(self, settings: Mapping[str, Any]) -> MajorityGuided:
        """Return what learns with given settings, from a pre-training that is there already."""
        found = super().method_of(settings).settings
        return SharedPretraining(found, self.cache, self.pretrain_seed)


@dataclass(frozen=True)
class SharedPretraining(MajorityGuided):
    """A majority-guided VAE whose pre-training and fine-tunings are kept in a folder."""

    cache: Path
    pretrain_seed: int | None = None

    def learn_models(self, job: Job, seeds: Sequence[np.random.SeedSequence]) -> Models:
        """Learn the majority, then every minority class, as far as they have not been before."""
        if self.settings.ewc_weight != "auto" and self.settings.pretrain_steps != 0:
            job = _SharedJob(**vars(job), kept=self._kept(job, seeds))
        return super().learn_models(job, seeds)

    def _kept(self, job: Job, seeds: Sequence[np.random.SeedSequence]) -> dict[str, StageFile]:
        """Return where the models of each class's fine-tuning are kept."""
        *for_pretraining, for_classes = seeds
        settings = self.settings
        begins_alike = settings.schedule == "constant" and not settings.early_stopping
        pretrained = self._key(job, self._seeds(for_pretraining))
        decisive = as_plain(settings, ["fine-tuning"])
        if begins_alike:
            del decisive["finetune_steps"]
        root = [str(for_classes.entropy), list(for_classes.spawn_key)]
        files: dict[str, StageFile] = {}
        for code, members in enumerate(job.members):
            key = hash_of([pretrained, decisive, root, code], job.rows.take(members).numpy())
            count = count_steps(settings.finetune_steps, len(members), settings.batch_size)
            parts = _QUARTERS if begins_alike else 1
            files[f"class-{code}"] = _Parts(self.cache / "tuned" / key, count, parts)
        return files

    def _seeds(self, seeds: Sequence[np.random.SeedSequence]) -> Sequence[np.random.SeedSequence]:
        if self.pretrain_seed is None:
            return seeds
        return np.random.SeedSequence(self.pretrain_seed).spawn(len(seeds))

    def pretrain(self, job: Job, seeds: Sequence[np.random.SeedSequence]) -> Pretrained:
        """Read the majority's model, or learn it and keep it."""
        if self.settings.pretrain_steps == 0:
            return super().pretrain(job, seeds)
        seeds = self._seeds(seeds)
        path = self.cache / "pretrained" / f"{self._key(job, seeds)}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        with alone(path.with_suffix(".lock")):
            if path.exists():
                pretrained = self._read(path, job, seeds)
            else:  # any weight but 0: others will want the importance of the weights
                teacher = replace(self, settings=replace(self.settings, ewc_weight=1.0))
                under_way = StageFile(path.with_suffix(".state"), path.stem, _MINUTE)
                state = _SharedJob(**{**vars(job), "kept": {"pre-training": under_way}})
                pretrained = MajorityGuided.pretrain(teacher, state, seeds)
                _write(path, pretrained)
                under_way.path.unlink(missing_ok=True)
        wanted = self.settings.ewc_weight == "auto" or self.settings.ewc_weight > 0
        return pretrained if wanted else pretrained._replace(fisher=None)

    def _key(self, job: Job, seeds: Sequence[np.random.SeedSequence]) -> str:
        settings = as_plain(self.settings, ["pre-training"])
        roots = [[str(seed.entropy), list(seed.spawn_key)] for seed in seeds]
        majority = job.rows.take(job.majority).numpy()
        spans = [repr(span) for span in job.layout.spans]
        content = [__version__, settings, roots, spans, majority.shape]
        return hash_of(content, majority)

    def _read(self, path: Path, job: Job, seeds: Sequence[np.random.SeedSequence]) -> Pretrained:
        vae = build(lambda: self.model(job.layout), torch_generator(seeds[0])).to(job.device)
        parts: dict[str, dict[str, Tensor]] = {"weights": {}, "fisher": {}}
        with safe_open(path, framework="pt", device=str(job.device)) as file:
            seconds = float(file.metadata()["seconds"])
            for name in file.keys():  # noqa: SIM118 (not a mapping)
                part, _, parameter = name.partition("/")
                parts[part][parameter] = file.get_tensor(name)
        vae.load_state_dict(parts["weights"])
        return Pretrained(vae, parts["fisher"], [History("pre-training", seconds=seconds)])


@dataclass(frozen=True)
class _SharedJob(Job):
    """A job that keeps models of fine-tunings, or a pre-training, by the names of the stages."""

    kept: Mapping[str, StageFile] = field(default_factory=dict)

    def file(self, name: str) -> StageFile | None:
        """Return what keeps the models of a class; other stages keep nothing."""
        return self.kept.get(name)


class _Parts(StageFile):
    """The model of a class after each part of its fine-tuning; its state is not resumed."""

    def __init__(self, folder: Path, steps: int, parts: int) -> None:
        self.folder = folder
        self.steps = steps
        self.parts = parts
        self.done = 0

    def __enter__(self) -> "_Parts":
        self.done = 0
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind."""

    def due(self) -> bool:
        self.done += 1
        return self.done < self.steps and self.done * self.parts % self.steps == 0

    def save(self, done: int, parts: Sequence[Stateful]) -> None:
        self._write_model(done, parts)

    def finish(self, parts: Sequence[Stateful]) -> None:
        self._write_model(self.steps, parts)

    def resume(self, parts: Sequence[Stateful]) -> int:  # noqa: ARG002
        return 0

    def finished(self, parts: Sequence[Stateful]) -> bool:
        path = self._path(self.steps)
        if not path.exists():
            return False
        self._model(parts).load_state_dict(load_file(path))
        return True

    def _path(self, steps: int) -> Path:
        return self.folder / f"{steps}.safetensors"

    def _model(self, parts: Sequence[Stateful]) -> nn.Module:
        (model,) = (part for part in parts if isinstance(part, nn.Module))
        return model

    def _write_model(self, steps: int, parts: Sequence[Stateful]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        tensors = {k: v.contiguous() for k, v in self._model(parts).state_dict().items()}
        with atomic_write(self._path(steps)) as file:
            file.write(save(tensors))


def hash_of(content: Any, *arrays: NDArray[Any]) -> str:
    """Return a hash of plain data and arrays, to name a file in the cache.

    Examples
    --------
    >>> hash_of({"a": 1}, np.zeros(2)) == hash_of({"a": 1}, np.zeros(2))
    True
    """
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:24]


def _write(path: Path, pretrained: Pretrained) -> None:
    tensors = {f"weights/{k}": v for k, v in pretrained.vae.state_dict().items()}
    tensors |= {f"fisher/{k}": v for k, v in (pretrained.fisher or {}).items()}
    seconds = sum(history.seconds for history in pretrained.history)
    with atomic_write(path) as file:
        file.write(save({k: v.contiguous() for k, v in tensors.items()}, {"seconds": str(seconds)}))
