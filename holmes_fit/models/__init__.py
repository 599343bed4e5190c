"""The models: what they predict before every trial, and how answers follow.

``registry`` has them all, ``filters`` the particle filter, ``responses`` the rule by which choices follow p-hat.
"""
