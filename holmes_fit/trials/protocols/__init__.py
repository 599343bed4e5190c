"""Protocols: how a task is coded in a file and, where it can be simulated, how its trials are made.

One TOML file is one protocol. The same protocol reads participants' data and simulates new data.
"""
