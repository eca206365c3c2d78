"""Algorithm 2 of the paper as a whole, and what each class then generates with.

1. learn the majority (:func:`mgvae.methods.mgvae.learning.pretrain`), once;
2. estimate the importance of the weights, once;
3. for each minority class, fine-tune a copy (:mod:`mgvae.methods.mgvae.classes`);
4. collect what its rows are made from (:mod:`mgvae.methods.mgvae.generators`): Algorithm 1, or a
   bridge.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from mgvae.augment import read_geometry
from mgvae.common.runtime import build, torch_generator
from mgvae.methods.method import DataLayout, Job, Learned, RowGenerator
from mgvae.methods.mgvae.bridge import Guides, build_bridge, choose_guides
from mgvae.methods.mgvae.classes import ClassWork, Pretrained, finetune_classes
from mgvae.methods.mgvae.generation import BLUR, blurred, latent_means, secret_seeds
from mgvae.methods.mgvae.generators import Crosser, Manner, Translator, revive_generator
from mgvae.methods.mgvae.learning import Augmented, fisher_of_generated, pretrain
from mgvae.methods.mgvae.settings import MGVAESettings
from mgvae.methods.mgvae.together import Models, learn_as_told
from mgvae.methods.settings import layer_sizes, make_stage
from mgvae.model.likelihood import Likelihood
from mgvae.model.vae import VAE
from mgvae.networks import choose_bodies

__all__ = ["MajorityGuided"]

_MOST_CENTRES = 2**18  # majority rows that are translated; of more, so many are drawn,
_MOST_ANCHORS = 2**16  # and likewise minority rows to start from
_MIXED = 4096  # majority rows that decide the noise on latent means


@dataclass(frozen=True)
class MajorityGuided:
    """The majority-guided VAE on encoded rows."""

    settings: MGVAESettings
    convolutions: ClassVar[str] = "cnn"

    def learn(self, job: Job) -> Learned:
        """Learn the majority and every minority class, and collect what they generate from."""
        *for_learning, for_bridges = job.seeds.spawn(5)
        found = learn_as_told(self.learn_models, job, for_learning)
        models = dict(zip(found.minorities, (tuned.vae for tuned in found.tuned), strict=True))
        weights = {
            job.layout.names[code]: tuned.ewc_weight
            for code, tuned in zip(found.minorities, found.tuned, strict=True)
        }
        if job.layout.majority in job.targets:
            models[job.layout.majority] = found.pretrained.vae
        branches = for_bridges.spawn(len(job.members))
        guides = None
        if self.settings.generation == "bridge" and found.minorities:
            guides = choose_guides(
                found.pretrained.vae, job.rows, job.majority, job.layout.spans, for_bridges
            )
        return Learned(
            generators={
                code: self.generator(model.requires_grad_(False), job, code, guides, branches[code])
                for code, model in models.items()
            },
            history=[*found.pretrained.history, *(tuned.history for tuned in found.tuned)],
            ewc_weights=weights,
        )

    def learn_models(self, job: Job, seeds: Sequence[np.random.SeedSequence]) -> Models:
        """Learn the majority, then every minority class from a copy of its model (Algorithm 2)."""
        settings = self.settings
        *for_pretraining, for_classes = seeds
        pretrained = self.pretrain(job, for_pretraining)
        branches = for_classes.spawn(len(job.members))
        minorities = [code for code in job.targets if code != job.layout.majority]
        works = []
        for code in minorities:
            rows = job.members[code]
            stage = make_stage(
                settings, settings.finetune_steps, settings.finetune_learning_rate, len(rows),
                n_exemplars=settings.n_exemplars, leave_one_out=settings.leave_one_out,
            )  # fmt: skip
            work = ClassWork(
                pretrained, job.rows, rows, job.majority, job.layout.names[code], branches[code],
                stage, settings, job.workers.n_threads, job.file(f"class-{code}"), job.team,
                self._augmented(job.layout),
            )  # fmt: skip
            works.append(work)
        n_jobs = 1 if job.team else job.workers.n_jobs
        return Models(pretrained, minorities, finetune_classes(works, n_jobs, job.callback))

    def pretrain(self, job: Job, seeds: Sequence[np.random.SeedSequence]) -> Pretrained:
        """Learn the majority, and how important each weight is to it."""
        settings = self.settings
        for_weights, for_training, for_fisher = seeds
        vae = build(lambda: self.model(job.layout), torch_generator(for_weights)).to(job.device)
        stage = make_stage(
            settings, settings.pretrain_steps, settings.pretrain_learning_rate, len(job.majority),
            n_exemplars=settings.n_exemplars, n_remembered=settings.n_remembered,
            leave_one_out=settings.leave_one_out,
        )  # fmt: skip
        if not stage.steps:
            return Pretrained(vae, None, [])
        history = pretrain(
            vae, job.rows, job.majority, stage, for_training,
            callback=job.callback, file=job.file("pre-training"), team=job.team,
        )  # fmt: skip

        def importance() -> dict[str, Tensor]:
            return fisher_of_generated(
                vae, job.rows, job.majority, settings.fisher_samples, settings.n_exemplars,
                for_fisher, job.team,
            )  # fmt: skip

        fisher = None
        if settings.ewc_weight == "auto" or settings.ewc_weight > 0:
            file = job.file("importance")
            fisher = importance() if file is None else file.once(importance, job.device)
        return Pretrained(vae, fisher, [history])

    def model(self, layout: DataLayout) -> VAE:
        """Lay out the VAE."""
        settings = self.settings
        bodies = choose_bodies(
            settings.network,
            layout.shape,
            settings.latent_size,
            hidden_sizes=layer_sizes(settings.hidden_sizes),
            width=settings.network_width,
            precision=settings.precision,
        )
        return VAE(
            bodies,
            Likelihood(layout.spans),
            settings.latent_size,
            settings.prior,
            settings.posterior_variance,
        )

    def generator(
        self, vae: VAE, job: Job, code: int, guides: Guides | None, seeds: np.random.SeedSequence
    ) -> RowGenerator:
        """Collect what a class's model generates from; the majority's own is only translated."""
        majority, minority = job.majority, job.members[code]
        rng = np.random.default_rng(seeds.spawn(1)[0])
        if len(minority) > _MOST_ANCHORS:
            minority = np.sort(rng.choice(minority, _MOST_ANCHORS, replace=False))
        if guides is not None and code != job.layout.majority:
            bridge = build_bridge(vae, job.rows, minority, guides, job.layout.spans)
            return Crosser(vae, bridge, minority, guides.positions, self._manner())
        if len(majority) > _MOST_CENTRES:
            majority = np.sort(rng.choice(majority, _MOST_CENTRES, replace=False))
        anchors = None
        for_centres, for_anchors = secret_seeds(seeds, job.rows.take(majority[:_MIXED])).spawn(2)
        if self.settings.generation == "responsibility" and code != job.layout.majority:
            anchors = blurred(vae, latent_means(vae, job.rows, minority), for_anchors)
        centres = latent_means(vae, job.rows, majority)
        if is_blurred := self.settings.temperature >= BLUR:
            centres = blurred(vae, centres, for_centres)
        return Translator(vae, centres, majority, anchors, self._manner(), is_blurred)

    def revive(
        self,
        layout: DataLayout,  # noqa: ARG002
        code: int,  # noqa: ARG002
        model: nn.Module,
        tensors: Mapping[str, Tensor],
    ) -> RowGenerator:
        """Undo :meth:`RowGenerator.stored` for a class."""
        if not isinstance(model, VAE):
            raise TypeError("an MGVAE generates with a VAE")
        return revive_generator(model, tensors, self._manner())

    def _augmented(self, layout: DataLayout) -> Augmented | None:
        """Return the changes of images in fine-tuning, if there are any."""
        geometry = read_geometry(self.settings.augment)
        return None if geometry is None else Augmented(geometry, layout.shape)

    def _manner(self) -> Manner:
        settings = self.settings
        return Manner(settings.temperature, settings.decoder_output, settings.rejection)
