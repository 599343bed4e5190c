"""The particle filters: a trial sequence in, p-hat traces out.

``settings``    the switches and numbers that make one variant of the prior
``draws``       counter-based uniforms: randomness is an argument, never a hidden state
``plain``       the filter in readable Python, a function a step: the specification
``kernel``      the same filter compiled, for all variants: what is used. Its steps, in the order of a trial:
``paths``       draw paths from the prior
``weighing``    predict, and weigh by what was seen
``resampling``  who goes on
``counting``    count the trial in, for those who go on
``state``       the memory that these steps share
``lineage``     what the surviving particles say about each trial: assignments and trees
"""
