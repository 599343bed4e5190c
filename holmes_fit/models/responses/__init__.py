"""From p-hat to answers: one class for each kind of answer that people can give.

``contract`` says what a response is; ``choices`` are between two answers, ``ratings`` on a scale with two ends, and
``numbers`` are any. ``registry`` has them all.
"""
