"""What a fit can release: one file each, with its query, its noise, its use and its words.

A plan lists the releases of a fit; :func:`dpscd.releases.pipeline.run_plan` runs them in that
order. Whatever shows a release (card, report, ledger, audit) reads the same list.
"""
