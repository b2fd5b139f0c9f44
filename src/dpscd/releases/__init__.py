"""The releases of a fit: what is asked of the records, what it costs, what is learnt from it.

In the order of a fit, those in brackets only where the plan (:mod:`dpscd.planning`) has them:

=========================  ==============================================  ===================
release                    answer                                          gives
=========================  ==============================================  ===================
[bounds]                   counts of values in 128 bins per column, twice  ranges of columns
[moments]                  sums of each feature and of its square          standardising
[label mean, spread]       one sum each                                    scale of labels
[shared vector], [spread]  a pilot, and the spread of its residuals        residuals to fit
shared vector              the noisy vector after every step; only the     coefficients and
                           average of the last ones is kept                intercept
[steepness], [level],      two or four sums of residuals and of slopes,    shift, stretch and
[calibration]              steepness twice                                 link
[long rows], [rescaling]   one sum; four sums                              longest row; stretch
                                                                           and shift
[information]              sums of products of features                    intervals
score                      a fit of its own: one sum of vectors            an estimate
=========================  ==============================================  ===================

Each time that one other than the shared vector is asked, every record or person gives a vector
no longer than 1; the vectors are added exactly, and Gaussian noise once (:class:`SumRelease`).
The steps of a training take a random part of the records each, and clip what a record adds.

To add a release: a class here with `what`, `words`, `proof`, `size`, `query` and `learn`; a
line in ``KINDS`` (:mod:`dpscd.model.plain`) and in :func:`dpscd.planning.plan_fit`; a page in
docs/proofs; a test on neighbouring data sets and an entry among the mutations. What breaks the
guarantee: a record that adds a vector longer than 1, a query that is made of anything but plan
and public state, a number of answers or a size that depends on records, and a sum that is not
of whole units.
"""
