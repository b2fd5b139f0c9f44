"""The releases of a fit: one file each, with its query, its noise, its use and its words.

A plan lists the releases of a fit; :func:`dpscd.releases.pipeline.run_plan` runs them in that
order. Card, report, ledger and audit read the same list.
"""
