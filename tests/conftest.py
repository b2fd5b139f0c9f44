import os

from hypothesis import Phase, settings

# Calibrations are computed, not remembered; processes that tests start inherit this.
os.environ["DPSCD_CACHE"] = "off"

# The same examples at every run, and no time limit: compiled code is slow only once.
settings.register_profile("dpscd", deadline=None, derandomize=True, database=None)
# A mutation is noticed by the first example that fails; a smaller one is not needed.
settings.register_profile(
    "mutation", settings.get_profile("dpscd"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("DPSCD_HYPOTHESIS", "dpscd"))
