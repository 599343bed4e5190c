"""The particle filters: a trial sequence in, p-hat traces out.

``draws``    counter-based uniforms: randomness is an argument, never a hidden state
``prior``    the switches and numbers that make one variant of the prior
``plain``    the filter in readable Python, a function a step: the specification
``kernel``   the same filter compiled, for all variants: what is used
``lineage``  what the surviving particles say about each trial: assignments and trees
"""
