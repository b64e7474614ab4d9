"""Stream recipes, and checks of their fields."""
