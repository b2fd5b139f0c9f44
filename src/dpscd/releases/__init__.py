"""The releases of a fit, in its order; those in brackets only where the plan has them.

=========================  ==============================================  ===================
release                    answer                                          gives
=========================  ==============================================  ===================
[bounds]                   counts of values in 128 bins per column, twice  ranges of columns
[moments]                  sums of each feature and of its square          standardising
[label mean, spread]       one sum each                                    scale of labels
[shared vector], [spread]  a pilot, and the spread of its residuals        residuals to fit
shared vector              the average of the noisy vector over steps      coefficients
[steepness], [level],      two or four sums of residuals and of slopes,    shift, stretch and
[calibration]              steepness twice                                 link
[long rows], [rescaling]   one sum; four sums                              longest row; line
[information]              sums of products of features                    intervals
score                      a fit of its own: one sum of vectors            an estimate
=========================  ==============================================  ===================

To add one: a class with `what`, `words`, `proof`, `size`, `query` and `learn`, a line in
``KINDS`` (:mod:`dpscd.model.plain`) and in `plan_fit` (:mod:`dpscd.planning.rule`), a proof, a
test on neighbouring data sets and a mutation. What breaks the guarantee: a record that adds a
vector longer than 1, a query made of anything but plan and public state, a number of answers or
a size that depends on records, and a sum that is not whole.
"""
