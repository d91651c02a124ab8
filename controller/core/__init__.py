"""The controller's pure decisions: an input goes in, effects and reasons come out."""
