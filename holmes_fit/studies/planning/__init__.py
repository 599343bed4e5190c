"""Planning a study: how many trials and participants it takes to know what one wants to know.

``lengths`` says how long the task of a protocol can be, ``study`` checks what is asked, and simulates and fits people
of every length, ``groups`` and ``measures`` make groups of them; ``advice`` says and draws what came of it. ``designs``
sets several tasks side by side.
"""
