"""Draw the figures of understanding/explained.md: small simulations, the same at every run.

python docs/figures/make_explained.py
"""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
import numpy as np

BLUE, ORANGE, GREY, RED = "#33668c", "#e08a2c", "#9a9a9a", "#b23a48"
N, LAM = 30, 0.05


def step_of(dual, label, row, shared, lam, n, lot):
    """Return the exact step of a squared loss, damped by the expected size of the lot."""
    prediction = row @ shared / (lam * n)
    return (label - prediction - dual) / (1.0 + lot * (row @ row) / (lam * n))


def clipped(vector, clip):
    """Return a vector, shortened to a length."""
    length = np.linalg.norm(vector)
    return vector * min(1.0, clip / length) if length else vector


def train(rows, labels, rate, steps, clip, noise, rng, lam=LAM):
    """Return the shared vector after every step, and the duals after every step."""
    n = len(rows)
    duals, shared = np.zeros(n), np.zeros(rows.shape[1])
    path, kept = [shared.copy()], [duals.copy()]
    for _ in range(steps):
        lot = np.flatnonzero(rng.uniform(size=n) < rate)
        moved = np.zeros_like(shared)
        for i in lot:
            z = step_of(duals[i], labels[i], rows[i], shared, lam, n, max(rate * n, 1.0))
            z *= min(1.0, clip / max(abs(z) * np.linalg.norm(rows[i]), 1e-12))
            duals[i] += z
            moved += z * rows[i]
        shared = shared + moved + rng.normal(0.0, noise * clip, size=shared.shape)
        path.append(shared.copy())
        kept.append(duals.copy())
    return np.array(path), np.array(kept)


def problem(n=N, seed=3):
    """Return rows in the plane and labels."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2)) * [0.55, 0.35]
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    labels = rows @ [0.9, -0.5] + rng.normal(0.0, 0.1, n)
    return rows, labels


def figure_step(file):
    """Draw one step: coin flips, clipped contributions, noise."""
    rng = np.random.default_rng(11)
    fig, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")

    duals = rng.uniform(0.15, 0.85, 12) * rng.choice([-1, 1], 12)
    lot = [2, 5, 6, 10]
    for place in range(12):
        inside = place in lot
        colour = ORANGE if inside else GREY
        left.barh(place, duals[place], color=colour, height=0.6, alpha=0.9 if inside else 0.45)
        left.text(-1.45, place, f"record {place + 1}", va="center", color=colour, fontsize=9)
    left.axvline(0, color="black", lw=0.8)
    left.set(xlim=(-1.5, 1.05), ylim=(11.7, -0.7), yticks=[], xticks=[0])
    left.set_title(
        "1. Coin flips choose a lot.\nEvery record keeps a secret dual.", fontsize=10
    )
    left.set_xlabel("dual (secret)", color=RED)

    raw = [(0.55, 0.25), (0.2, 1.45), (-0.35, 0.3), (1.5, 0.45)]
    circle = plt.Circle((0, 0), 1, fill=False, ls="--", color="black", lw=1)
    middle.add_patch(circle)
    total = np.zeros(2)
    for vector in map(np.array, raw):
        short = clipped(vector, 1.0)
        total += short
        if np.linalg.norm(vector) > 1:
            middle.plot(*zip(short, vector, strict=True), ls=":", color=ORANGE, lw=1.5)
        _arrow(middle, (0, 0), short, ORANGE)
    middle.text(0.03, -1.18, "length C", fontsize=9, ha="center")
    middle.set(xlim=(-1.4, 1.75), ylim=(-1.4, 1.75), aspect="equal", xticks=[], yticks=[])
    middle.set_title(
        "2. Each member computes its step.\nLonger ones are clipped to C.", fontsize=10
    )

    start, end = np.array([-1.2, -0.9]), np.array([-1.2, -0.9]) + total * 0.8
    cloud = end + rng.normal(0, 0.42, size=(400, 2))
    right.plot(*cloud.T, ".", color=BLUE, ms=3, alpha=0.25, mew=0)
    _arrow(right, start, end, ORANGE)
    released = np.array([0.75, 0.95])
    right.plot(*released, "o", color=BLUE, ms=8, zorder=4)
    right.plot(*start, "o", color="black", ms=7, zorder=4)
    right.annotate("v before", start, (-6, -15), textcoords="offset points", fontsize=9)
    bold = {"fontsize": 9, "color": BLUE, "fontweight": "bold"}
    right.annotate("v after", released, (10, -4), textcoords="offset points", **bold)
    right.text(end[0], 2.55, "noise", fontsize=9, color=BLUE, ha="center")
    middle_of = (start + end) / 2
    right.annotate(
        "their sum", middle_of, (12, -14), textcoords="offset points", fontsize=9, color=ORANGE
    )
    right.set(xlim=(-2.2, 2.6), ylim=(-2, 3.0), aspect="equal", xticks=[], yticks=[])
    right.set_title(
        "3. The shared vector v moves by their\nsum and noise. Only v is released.", fontsize=10
    )
    _save(fig, file)


def figure_memory(file):
    """Draw what is seen with visible duals, and with secret ones."""
    rows, labels = problem()
    path, duals = train(rows, labels, 0.12, 40, 0.25, 1.2, np.random.default_rng(5))
    moved = np.diff(duals, axis=0).T
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    colours = mpl.colors.ListedColormap([ORANGE])
    left.imshow(np.where(moved != 0, 1.0, np.nan), cmap=colours, aspect="auto")
    left.axhline(16, color=RED, lw=9, alpha=0.15)
    left.text(40.2, 16, "you", color=RED, va="center", fontsize=10, clip_on=False)
    left.set(xlabel="step", ylabel="record")
    left.set_title(
        "If duals were released:\nwhose dual changed tells who was in the lot", fontsize=10
    )
    for place in range(2):
        right.plot(path[:, place], color=BLUE, alpha=1.0 if place == 0 else 0.5, lw=1.8)
        right.text(
            40.5, path[-1, place], f"v{'₁₂'[place]}", color=BLUE, va="center", fontsize=10
        )
    right.set(xlabel="step", ylabel="shared vector")
    right.set_title(
        "What is released here:\nthe noisy shared vector, and nothing else", fontsize=10
    )
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    _save(fig, file)


def figure_travel(file):
    """Draw where fits end at one travel: few long steps, and many short ones."""
    rows, labels = problem(n=400, seed=8)
    n, lam, travel = len(rows), 0.02, 0.5
    best = np.linalg.solve(rows.T @ rows / n + lam * np.eye(2), rows.T @ labels / n)
    fig, axes = plt.subplots(
        1, 2, figsize=(10, 4.3), layout="constrained", sharex=True, sharey=True
    )
    grid = np.linspace(-1.0, 1.0, 121)
    span = np.stack(np.meshgrid(best[0] + grid, best[1] + grid), axis=-1)
    gaps = np.einsum(
        "...i,ij,...j", span - best, rows.T @ rows / n + lam * np.eye(2), span - best
    )
    for ax, epochs in zip(axes, (2, 40), strict=True):
        rate = 0.1
        steps, clip = int(epochs / rate), travel / epochs
        # The same noise in all, as at one epsilon: std of the sum fixed.
        noise = 2.2 / (clip * np.sqrt(steps))
        ends = []
        for seed in range(60):
            path, _ = train(
                rows, labels, rate, steps, clip, noise, np.random.default_rng(seed), lam
            )
            ends.append(path[-1] / (lam * n))
            if seed == 4:
                shown = path / (lam * n)
        ends = np.array(ends)
        ax.contour(span[..., 0], span[..., 1], gaps, levels=9, colors="#cfcfcf", linewidths=0.8)
        ax.plot(*shown.T, color=ORANGE, lw=1, alpha=0.9, label="one fit, step by step")
        ax.plot(*ends.T, "o", color=BLUE, ms=4, alpha=0.6, mew=0, label="where 60 fits end")
        ax.plot(0, 0, "s", color="black", ms=5, label="start")
        ax.plot(*best, "*", color=RED, ms=14, label="without privacy")
        ax.set(xlim=(-0.15, 1.35), ylim=(-1.05, 0.3), aspect="equal", xlabel="coefficient 1")
        ax.set_title(f"{epochs} epochs, {steps} steps of length up to {clip:.3g}", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("coefficient 2")
    axes[1].legend(fontsize=9, loc="lower left", frameon=False)
    _save(fig, file)


def _arrow(ax, start, end, colour):
    ax.annotate(
        "",
        end,
        start,
        arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0},
    )


def _save(fig, file):
    fig.savefig(file, dpi=120, metadata={"Software": None})
    plt.close(fig)


FIGURES = {"step": figure_step, "memory": figure_memory, "travel": figure_travel}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "explained")
    folder = parser.parse_args().out
    folder.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        draw(folder / f"{name}.png")
