"""The face of the project: what a person types and imports."""
