"""Make synthetic records by MST with dpmm: ``python fit_dpmm.py IN.npz OUT.npz``."""

import sys

import numpy as np
import pandas as pd
from dpmm.pipelines.mst import MSTPipeline


def main() -> None:
    """Read codes and the size of each column's domain, write as many synthetic codes."""
    with np.load(sys.argv[1]) as given:
        settings = {name: given[name] for name in given.files}
    codes = settings["codes"]
    names = [f"c{place}" for place in range(codes.shape[1])]
    domain = dict(zip(names, map(int, settings["sizes"]), strict=True))
    # Codes are by declared bounds and values: the package's own binning is not needed.
    pipeline = MSTPipeline(
        epsilon=float(settings["epsilon"]),
        delta=float(settings["delta"]),
        n_jobs=1,
        disable_processing=True,
    )
    seed = int(settings["seed"])
    pipeline.fit(pd.DataFrame(codes, columns=names), domain=domain, random_state=seed)
    made = pipeline.generate(n_records=len(codes), random_state=seed)
    np.savez(sys.argv[2], codes=made[names].to_numpy(dtype=np.int64))


if __name__ == "__main__":
    main()
