import os
import sys
from pathlib import Path

import dpscd

# The reference of divided records is that of the solvers' tests.
SOLVERS = str(Path(__file__).parents[1] / "solvers")
sys.path.insert(0, SOLVERS)
# Workers are processes of their own, which must find this package as it is here.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(dpscd.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
)
