"""A fit and its views: what it guarantees, and its file.

:mod:`dpscd.model.fit` asks the releases of a plan one after the other (`run`) and learns from
their answers; `fold` learns the same from stored answers, so that :meth:`Fit.verify` can
compare. Which releases a plan has, and with what noise, is chosen in :mod:`dpscd.planning`.
"""
