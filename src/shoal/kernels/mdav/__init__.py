"""MDAV and V-MDAV."""
