"""The reference for divided records."""

import numpy as np
from damping import dampings

from dpscd.kernels.dual import Records
from dpscd.privacy.random import LotsSource
from dpscd.problem import labels_of, rows_of
from dpscd.solvers.local import LocalRecords
from dpscd.solvers.threads import kernel_for


class OneMachine(LocalRecords):
    """The single-machine kernel on all records, with the bits that divided records have."""

    def train(self, problem, plan, source, residuals, *_):
        rows, count = rows_of(problem, self.X), self.count
        inner = labels_of(problem, rows, self.labels)
        if residuals is not None:
            inner = residuals.labels(rows, self.labels)
        lots = LotsSource.of(source)
        members = [plan.lots.members(lots, t, 0, count) for t in range(plan.steps)]
        starts = np.cumsum([0, *map(len, members)])
        normals = plan.noise.draw(source, 0, plan.steps, plan.size)
        dual = np.zeros((len(self.labels), problem.outputs))
        shared = np.zeros((problem.outputs, problem.width))
        average = np.zeros_like(shared)
        records = Records(inner, self.training_weights)
        persons = self.persons and self.persons.drawn()
        with kernel_for(problem, plan, rows, records, 2, persons) as (run, _):
            ids, path = np.concatenate(members), []
            for t in range(plan.steps):
                path.append(shared.copy())
                run(
                    dampings(plan, path)[-1], ids, starts[t : t + 2], normals[t : t + 1],
                    plan.average_from - t, dual, shared, average,
                )  # fmt: skip
        return average / (plan.steps - plan.average_from)
