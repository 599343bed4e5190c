"""The models that flat and HOLMES are held against, one file a model: all exact, with equations from their papers.

``exact`` has what they share. Each is told what one learner saw, and predicts the outcome before every trial. What a
paper calls the sharpness of its response rule (phi, gamma, d) is the toolkit's beta, and no parameter of its own.
"""
