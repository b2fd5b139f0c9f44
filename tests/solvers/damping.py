"""The reference for what the released path makes of the damping."""

import numpy as np


def dampings(plan, path):
    """Return the damping of every step, given the vectors before all of them."""
    period = max(10, round(1.0 / plan.rate))
    most = max(plan.separability, plan.most_separability)
    damping = max(plan.separability, most / 2 ** (plan.steps // (4 * period)))
    noise = plan.size * plan.noise.std**2 + plan.rate * plan.n * plan.clip**2
    found = []
    for number in range(len(path)):
        if number % period == 9:
            seen = np.array([np.ravel(path[number - 9 + i]) for i in range(10)])
            moved = (np.diff(seen, axis=0) ** 2).sum()
            left = ((seen[-1] - seen[0]) ** 2).sum()
            if moved > 2.0 * 9.0 * noise and left < 0.5 * moved:
                damping = min(2.0 * damping, most)
        found.append(damping)
    return found
