"""Rows of the table that can be worked out from a model file: none but those that are told."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mgvae import CVAE, MGVAE
from mgvae.cli._run import run
from mgvae.codec import read_table
from mgvae.errors import DisclosureWarning, ParameterError
from mgvae.methods.mgvae.bridge import NEIGHBOURS, Sums, nearest
from mgvae.methods.mgvae.generation import blurred, secret_seeds

SCRIPTS = Path(__file__).parents[2] / "benchmarks"
TINY = {"hidden_sizes": (6,), "latent_size": 2, "random_state": 0}
SHORT = {"pretrain_steps": 60, "finetune_steps": 20}
FAST = {**TINY, "pretrain_steps": 3, "finetune_steps": 3}

pytestmark = pytest.mark.filterwarnings("ignore::mgvae.errors.DisclosureWarning")


def script(name):
    if not SCRIPTS.exists():
        pytest.skip("the benchmarks are not at hand")
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def recovery():
    return script("recover_rows")


@pytest.fixture(scope="module")
def categories():
    return script("recover_categories")


def beyond_chance(recovery, side):
    seen, unseen, size = side
    return recovery.beyond_chance(len(seen), len(unseen), size)


def rows_and_model(recovery, n=200):
    rng = np.random.default_rng(1)
    rows, others = recovery.independent(rng, 2 * n), 0.6 * recovery.independent(rng, 40)
    X, y = np.concatenate([rows[:n], others]), np.repeat([0, 1], [n, 40])
    return rows, X, MGVAE(random_state=0, pretrain_steps=100, finetune_steps=30).fit(X, y)


def test_exact_differences_would_give_the_rows_away(recovery):
    """The attack finds what it looks for: a bridge with plain differences loses most rows."""
    rows, X, sampler = rows_and_model(recovery)
    n = len(rows) // 2
    x, centres = encoded(sampler, rows[:n])
    near = nearest(centres, centres, NEIGHBOURS, same=True)
    guides = np.repeat(np.arange(n), NEIGHBOURS)
    holding(sampler, centres[guides], x[near.ravel()] - x[guides])
    majority, minority = recovery.candidates(sampler)
    deviation = X.std(0)
    assert len(recovery.recovered(rows[:n], majority, deviation)) > 0.8 * n
    assert len(recovery.recovered(rows[n:], majority, deviation)) < 0.02 * n
    assert len(recovery.recovered(X[n:], minority, deviation)) == 40


@pytest.mark.parametrize("shape", ["independent", "related"])
def test_rows_of_the_majority_are_not_recovered(shape, recovery):
    majority, minority = recovery.attack(recovery.TABLES[shape], 100, "bridge", 0)
    assert beyond_chance(recovery, majority) > 0.001
    assert len(minority[0]) == recovery.N_MINORITY  # as save and the documents say


def test_no_rows_are_recovered_without_them(recovery):
    for side in recovery.attack(recovery.related, 100, "bridge", 0, without_rows=True):
        assert beyond_chance(recovery, side) > 0.001


def test_rows_of_translations_are_not_recovered(recovery):
    for side in recovery.attack(recovery.related, 100, "translate", 0, without_rows=False):
        assert beyond_chance(recovery, side) > 0.001


@pytest.mark.parametrize(
    ("n", "columns", "n_sums"),
    [(30, 5, 6), pytest.param(80, 8, 10, marks=pytest.mark.long)],
    ids=["quick", "whole"],
)
def test_joint_sums_would_give_categories_away(n, columns, n_sums, categories):
    """The attack finds what it looks for: sums with the same weights for all columns."""
    rows, sampler = categories.fitted([8] * columns, n, 0)
    x, centres = encoded(sampler, rows[:n])
    near = nearest(centres, centres, n_sums, same=True)
    weights = torch.randn(n, n_sums, n_sums, generator=torch.Generator().manual_seed(0))
    sums = (weights @ (x[near] - x[:, None])).flatten(0, 1)
    holding(sampler, centres.repeat_interleave(n_sums, 0), sums)
    seen, unseen = categories.recovered([sampler], rows[:n], rows[n:])
    assert seen > 0.8 * n
    assert unseen < 0.1 * n


def test_several_files_with_sums_of_differences_would_give_categories_away(categories):
    """The attack finds what it looks for: a row's own levels, in sums of differences to it."""
    n, levels = 80, [8] * 6
    models = []
    for state in range(5):
        rows, sampler = categories.fitted(levels, n, 0, state, **SHORT)
        x, centres = encoded(sampler, rows[:n])
        near = nearest(centres, centres, NEIGHBOURS, same=True)
        generator = torch.Generator().manual_seed(state)
        weights = torch.randn(n, len(levels), NEIGHBOURS, generator=generator)
        apart = (x[near] - x[:, None]).split([span.size for span in spans(sampler)], 2)
        sums = [weights[:, [j]] @ part for j, part in enumerate(apart)]
        holding(sampler, centres, torch.cat(sums, 2).squeeze(1))
        models.append(sampler)
    seen, unseen = categories.recovered(models, rows[:n], rows[n:])
    assert categories.beyond_chance(seen, unseen, n) < 1e-4


def test_several_files_do_not_give_categories_away(categories, recovery):
    n, models = 80, []
    for state in range(5):
        rows, sampler = categories.fitted([8] * 6, n, 0, state, **SHORT)
        models.append(recovery.from_file(sampler))
    seen, unseen = categories.recovered(models, rows[:n], rows[n:])
    assert categories.beyond_chance(seen, unseen, n) > 0.001


def spans(sampler):
    return sampler.state_.layout.spans


def encoded(sampler, rows):
    """The rows as the model sees them, and their latent means."""
    (crosser,) = sampler.state_.generators.values()
    x = torch.from_numpy(sampler.codec_.encode(read_table(rows)))
    with torch.no_grad():
        return x, crosser.vae.mean(x)


def holding(sampler, centres, sums):
    """Let a sampler have guides with these latent means and sums."""
    ((code, crosser),) = sampler.state_.generators.items()
    bridge = replace(crosser.bridge, centres=centres, differences=Sums(sums))
    sampler.state_.generators[code] = replace(crosser, bridge=bridge)


@pytest.mark.parametrize("levels", ["eight of eight", "mixed"])
def test_categories_of_the_majority_are_not_recovered(levels, categories):
    n = 100
    seen, unseen = categories.attack(categories.LEVELS[levels], n, 0)
    assert categories.beyond_chance(seen, unseen, n) > 0.001


def test_classes_share_the_sums_of_the_majority(tmp_path):
    """Other sums over the same rows for every class could be solved for the rows."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.repeat([0, 1, 2, 3], [45, 15, 15, 15])
    sampler = MGVAE(**FAST).fit(X, y)
    sampler.save(tmp_path / "model.safetensors")
    one, *others = MGVAE.load(tmp_path / "model.safetensors").state_.generators.values()
    assert len(others) == 2
    for other in others:
        assert torch.equal(other.bridge.differences.sums, one.bridge.differences.sums)
    assert len(one.bridge.differences.sums) == 45  # no more sums than rows


def test_missing_cells_of_guides_do_not_show():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.repeat([0, 1], [75, 15])
    X[rng.random(X.shape) < 0.2] = np.nan
    (crosser,) = MGVAE(**FAST).fit(X, y).state_.generators.values()
    numbers = crosser.vae.likelihood.numeric > 0
    sums = crosser.stored()[1]["drawn_differences"]
    assert (sums[:, numbers] != 0).all()


def test_noise_cannot_be_drawn_again_from_what_a_file_holds(recovery, monkeypatch):
    """The seed is in the file; without the rows it gives other numbers."""
    monkeypatch.setattr("mgvae.methods.mgvae.bridge.own_order", lambda n, _: torch.arange(n))
    rows, _, sampler = rows_and_model(recovery)
    (crosser,) = sampler.state_.generators.values()
    x = torch.from_numpy(sampler.codec_.encode(read_table(rows[:200])))
    with torch.no_grad():
        means = crosser.vae.mean(x)
    noise = crosser.stored()[1]["blurred_guides"] - means
    for seeds in (np.random.SeedSequence(0), np.random.SeedSequence(0).spawn(1)[0]):
        again = blurred(crosser.vae, means, secret_seeds(seeds, means + 1e-6)) - means
        assert abs(np.corrcoef(noise.ravel(), again.ravel())[0, 1]) < 0.1


class TestSaying:
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.repeat(["many", "few"], [45, 15])

    def test_save_warns_where_rows_can_be_worked_out(self, tmp_path):
        path = tmp_path / "model.safetensors"
        sampler = MGVAE(**FAST).fit(self.X, self.y)
        with pytest.warns(DisclosureWarning, match=r"rows of class few .*without_rows=True"):
            sampler.save(path)

    @pytest.mark.filterwarnings("error::mgvae.errors.DisclosureWarning")
    def test_save_does_not_warn_where_it_need_not(self, tmp_path):
        path = tmp_path / "model.safetensors"
        bridge = MGVAE(**FAST).fit(self.X, self.y)
        bridge.save(path, without_rows=False)
        bridge.save(path, without_rows=True)
        MGVAE(**FAST, generation="translate").fit(self.X, self.y).save(path)
        CVAE(**TINY, steps=3).fit(self.X, self.y).save(path)

    def test_cold_translations_are_told_and_blurred_on_demand(self, tmp_path):
        path = tmp_path / "model.safetensors"
        cold = MGVAE(**FAST, generation="translate", temperature=0.0).fit(self.X, self.y)
        with pytest.warns(DisclosureWarning, match="rows of class many"):
            cold.save(path)
        cold.save(path, without_rows=True)
        assert not any(g.reveals for g in MGVAE.load(path).state_.generators.values())
        assert len(MGVAE.load(path).generate(5, "few")) == 5

    def test_only_a_flag_is_taken(self, tmp_path):
        sampler = MGVAE(**FAST).fit(self.X, self.y)
        with pytest.raises(ParameterError, match="without_rows must be"):
            sampler.save(tmp_path / "model.safetensors", without_rows="yes")

    @pytest.mark.parametrize("n", [1, 2, 8, 40])
    def test_a_model_without_rows_makes_rows(self, n, tmp_path):
        path = tmp_path / "model.safetensors"
        X, y = self.X, np.repeat([0, 1], [60 - n, n]) if n < 30 else np.arange(60) % 3 // 2
        sampler = MGVAE(**FAST).fit(X, y)
        sampler.save(path, without_rows=True)
        again = MGVAE.load(path)
        made = again.generate(50, 1, random_state=0)
        assert np.isfinite(made).all()
        again.save(path)  # without a warning
        assert (MGVAE.load(path).generate(50, 1, random_state=0) == made).all()

    def test_the_command_line_says_it(self, tmp_path, capfd):
        table, model = tmp_path / "table.csv", tmp_path / "model.safetensors"
        lines = [",".join(map(str, row)) + f",{c}" for row, c in zip(self.X, self.y, strict=True)]
        table.write_text("a,b,c,class\n" + "\n".join(lines) + "\n")
        command = ["balance", str(table), "--target", "class", "-o", str(tmp_path / "out.csv")]
        command += ["--pretrain-steps", "3", "--finetune-steps", "3", "--force"]
        command += ["--save-model", str(model)]
        assert run(command) == 0
        assert "the rows of class few can be worked out" in (said := capfd.readouterr().err)
        assert "--model-without-rows" in said
        assert run(["info", str(model)]) == 0
        assert (
            "Can rows be recovered: yes. The real rows of class few can be"
            in capfd.readouterr().out
        )
        assert run([*command, "--model-without-rows"]) == 0
        assert "worked out" not in capfd.readouterr().err
        assert run(["info", str(model)]) == 0
        assert "Can rows be recovered: no way is known" in capfd.readouterr().out


@pytest.mark.parametrize("version", [1, 2])
def test_info_tells_of_files_of_earlier_versions(version, capfd):
    path = Path(__file__).parent / f"model-v{version}.safetensors"
    assert run(["info", str(path)]) == 0
    assert "no way is known" not in capfd.readouterr().out
