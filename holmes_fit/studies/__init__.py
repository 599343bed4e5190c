"""Simulated studies: people with known parameters, whether they are found again, and how many it takes.

``simulation`` makes people, ``recovery`` fits them and holds what is found against the truth, and ``planning`` asks how
many trials and participants a study needs.
"""
