"""Recipes: fields, requirements and privacy budgets of a run."""
