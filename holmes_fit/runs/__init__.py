"""The run folder: what was asked for, what was found, and where the same command goes on after it was stopped.

``manifest.json`` says what the results depend on, ``records/`` has one file for each piece of work, and tables are CSV
files. Every file is written whole or not at all. This room knows nothing of models and statistics.
"""
