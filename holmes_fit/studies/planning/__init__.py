"""Planning a study: how many trials and participants it takes to know what one wants to know.

``lengths`` says how long the task of a protocol can be, ``question`` checks what is asked, ``study`` simulates and
fits people of every length, ``groups`` and ``measures`` make groups of them; ``advice`` and ``figures`` say what came
of it.
"""
