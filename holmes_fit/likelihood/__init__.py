"""How likely a person's answers are: p-hat traces and the response, summed over trials, averaged over filters.

The particles in a person's head are unobserved, so each learner is filtered R times. An observer who runs one filter
has the ``marginal`` likelihood, the expectation over filters of the product over trials. An averaged observer has the
``expected`` one, the product over trials at the mean p-hat. A person's log-likelihood is the sum over learners.

The marginal likelihood is an expectation over a *distribution of traces*, of which R filters are a small sample. It is
estimated in two ways, and their mean is taken:

- *plainly*, as the mean over the filters. That is right where luck is moderate or comes in a few modes, and far too low
  where no filter resembles the person's own;
- over a *normal density of traces* (``density``, ``laplace``), learned from the filters and from what neighbouring
  points lend. That is right where luck is manifold.

Either half falls short by at most log 2 where the other is right, so that neither must be chosen. With ever more
filters the plain half becomes exact, and the whole is within log 2 of the truth or above it by what the normal
density mistakes.

``traces``      which filters, and what they predict
``density``     a normal density over traces
``laplace``     answers integrated over such a density
``compiled``    answers over trials and filters
``specialised`` both, compiled for one response
``answers``     one learner's answers under both halves: :class:`AnswerLikelihood`
"""
