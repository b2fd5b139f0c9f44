"""Training on a Dask cluster, where the records are."""
